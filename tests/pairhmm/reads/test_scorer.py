"""Likelihoods of batches of aligned reads, against reads prepared and computed one by one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pysam
import pytest
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet, read_haplotypes
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.io.alignments.reader import ReadSelection, open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.cpu import host_scorer
from hapgpu.pairhmm.reads.scorer import ScorerOptions, ScoringTask
from hapgpu.runtime.devices import CpuDevice
from tests.pairhmm.clipping_oracle import clip, prepare_part
from tests.pairhmm.made_reads import random_reads, write_sam
from tests.pairhmm.preparation_oracle import (
    Rules,
    is_well_modelled,
    normalized,
    prepare_record,
)

TOLERANCE = 1e-5
OPTIONS = ScorerOptions(
    qualities=QualityOptions(),
    normalize=False,
    whole_reads=False,
    require_flags=0,
    exclude_flags=0xF00,
)
# The second overlaps the first and the third; the haplotypes of the loci alternate in the file.
LOCI = ((20, 60), (50, 85), (80, 120), (180, 210))
READS = 90

Row = tuple[str, int, str, float]


class Scored(NamedTuple):
    """`HostLikelihoods`, and the counts."""

    names: Ragged
    mates: NDArray[np.uint8]
    pairs: ReadHaplotypePairs
    likelihoods: NDArray[np.float64]
    counts: Counter[str]


@dataclass(frozen=True)
class Input:
    """Reads, haplotypes, and for the oracle each haplotype's name, locus and bases."""

    reads: ReadBatch
    header: SamHeader
    haplotypes: HaplotypeSet
    rows: list[tuple[str, tuple[int, int], str]]
    path: Path

    def score(
        self,
        options: ScorerOptions,
        reads: ReadBatch | None = None,
        reference: Path | None = None,
    ) -> Scored:
        task = ScoringTask(
            ReadSelection("reads.sam", EVERYTHING, MAX_RECORD), self.haplotypes, options, reference
        )
        scorer = host_scorer(task, self.header, CpuDevice(2))
        ((scored, counts),) = scorer(self.reads if reads is None else reads)
        return Scored(scored.names, scored.mates, scored.pairs, scored.likelihoods, counts)

    def expected(self, *, normalize: bool, whole_reads: bool) -> list[Row]:
        """Return the expected likelihoods, read by read in plain Python."""
        rows: list[Row] = []
        with pysam.AlignmentFile(str(self.path)) as records:
            for record in records:
                rows += self._rows_of(record, normalize=normalize, whole_reads=whole_reads)
        return rows

    def _rows_of(
        self, record: pysam.AlignedSegment, *, normalize: bool, whole_reads: bool
    ) -> list[Row]:
        if record.flag & 0xF04 or not record.query_sequence:
            return []
        start, end = record.reference_start, record.reference_end
        values: dict[str, float] = {}
        for locus in LOCI if self.haplotypes.loci else [None]:
            if locus and not (start < locus[1] and end > locus[0]):
                continue
            is_whole = locus is None or whole_reads
            read = (
                prepare_record(record, Rules())
                if is_whole
                else prepare_part(record, Rules(), locus)
            )
            if read is None:
                continue
            met = {name: bases for name, at, bases in self.rows if locus in {at, None}}
            likelihoods = [read.likelihood(bases) for bases in met.values()]
            if normalize and not is_well_modelled(likelihoods, len(read.bases)):
                continue
            kept = normalized(likelihoods) if normalize else likelihoods
            values |= dict(zip(met, kept, strict=True))
        mate = 1 if record.flag & 0x41 == 0x41 else 2 if record.flag & 0x81 == 0x81 else 0
        names = [name for name, _, _ in self.rows if name in values]
        return [(record.query_name, mate, name, values[name]) for name in names]


@pytest.fixture(scope="module", params=[True, False], ids=["loci", "no loci"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Input:
    random = Random(11)  # noqa: S311  (the same data on every run)
    directory = tmp_path_factory.mktemp("scorer")
    reference = "".join(random.choices("ACGT", k=260))
    lines = random_reads(random, reference, READS, all_kinds=True)
    write_sam(directory / "reads.sam", 260, lines)
    rows = []
    for allele in range(3):
        for start, end in LOCI:
            bases = reference[start:end]
            bases = bases[: 7 * allele] + "T" * allele + bases[7 * allele :]
            rows.append((f"h{start}_{allele}", (start, end), bases))
    with (directory / "haplotypes.fa").open("w") as out:
        for name, (start, end), bases in rows:
            locus = f" chr:{start + 1}-{end}" if request.param else ""
            # GATK ignores lower case, in which references mark repeats.
            out.write(f">{name}{locus}\n{bases[:9].lower()}{bases[9:]}\n")
    with open_reads(str(directory / "reads.sam")) as source:
        (batch,) = source.batches()
        header = source.header
    haplotypes = read_haplotypes(directory / "haplotypes.fa")
    return Input(batch, header, haplotypes, rows, directory / "reads.sam")


def rows_of(scored: Scored, haplotypes: HaplotypeSet) -> list[Row]:
    reads = scored.pairs.reads
    names = [row.tobytes().decode() for row in scored.names]
    return [
        (names[read], int(scored.mates[read]), haplotypes.names[haplotype], float(value))
        for read, haplotype, value in zip(
            reads, scored.pairs.haplotypes, scored.likelihoods, strict=True
        )
    ]


@pytest.mark.parametrize("whole_reads", [False, True])
@pytest.mark.parametrize("normalize", [False, True])
def test_as_one_by_one(made: Input, normalize: bool, whole_reads: bool) -> None:
    options = replace(OPTIONS, normalize=normalize, whole_reads=whole_reads)
    found = rows_of(made.score(options), made.haplotypes)
    expected = made.expected(normalize=normalize, whole_reads=whole_reads)
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert len(found) > READS / 3
    np.testing.assert_allclose(
        [row[3] for row in found], [row[3] for row in expected], rtol=0, atol=TOLERANCE
    )


def test_reads_are_clipped_to_loci_only(made: Input) -> None:
    clipped, whole = (made.score(replace(OPTIONS, whole_reads=is_on)) for is_on in (False, True))
    best = [scored.likelihoods.max() for scored in (clipped, whole)]
    if made.haplotypes.loci:
        assert clipped.counts["cells"] < whole.counts["cells"]
        assert best[0] != best[1]
    else:
        assert rows_of(clipped, made.haplotypes) == rows_of(whole, made.haplotypes)


def test_reads_without_bases_at_a_locus(made: Input) -> None:
    scored = made.score(OPTIONS)
    lost = 0
    with pysam.AlignmentFile(str(made.path)) as file:
        for record in file:
            if record.flag & 0xF04 or not record.query_sequence:
                continue
            start, end, length = record.reference_start, record.reference_end, record.query_length
            for locus in LOCI:
                if start < locus[1] and end > locus[0]:
                    first, last = clip(start, record.cigarstring, length, locus)
                    lost += first == last
    assert scored.counts["without_bases_at_locus"] == (lost if made.haplotypes.loci else 0)
    assert lost > 0
    whole = made.score(replace(OPTIONS, whole_reads=True))
    assert whole.counts["without_bases_at_locus"] == 0


def test_excluded_reads_are_counted(made: Input) -> None:
    scored = made.score(replace(OPTIONS, normalize=True))
    raw = made.score(OPTIONS)
    with pysam.AlignmentFile(str(made.path)) as file:
        included = [record for record in file if not record.flag & 0xF00]
    assert scored.counts["reads"] == READS
    assert scored.counts["unmapped"] == sum(record.is_unmapped for record in included) > 0
    empty = [record for record in included if not record.query_sequence and not record.is_unmapped]
    assert scored.counts["without_bases"] == len(empty) > 0
    assert scored.counts["likelihoods"] == scored.likelihoods.size < raw.likelihoods.size
    lost = raw.likelihoods.size - scored.likelihoods.size
    per_overlap = 3 if made.haplotypes.loci else len(made.haplotypes)
    assert scored.counts["poorly_modelled"] * per_overlap == lost
    assert "poorly_modelled" not in raw.counts


def test_spliced_reads_are_counted_at_loci_only(made: Input, tmp_path: Path) -> None:
    columns = "60\t4M9N4M\t*\t0\t0\tACGTACGT\tIIIIIIII"
    lines = [f"at\t0\tchr\t31\t{columns}", f"beside\t0\tchr\t131\t{columns}"]
    write_sam(tmp_path / "reads.sam", 260, lines)
    reference = tmp_path / "reference.fa"
    reference.write_text(f">chr\n{'ACGT' * 65}\n")
    pysam.faidx(str(reference))
    with open_reads(str(tmp_path / "reads.sam")) as source:
        (batch,) = source.batches()
    counts = made.score(OPTIONS, batch, reference).counts
    assert counts.get("spliced") == (1 if made.haplotypes.loci else None)


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("normalize", [False, True])
def test_how_reads_are_batched_changes_nothing(
    made: Input,
    size: int,
    normalize: bool,
) -> None:
    options = replace(OPTIONS, normalize=normalize)
    whole = rows_of(made.score(options), made.haplotypes)
    parts = [rows_of(made.score(options, part), made.haplotypes) for part in made.reads.split(size)]
    assert [row for part in parts for row in part] == whole


def test_flags(made: Input) -> None:
    scored = made.score(replace(OPTIONS, require_flags=1, exclude_flags=0x80))
    kept = {row.tobytes().decode() for row in scored.names}
    with pysam.AlignmentFile(str(made.path)) as file:
        flags = {record.query_name: record.flag for record in file}
    everything = made.score(replace(OPTIONS, exclude_flags=0))
    names = {row.tobytes().decode() for row in everything.names}
    assert kept == {name for name in names if flags[name] & 1 and not flags[name] & 0x80}
    assert 0 < len(kept) < len(names)


def test_no_reads(made: Input) -> None:
    scored = made.score(replace(OPTIONS, normalize=True), made.reads.take(np.empty(0, np.int64)))
    assert len(scored.names) == scored.likelihoods.size == scored.counts["reads"] == 0


def test_reads_without_qualities_are_refused(made: Input, tmp_path: Path) -> None:
    line = "bare\t0\tchr\t30\t60\t4M\t*\t0\t0\tACGT\t*"
    write_sam(tmp_path / "reads.sam", 260, [line])
    with open_reads(str(tmp_path / "reads.sam")) as source:
        (batch,) = source.batches()
    with pytest.raises(InputError, match=r"reads\.sam, read 'bare': no base qualities"):
        made.score(OPTIONS, batch)

"""Likelihoods of records on the GPU, against the same reads on the CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import InputError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet, read_haplotypes
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.alignments.reader import ReadSelection, open_reads
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import EVERYTHING
from hapgpu.pairhmm.options import QualityOptions
from hapgpu.pairhmm.reads.cpu import host_scorer
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.pairhmm.reads.scorer import ScorerOptions, ScoringTask
from hapgpu.runtime.devices import CpuDevice, CudaDevice
from hapgpu.runtime.pool import Pool
from tests.io.bam.encoded_blocks import encode_block
from tests.pairhmm.made_reads import random_reads, write_sam

pytestmark = pytest.mark.gpu

OPTIONS = ScorerOptions(
    qualities=QualityOptions(),
    normalize=False,
    whole_reads=False,
    require_flags=0,
    exclude_flags=0xF00,
)
LOCI = ((20, 60), (50, 85), (80, 120), (180, 210))  # the second overlaps two others
REFERENCE = "".join(Random(11).choices("ACGT", k=260))  # noqa: S311  (the same on every run)

Scored = tuple[list[tuple[int, int]], Any, Counter[str]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("scorer")
    random = Random(12)  # noqa: S311  (as above)
    write_sam(directory / "reads.sam", 260, random_reads(random, REFERENCE, 90, all_kinds=True))
    (directory / "reference.fa").write_text(f">chr\n{REFERENCE}\n")
    (directory / "reference.fa.fai").write_text("chr\t260\t5\t260\t261\n")
    for with_loci in (True, False):
        with (directory / f"haplotypes.{with_loci}.fa").open("w") as out:
            for allele in range(3):
                for start, end in LOCI:
                    bases = REFERENCE[start:end]
                    bases = bases[: 7 * allele] + "T" * allele + bases[7 * allele :]
                    locus = f" chr:{start + 1}-{end}" if with_loci else ""
                    out.write(f">h{start}_{allele}{locus}\n{bases[:9].lower()}{bases[9:]}\n")
    return directory


def read(path: Path) -> tuple[SamHeader, ReadBatch]:
    with open_reads(str(path)) as source:
        return source.header, next(iter(source.batches()))


def on_cpu(
    header: SamHeader,
    reads: ReadBatch,
    haplotypes: HaplotypeSet,
    options: ScorerOptions,
    reference: Path | None,
) -> Scored:
    task = ScoringTask(
        ReadSelection("reads.sam", EVERYTHING, MAX_RECORD), haplotypes, options, reference
    )
    ((scored, counts),) = host_scorer(task, header, CpuDevice(2))(reads)
    rows = {name.tobytes(): row for row, name in enumerate(reads.names)}
    names = [rows[scored.names[row].tobytes()] for row in scored.pairs.reads]
    pairs = list(zip(names, scored.pairs.haplotypes.tolist(), strict=True))
    return pairs, scored.likelihoods, counts


def on_gpu(
    header: SamHeader,
    reads: ReadBatch,
    haplotypes: HaplotypeSet,
    options: ScorerOptions,
    reference: Path | None,
    memory: int | None = None,
) -> Scored:
    pytest.importorskip("cupy")
    from hapgpu.haplotypes.pairing.cuda import (  # noqa: PLC0415  (needs CuPy)
        DeviceExtender,
    )
    from hapgpu.io.bam.cuda.device_records import DeviceRecords  # noqa: PLC0415  (as above)
    from hapgpu.pairhmm.reads.cuda.scorer import (  # noqa: PLC0415  (as above)
        DeviceHaplotypes,
        device_scorer,
    )

    device = CudaDevice(0, memory_limit=memory)
    by_locus, finder = LocusHaplotypes.of(haplotypes), PairFinder(haplotypes, header, "x")
    task = ScoringTask(
        ReadSelection("reads.sam", EVERYTHING, MAX_RECORD), haplotypes, options, reference
    )
    extender = task.new_extender(header)
    scorer = device_scorer(
        DeviceHaplotypes.upload(by_locus, finder),
        DeviceExtender(extender, haplotypes) if extender else None,
        options,
        device,
        "reads.sam",
    )
    with Pool(1) as pool:
        records = DeviceRecords.upload(encode_block(reads, header, pool))
    all_starts: Any = records.layout.starts
    rows = {start: row for row, start in enumerate(all_starts.get().tolist())}
    pairs: list[tuple[int, int]] = []
    values, total = [np.empty(0)], Counter[str]()
    parts = list(scorer(records))
    assert parts
    for scored, counts in parts:
        starts = scored.records.layout.starts[scored.reads]
        names = [rows[start] for start in starts.get().tolist()]
        pairs += zip(names, scored.haplotypes.get().tolist(), strict=True)
        values.append(scored.likelihoods.get())
        total.update(counts)
    return pairs, np.concatenate(values), total


def check(directory: Path, options: ScorerOptions, **changes: Any) -> Counter[str]:
    header, reads = read(directory / "reads.sam")
    haplotypes = read_haplotypes(directory / f"haplotypes.{changes.get('with_loci', True)}.fa")
    reference = directory / "reference.fa" if changes.get("extended") else None
    rows = changes.get("rows")
    reads = reads if rows is None else reads.take(rows)
    arguments = (header, reads, haplotypes, options, reference)
    pairs, likelihoods, counts = on_cpu(*arguments)
    found_pairs, found, found_counts = on_gpu(*arguments, changes.get("memory"))
    assert found_pairs == pairs
    np.testing.assert_array_equal(found, likelihoods)
    assert found_counts == counts
    assert found_counts.keys() == counts.keys()
    return counts


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("with_loci", [True, False])
@pytest.mark.parametrize("normalize", [False, True])
def test_as_on_the_cpu(directory: Path, normalize: bool, with_loci: bool, extended: bool) -> None:
    options = replace(OPTIONS, normalize=normalize)
    counts = check(directory, options, with_loci=with_loci, extended=extended)
    assert counts["unmapped"]
    assert counts["without_bases"]
    assert not extended or not with_loci or counts["spliced"]
    assert counts["without_bases_at_locus"] or not with_loci or extended
    assert counts["poorly_modelled"] or not normalize


@pytest.mark.parametrize(
    "changes",
    [
        {"whole_reads": True},
        {"require_flags": 1, "exclude_flags": 0x80},
        {"exclude_flags": 0},
        {"require_flags": 4},
        {
            "qualities": QualityOptions(
                gap_open=30, gap_continuation=12, cap_by_mapping_quality=False
            )
        },
    ],
    ids=" ".join,
)
def test_options(directory: Path, changes: dict[str, Any]) -> None:
    check(directory, replace(OPTIONS, **changes))


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("rows", [[], [3], range(5, 40)], ids=len)
def test_few_reads(directory: Path, rows: Any, extended: bool) -> None:
    options = replace(OPTIONS, normalize=True)
    check(directory, options, rows=np.array(rows, dtype=np.int64), extended=extended)


def test_little_memory(directory: Path) -> None:
    """A part has few reads."""
    check(directory, replace(OPTIONS, normalize=True), memory=200_000)


def test_only_reads_without_bases_at_their_loci(tmp_path: Path, directory: Path) -> None:
    line = "r\t0\tchr\t15\t60\t2M20D2M\t*\t0\t0\tACGT\tIIII"
    write_sam(tmp_path / "reads.sam", 260, [line])
    for path in directory.iterdir():
        if path.suffix != ".sam":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "haplotypes.True.fa").unlink()
    (tmp_path / "haplotypes.True.fa").write_text(">h chr:20-30\nACGTACGT\n")
    counts = check(tmp_path, replace(OPTIONS, normalize=True))
    assert counts["without_bases_at_locus"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bare\t0\tchr\t30\t60\t4M\t*\t0\t0\tACGT\t*", "read 'bare': no base qualities"),
        ("short\t0\tchr\t30\t60\t4M\t*\t0\t0\tACGT\tIIII\tBI:Z:II", "read 'short': tag BI"),
    ],
)
def test_bad_reads_are_refused(tmp_path: Path, directory: Path, line: str, message: str) -> None:
    header, reads = read(write_sam(tmp_path / "reads.sam", 260, [line]))
    haplotypes = read_haplotypes(directory / "haplotypes.True.fa")
    for compute in (on_cpu, on_gpu):
        with pytest.raises(InputError, match=rf"reads\.sam, {message}"):
            compute(header, reads, haplotypes, OPTIONS, None)

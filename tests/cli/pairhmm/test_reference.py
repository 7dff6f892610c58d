"""`hapgpu pairhmm --reference`: whole reads and haplotypes extended by the reference."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import pysam
import pytest

from hapgpu.pairhmm.reads import cpu
from tests.cli.pairhmm.command import Row, lines_of, rows_of, status_of
from tests.cli.realign.command import haplotypes_of, make_example
from tests.pairhmm.extension_oracle import Locus, flanks, likelihoods
from tests.pairhmm.made_reads import random_reads, write_sam
from tests.pairhmm.preparation_oracle import Rules, is_well_modelled, normalized
from tests.pairhmm.truth_sites import truth_sites, write_haplotypes

TOLERANCE = 1e-5
LENGTH = 700
SKIP = 3
# At both ends of the contig, one in another's flank, two that overlap.
LOCI = ((4, 40), (130, 170), (150, 190), (330, 380), (640, 699))
EDGES = [
    "both\t0\tchr\t331\t60\t50S30M40S",
    "before\t0\tchr\t5\t60\t60S40M",
    "after\t0\tchr\t671\t60\t30M60S",
    "deletion\t0\tchr\t301\t60\t40M90D60M",
    "insertion\t16\tchr\t341\t60\t9H20M70I20M8H",
    "only inserted\t0\tchr\t351\t60\t90I",
    "spliced\t0\tchr\t301\t60\t40M90N60M",
]
"""The first columns of reads with unusual alignments."""


@dataclass(frozen=True)
class Made:
    """Files of simulated reads, a reference with lower case and N, and haplotypes at loci."""

    directory: Path
    loci: list[Locus]

    def __getitem__(self, name: str) -> Path:
        return self.directory / name

    def table(self, *options: str | Path, threads: int = 2) -> list[str]:
        """Run the command with the reference; return the lines of its output."""
        files = self["reads.bam"], self["loci.fa"], "--reference", self["reference.fa"]
        return lines_of(self.directory, *files, *options, threads=threads)

    def expected(self, rules: Rules | None = None, *, normalize: bool = False) -> list[Row]:
        with pysam.AlignmentFile(str(self["reads.bam"])) as file:
            records = list(file.fetch(until_eof=True))
        return expected_rows(records, self.loci, self["reference.fa"], rules, normalize=normalize)


def expected_rows(
    records: Iterable[pysam.AlignedSegment],
    loci: Sequence[Locus],
    fasta: Path,
    rules: Rules | None = None,
    *,
    normalize: bool = False,
) -> list[Row]:
    """Return the expected rows; the haplotypes are in the order of the loci."""
    rows = []
    with pysam.FastaFile(str(fasta)) as reference:
        for record in records:
            if record.flag & 0xF04 or not record.query_sequence or is_spliced(record):
                continue
            mate = 1 if record.flag & 0x41 == 0x41 else 2 if record.flag & 0x81 == 0x81 else 0
            for locus in loci:
                if not locus.is_overlapped_by(record):
                    continue
                values = likelihoods(record, locus, reference, rules or Rules())
                if normalize and not is_well_modelled(values, len(record.query_sequence)):
                    continue
                kept = normalized(values) if normalize else values
                for name, value in zip(locus.haplotypes, kept, strict=True):
                    rows.append(Row(record.query_name, mate, locus.text, name, value))
    return rows


def is_spliced(record: pysam.AlignedSegment) -> bool:
    return any(operation == SKIP for operation, _ in record.cigartuples or [])


def edge_lines(random: Random, reference: str) -> list[str]:
    """Give the reads of `EDGES` the bases that the reference has there, and qualities."""
    lines = []
    for columns in EDGES:
        start, cigar = int(columns.split("\t")[3]) - 1, columns.split("\t")[5]
        template = pysam.AlignedSegment()
        template.cigarstring = cigar
        length = template.infer_query_length()
        bases = (reference[start : start + length] + "".join(random.choices("ACGT", k=100)))[
            :length
        ]
        lines.append(f"{columns}\t*\t0\t0\t{bases}\t{'F' * length}")
    return lines


def write_reference(directory: Path, random: Random) -> str:
    """Write a reference with lower case and N within flanks, and another contig; return it."""
    bases = "".join(random.choices("ACGT", weights=(8, 8, 3, 3), k=LENGTH))
    bases = bases[:200] + "N" * 25 + bases[225:]
    mixed = bases[:60] + bases[60:150].lower() + bases[150:620] + bases[620:].lower()
    (directory / "reference.fa").write_text(f">other\nACGT\n>chr\n{mixed}\n")
    pysam.faidx(str(directory / "reference.fa"))
    return bases


def write_reads(directory: Path, random: Random, reference: str) -> None:
    """Write the same reads as BAM and CRAM."""
    lines = random_reads(random, reference, 500, all_kinds=True) + edge_lines(random, reference)
    sam = str(write_sam(directory / "reads.sam", LENGTH, lines))
    pysam.sort("-o", str(directory / "reads.bam"), sam)
    cram = ("-C", "-T", str(directory / "reference.fa"), "-o", str(directory / "reads.cram"))
    pysam.view(*cram, str(directory / "reads.bam"), catch_stdout=False)
    for name in ("reads.bam", "reads.cram"):
        pysam.index(str(directory / name))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    random = Random(8)  # noqa: S311  (the same data on every run)
    directory = tmp_path_factory.mktemp("made")
    reference = write_reference(directory, random)
    write_reads(directory, random, reference)
    loci = []
    for start, end in LOCI:
        bases = reference[start:end]
        alleles = (
            bases,
            bases[:9] + bases[9 + (end - start) // 2 :],
            f"{bases[:12]}ACAC{bases[12:]}",
        )
        names = {f"h{start}_{number}": allele for number, allele in enumerate(alleles)}
        loci.append(Locus("chr", start, end, names))
    with (
        (directory / "loci.fa").open("w") as with_loci,
        (directory / "alleles.fa").open("w") as without,
    ):
        for locus in loci:
            for name, bases in locus.haplotypes.items():
                with_loci.write(f">{name} {locus.text}\n{bases[:5].lower()}{bases[5:]}\n")
                without.write(f">{name}\n{bases}\n")
    return Made(directory, loci)


def rows_in(lines: Sequence[str]) -> list[Row]:
    fields = [line.split("\t") for line in lines[1:]]
    return [Row(f[0], int(f[1]), f[2], f[3], float(f[4])) for f in fields]


def assert_rows(found: Sequence[Row], expected: Sequence[Row]) -> None:
    assert [row.key for row in found] == [row.key for row in expected]
    values = ([row.likelihood for row in rows] for rows in (found, expected))
    np.testing.assert_allclose(*values, rtol=0, atol=TOLERANCE)


def share_of_low(rows: Iterable[Row]) -> float:
    """Return the fraction of read-locus pairs whose best likelihood is below -20."""
    best: dict[tuple[str, int, str], float] = {}
    for row in rows:
        best[row.key[:3]] = max(row.likelihood, best.get(row.key[:3], -np.inf))
    return sum(value < -20 for value in best.values()) / len(best)


@pytest.mark.parametrize("normalize", [False, True])
def test_made_up_alignments(made: Made, normalize: bool) -> None:
    found = rows_in(made.table(*["--normalize"] * normalize))
    assert_rows(found, made.expected(normalize=normalize))
    names = {columns.split("\t")[0] for columns in EDGES} - {"spliced"}
    assert normalize or names <= {row.read for row in found}
    assert len(found) > 150


def test_made_up_flanks_differ(made: Made) -> None:
    with pysam.AlignmentFile(str(made["reads.bam"])) as file:
        records = [record for record in file if record.query_sequence and not record.is_unmapped]
    pairs = [(r, locus) for r in records for locus in made.loci if locus.is_overlapped_by(r)]
    assert len({flanks(*pair) for pair in pairs}) >= 5


def test_options_of_qualities(made: Made) -> None:
    rules = Rules(pcr_model="aggressive", gap_open=30, cap=False)
    options = "--pcr-model aggressive --gap-open 30 --disable-cap-base-qualities-to-map-quality"
    assert_rows(rows_in(made.table(*options.split())), made.expected(rules))


def test_spliced_reads_are_excluded(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pysam.AlignmentFile(str(made["reads.bam"])) as file:
        spliced = [r for r in file if not r.flag & 0xF04 and r.query_sequence and is_spliced(r)]
    count = sum(any(locus.is_overlapped_by(r) for locus in made.loci) for r in spliced)
    assert count > 1
    files = made["reads.bam"], made["loci.fa"], "--reference", made["reference.fa"]
    out = ("-o", tmp_path / "out.tsv", "--json", tmp_path / "run.json", "--device", "cpu")
    assert status_of(*files, *out) == 0
    warning = (
        f"hapgpu pairhmm: {count} spliced reads excluded: extended haplotypes have the introns"
    )
    assert warning in capsys.readouterr().err.splitlines()
    counts = json.loads((tmp_path / "run.json").read_text())["counts"]
    assert (counts["spliced"], counts["without_bases_at_locus"]) == (count, 0)


@pytest.mark.parametrize("name", ["reads.sam", "reads.bam", "reads.cram"])
@pytest.mark.parametrize("threads", [1, 2])
def test_formats_and_threads_change_nothing(made: Made, name: str, threads: int) -> None:
    expected = made.table()
    if name == "reads.sam":  # in the order of the BAM
        pysam.view("-h", "-o", str(made[name]), str(made["reads.bam"]), catch_stdout=False)
    files = made[name], made["loci.fa"], "--reference", made["reference.fa"]
    assert lines_of(made.directory, *files, threads=threads) == expected


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("reads", [1, 7, 40])
def test_how_reads_are_batched_changes_nothing(
    made: Made, monkeypatch: pytest.MonkeyPatch, reads: int, normalize: bool
) -> None:
    options = ["--normalize"] * normalize
    expected = made.table(*options)
    max_candidates = 3
    monkeypatch.setattr(cpu, "_LIKELIHOODS_PER_BATCH", reads * max_candidates)
    assert made.table(*options) == expected


@pytest.mark.parametrize("normalize", [False, True])
def test_the_matrix_agrees_with_the_table(made: Made, normalize: bool) -> None:
    options = ["--normalize"] * normalize
    _, *table = (line.split("\t") for line in made.table(*options))
    cells = {(read, mate, haplotype): value for read, mate, _, haplotype, value in table}
    header, *matrix = (line.split("\t") for line in made.table("--matrix", *options))
    names = [name for locus in made.loci for name in locus.haplotypes]
    assert header == ["read", "mate", *names]
    reads = list(map(list, dict.fromkeys((read, mate) for read, mate, *_ in table)))
    assert [row[:2] for row in matrix] == reads
    for read, mate, *values in matrix:
        assert values == [cells.get((read, mate, name), "NA") for name in names]


def test_with_whole_reads_nothing_is_extended(made: Made) -> None:
    """CRAM may need the reference; other files do not."""
    whole = lines_of(made.directory, made["reads.bam"], made["loci.fa"], "--whole-reads")
    files = made["reads.cram"], made["loci.fa"], "--reference", made["reference.fa"]
    assert lines_of(made.directory, *files, "--whole-reads") == whole
    assert made.table() != whole


def test_without_loci_nothing_is_extended(made: Made) -> None:
    files = made["reads.bam"], made["alleles.fa"]
    expected = lines_of(made.directory, *files)
    assert lines_of(made.directory, *files, "--reference", made["reference.fa"]) == expected


def test_the_example(tmp_path: Path) -> None:
    directory = make_example(tmp_path / "example")
    fasta = directory / "reference.fa"
    files = directory / "reads.bam", directory / "haplotypes.fa"
    loci: dict[tuple[str, int, int], Locus] = {}
    for haplotype in haplotypes_of(directory / "haplotypes.fa"):
        locus = loci.setdefault(haplotype.locus, Locus(*haplotype.locus, {}))
        locus.haplotypes[haplotype.name] = haplotype.bases
    with pysam.AlignmentFile(str(directory / "reads.bam")) as file:
        expected = expected_rows(list(file)[::90], list(loci.values()), fasta)
    found = rows_of(tmp_path, *files, "--reference", fasta)
    keys = {row.key for row in expected}
    assert len(keys) > 10
    assert_rows([row for row in found if row.key in keys], expected)
    # Half of the reads extend beyond their locus.
    whole = rows_of(tmp_path, *files, "--whole-reads")
    assert share_of_low(found) < 0.02
    assert share_of_low(whole) > 0.4


@pytest.mark.parametrize("sample", ["NA12878", "HG002"])
def test_real_reads(data_dir: Path, tmp_path: Path, sample: str) -> None:
    data = data_dir / "illumina_na12878"
    fasta, bam = data / "chr20.hg19.fa.gz", data / f"{sample}.chr20.dev.bam"
    # Short windows: most reads extend beyond them.
    sites = truth_sites(fasta, data / f"{sample}.truth.dev.vcf.gz", flank=20)[::40]
    haplotypes = write_haplotypes(tmp_path / "haplotypes.fa", sites)
    loci = [
        Locus(s.contig, s.start, s.end, {f"{k}_{h}": b for h, b in enumerate(s.haplotypes)})
        for k, s in enumerate(sites)
    ]
    with pysam.AlignmentFile(str(bam)) as file:
        records = [record for number, record in enumerate(file) if number % 10 == 0]
    expected = expected_rows(records, loci, fasta)
    found = rows_of(tmp_path, bam, haplotypes, "--reference", fasta)
    keys = {row.key for row in expected}
    assert len(keys) > 10
    assert_rows([row for row in found if row.key in keys], expected)
    whole = rows_of(tmp_path, bam, haplotypes, "--whole-reads")
    assert [row.key for row in found] == [row.key for row in whole]
    medians = [np.median([row.likelihood for row in rows]) for rows in (found, whole)]
    assert medians[0] > -10
    assert medians[1] < -50

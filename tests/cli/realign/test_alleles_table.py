"""`hapgpu realign --alleles-table`: reads per sample and allele, beside counts in plain Python."""

from __future__ import annotations

import csv
import gzip
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pysam
import pytest

from hapgpu.realign import alleles as table
from tests.cli.in_process import error_of_command, status_of_command
from tests.cli.realign.command import haplotypes_of, lines_of, make_example, realign, status_of

Rows = list[dict[str, str]]
Key = tuple[str, str]
"""Sample and haplotype; `*` for none."""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_example(tmp_path_factory.mktemp("example"))


@pytest.fixture
def gol(data_dir: Path) -> Path:
    return data_dir / "amplicon" / "crispr_gol"


def rows_of(path: Path) -> Rows:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def table_of(directory: Path, *arguments: str | Path) -> Rows:
    path = directory / "alleles.tsv"
    realign(*arguments, "-o", directory / "out.bam", "--alleles-table", path)
    return rows_of(path)


def counts_of(rows: Rows, column: str) -> Counter[Key]:
    """Return the numbers of a column that are not 0."""
    found = {(row["sample"], row["haplotype"]): int(row[column]) for row in rows}
    return +Counter(found)


def samples_of(path: Path) -> dict[str, str]:
    """Return the sample of each read group."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return {group["ID"]: group["SM"] for group in file.header.to_dict()["RG"]}


def counted(path: Path) -> tuple[Counter[Key], Counter[Key]]:
    """Count reads by their records of all haplotypes (`--all`): those of one best, and others.

    Names are not unique: the records of a mapped read are as many as the haplotypes.
    """
    samples = samples_of(path)
    alone: Counter[Key] = Counter()
    tied: Counter[Key] = Counter()
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        records, count = list(file.fetch(until_eof=True)), file.nreferences
    while records:
        size = 1 if records[0].is_unmapped else count
        of_read, records = records[:size], records[size:]
        assert len({record.query_name for record in of_read}) == 1
        sample = samples[of_read[0].get_tag("RG")]
        if of_read[0].is_unmapped:
            alone[sample, "*"] += 1
            continue
        highest = max(record.get_tag("AS") for record in of_read)
        names = [record.reference_name for record in of_read if record.get_tag("AS") == highest]
        first = next(record.reference_name for record in of_read if not record.is_secondary)
        assert first in names
        (tied if len(names) > 1 else alone)[sample, first or ""] += 1
    return alone, tied


@pytest.mark.parametrize("min_score", ["0.2", "0.85"])
def test_embryos(gol: Path, tmp_path: Path, min_score: str) -> None:
    reads, fasta = gol / "gol.bam", gol / "candidates.fa"
    options = ("--min-score", min_score)
    found = table_of(tmp_path, reads, fasta, *options, "-t", "2")
    realign(reads, fasta, *options, "--all", "-o", tmp_path / "all.bam")
    alone, tied = counted(tmp_path / "all.bam")
    assert counts_of(found, "reads") == alone
    assert counts_of(found, "ambiguous") == tied
    assert alone.total() + tied.total() == 96
    assert len({sample for sample, _ in alone}) == 9
    names = [haplotype.name for haplotype in haplotypes_of(fasta)]
    assert [(row["sample"], row["haplotype"]) for row in found] == [
        (sample, name) for sample in samples_of(reads).values() for name in [*names, "*"]
    ]
    for row in found:
        total = sum(alone[row["sample"], name] for name in names)
        own = alone[row["sample"], row["haplotype"]]
        is_known = total and row["haplotype"] != "*"
        assert row["fraction"] == (f"{own / total:.6g}" if is_known else "NA")
    again = table_of(tmp_path, reads, fasta, *options, "-t", "1", "--all")
    assert again == found


def test_embryos_by_likelihood(gol: Path, tmp_path: Path) -> None:
    """A read is ambiguous if two haplotypes differ by at most 0.2 (log10)."""
    reads, fasta = gol / "gol.bam", gol / "candidates.fa"
    found = table_of(tmp_path, reads, fasta, "--best-by", "likelihood", "--min-score", "0")
    words = ["pairhmm", reads, fasta, "-q", "-o", tmp_path / "pairs.tsv", "--device", "cpu"]
    assert status_of_command(*words) == 0
    samples, pairs = samples_of(reads), rows_of(tmp_path / "pairs.tsv")
    with pysam.AlignmentFile(str(tmp_path / "out.bam"), check_sq=False) as file:
        records = list(file.fetch(until_eof=True))
    expected = {"reads": Counter[Key](), "ambiguous": Counter[Key]()}
    count = len(pairs) // len(records)
    for number, record in enumerate(records):
        sample = samples[record.get_tag("RG")]
        if record.is_unmapped:  # its score is below 0
            expected["reads"][sample, "*"] += 1
            continue
        own = pairs[count * number :][:count]
        highest = max(float(row["log10_likelihood"]) for row in own)
        near = [row for row in own if float(row["log10_likelihood"]) >= highest - 0.2]
        column = "ambiguous" if len(near) > 1 else "reads"
        expected[column][sample, near[0]["haplotype"]] += 1
    for column, numbers in expected.items():
        assert counts_of(found, column) == numbers
    assert expected["ambiguous"].total() > 0


def test_cigars(gol: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each allele is the first haplotype with the indels of its CIGAR."""
    found = table_of(tmp_path, gol / "gol.bam", gol / "candidates.fa")
    first, *others = haplotypes_of(gol / "candidates.fa")
    cigars = {row["haplotype"]: row["cigar"] for row in found}
    assert cigars.pop("*") == "NA"
    assert cigars.pop(first.name) == f"{len(first.bases)}M"
    for allele in others:
        at = own = 0
        for length, operation in re.findall(r"(\d+)(\D)", cigars[allele.name]):
            if operation == "M":
                pairs = zip(first.bases[at:][: int(length)], allele.bases[own:], strict=False)
                assert sum(one != two and "N" not in one + two for one, two in pairs) <= 3
            at += int(length) * (operation in "MD")
            own += int(length) * (operation in "MI")
        assert (at, own) == (len(first.bases), len(allele.bases))
        assert set(re.findall(r"\D", cigars[allele.name])) > {"M"}
    monkeypatch.setattr(table, "MAX_LENGTH", len(first.bases))
    found = table_of(tmp_path, gol / "gol.bam", gol / "candidates.fa")
    longer = {allele.name for allele in others if len(allele.bases) > len(first.bases)}
    assert {row["haplotype"] for row in found if row["cigar"] == "NA"} == {*longer, "*"}


def test_fastq_is_one_sample(example: Path, tmp_path: Path) -> None:
    found = table_of(tmp_path, example / "amplicons.fastq.gz", example / "alleles.fa")
    assert {row["sample"] for row in found} == {"amplicons"}
    chosen = Counter(line.split("\t")[2] for line in lines_of(tmp_path / "out.bam"))
    assert {row["haplotype"]: int(row["reads"]) for row in found} == {**chosen, "*": 0}


def test_loci(example: Path, tmp_path: Path) -> None:
    """Fractions are of the reads at a locus; reads at no locus are not counted."""
    found = table_of(tmp_path, example / "reads.bam", example / "haplotypes.fa")
    haplotypes = haplotypes_of(example / "haplotypes.fa")
    for row, haplotype in zip(found, haplotypes, strict=False):
        contig, start, end = haplotype.locus or ("", 0, 0)
        assert (row["haplotype"], row["locus"]) == (haplotype.name, f"{contig}:{start + 1}-{end}")
    records = [line.split("\t") for line in lines_of(tmp_path / "out.bam")]
    reads, ambiguous = counts_of(found, "reads"), counts_of(found, "ambiguous")
    assert Counter(columns[2] for columns in records) == Counter(
        {name: number for (_, name), number in (reads + ambiguous).items()}
    )
    sums: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    for row in found[:-1]:
        totals[row["locus"]] += int(row["reads"])
        sums[row["locus"]] += 0 if row["fraction"] == "NA" else float(row["fraction"])
    assert len(totals) > 2
    for locus, total in totals.items():
        assert sums[locus] == pytest.approx(1 if total else 0, abs=1e-4)


def with_groups(path: Path, example: Path, groups: dict[str, str]) -> Path:
    """Write the amplicons as unmapped reads, in turn without and in each of the read groups."""
    header = {"HD": {"VN": "1.6"}, "RG": [{"ID": k, "SM": v} for k, v in groups.items()]}
    turns: list[str | None] = [*groups, None]
    with (
        pysam.FastxFile(str(example / "amplicons.fastq.gz")) as reads,
        pysam.AlignmentFile(str(path), "wb", header=header) as out,
    ):
        for number, read in enumerate(reads):
            record = pysam.AlignedSegment()
            record.query_name, record.query_sequence = read.name, read.sequence
            record.query_qualities = pysam.qualitystring_to_array(read.quality or "")
            record.flag = 4
            record.set_tag("RG", turns[number % len(turns)])
            out.write(record)
    return path


def test_reads_without_a_group(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in genotype: they are of the only sample; with several, the run ends."""
    one = with_groups(tmp_path / "one.bam", example, {"1": "s", "2": "s"})
    found = table_of(tmp_path, one, example / "alleles.fa")
    assert {row["sample"] for row in found} == {"s"}
    assert sum(int(row["reads"]) + int(row["ambiguous"]) for row in found) == 200
    two = with_groups(tmp_path / "two.bam", example, {"1": "s", "2": "t"})
    out = tmp_path / "two"
    out.mkdir()
    words = [two, example / "alleles.fa", "-o", out / "x.bam", "--alleles-table", out / "x.tsv"]
    assert status_of(*words, "--device", "cpu") == 1
    assert "no read group (RG), and the header has several samples" in error_of_command(
        "realign", capsys
    )
    assert not list(out.iterdir())
    realign(*words[:-2])


def test_compressed_table(example: Path, tmp_path: Path) -> None:
    words = [example / "amplicons.fastq.gz", example / "alleles.fa", "-o", tmp_path / "out.bam"]
    realign(*words, "--alleles-table", tmp_path / "x.tsv.gz")
    assert rows_of(tmp_path / "x.tsv.gz") == table_of(tmp_path, *words[:2])


def test_table_on_standard_output(
    example: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    words = [example / "amplicons.fastq.gz", example / "alleles.fa"]
    table_of(tmp_path, *words)
    capsysbinary.readouterr()
    realign(*words, "-o", tmp_path / "other.bam", "--alleles-table", "-")
    assert capsysbinary.readouterr().out == (tmp_path / "alleles.tsv").read_bytes()


def test_empty_input(example: Path, tmp_path: Path) -> None:
    reads = tmp_path / "none.fastq"
    reads.touch()
    found = table_of(tmp_path, reads, example / "alleles.fa")
    assert [[row[name] for name in ("haplotype", "reads", "fraction")] for row in found] == [
        ["allele1", "0", "NA"],
        ["allele2", "0", "NA"],
        ["*", "0", "NA"],
    ]


def refused(example: Path, tmp_path: Path) -> Iterator[tuple[list[str | Path], str]]:
    words = [example / "reads.bam", example / "haplotypes.fa", "-o", tmp_path / "x.bam"]
    reference = ["--reference", example / "reference.fa"]
    file = tmp_path / "x.tsv"
    yield [*words, *reference, "--alleles-table", file], "--alleles-table: no effect with --refer"
    yield [*words, "--alleles-table", tmp_path / "x.vcf"], "a name of VCF, but the output is TSV"
    yield [*words, "--alleles-table", tmp_path / "x.bam"], "is also an output; give another file"
    yield [*words, "--alleles-table", words[0]], "is also an input; give another file"


@pytest.mark.parametrize("row", range(4))
def test_refused(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], row: int
) -> None:
    words, message = [*refused(example, tmp_path)][row]
    assert status_of(*words) == 2
    assert message in error_of_command("realign", capsys)
    assert not list(tmp_path.iterdir())


def test_too_many_lines(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(table, "MAX_LINES", 3)
    reads = Path(shutil.copy(example / "amplicons.fastq.gz", tmp_path / "x.fq.gz"))
    table_of(tmp_path, reads, example / "alleles.fa")
    bam = with_groups(tmp_path / "two.bam", example, {"1": "s", "2": "t"})
    words = [bam, example / "alleles.fa", "-o", tmp_path / "y.bam"]
    assert status_of(*words, "--alleles-table", tmp_path / "y.tsv", "--device", "cpu") == 2
    message = "--alleles-table: 2 samples x 2 haplotypes are over 3 lines; give fewer haplotypes"
    assert message in error_of_command("realign", capsys)
    assert not list(tmp_path.glob("y*"))

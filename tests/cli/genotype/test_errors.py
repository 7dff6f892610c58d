"""What `hapgpu genotype` says when it cannot do what it was asked to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.genotype.command import (
    ALT,
    BASES,
    CONTIG,
    OTHER,
    REF,
    SITE,
    pileup,
    status_of,
    write_bam,
    write_sam,
    write_sites,
)
from tests.cli.haplotypes.command import write_reference
from tests.cli.in_process import only_error

RECORD = f"{SITE} {REF} {ALT}"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make reads, reference and sites, and others that something is wrong with."""
    folder = tmp_path_factory.mktemp("example")
    write_reference(folder, BASES, CONTIG)
    _write_reads(folder)
    _write_sites(folder)
    (folder / "no_index.fa").write_text((folder / "ref.fa").read_text())
    (folder / "reads.fq").write_text("@r\nACGT\n+\nIIII\n")
    (folder / "bad.bed").write_text("chr1\t5\n")
    return folder


def _write_reads(folder: Path) -> None:
    good, others = pileup("01"), pileup("01", "other", contig="chr2")
    write_bam(write_sam(folder / "reads.sam", good))
    write_bam(write_sam(folder / "bare.sam", pileup("0", base_quality="*")))
    write_sam(folder / "unsorted.sam", [*good, good[0]._replace(name="late", position=50)])
    write_bam(write_sam(folder / "longer.sam", good, lengths={CONTIG: 400}))
    write_sam(folder / "elsewhere.sam", others, lengths={"chr2": 300})
    write_sam(folder / "prefix.sam", pileup("0", contig="1"), lengths={"1": 300})
    groups = {"run1": "NA1", "run2": "NA2"}
    write_sam(folder / "no_group.sam", pileup("0", group=""), groups)
    write_sam(folder / "unknown_group.sam", pileup("0", group="run3"), groups)
    write_sam(folder / "no_sample.sam", pileup("0", group="run2"), groups | {"run2": ""})
    write_sam(folder / "null.sam", pileup("0"), {"run1": "a\0b"})
    two = folder / "two"
    two.mkdir()
    for place in (folder, two):
        write_sam(place / "no_names.sam", pileup("0", group=""), {})


def _write_sites(folder: Path) -> None:
    good = write_sites(folder / "sites.vcf", [RECORD])
    for name, records in {
        "other_base": [RECORD, f"{SITE + 1} {'ACGT'.replace(BASES[SITE], '')[0]} GG"],
        "beyond": [f"300 {BASES[299]}A G"],
        "far_beyond": ["301 A G"],
        "unsorted": [f"{SITE + 1} {BASES[SITE]} .", RECORD],
        "no_bases": [f"{SITE} {REF} {ALT}X"],
        "columns": [RECORD, "151 A"],
    }.items():
        write_sites(folder / f"{name}.vcf", records)
    write_sites(folder / "comma.vcf", [RECORD], contig="chr,1")
    write_sites(folder / "prefix.vcf", [RECORD], contig="1")
    write_sites(folder / "chr2.vcf", [RECORD], contig="chr2")
    lines = good.read_text().splitlines()
    (folder / "header.vcf").write_text(f"{lines[0]}\n")
    (folder / "empty.vcf").write_text("")
    (folder / "again.vcf").write_text(
        "\n".join([*lines, lines[-1].replace(CONTIG, "chr2"), lines[-1], ""])
    )


CASES = {
    "another base": ("reads.bam ref.fa other_base.vcf", 1, ["line 4", f"{CONTIG}:{SITE + 1}"]),
    "over the end": ("reads.bam ref.fa beyond.vcf", 1, ["beyond.vcf, line 3", "300 bases"]),
    "behind the end": ("reads.bam ref.fa far_beyond.vcf", 1, ["far_beyond.vcf, line 3"]),
    "unknown contig": ("reads.bam ref.fa chr2.vcf", 1, ["chr2.vcf, line 3", "'chr2'", "ref.fa"]),
    "another name": ("reads.bam ref.fa prefix.vcf", 1, ["'1'", f"found '{CONTIG}' instead"]),
    "unsorted sites": ("reads.bam ref.fa unsorted.vcf", 1, ["line 4", "bcftools sort"]),
    "a contig again": ("reads.bam ref.fa again.vcf", 1, ["again.vcf, line 5", "bcftools sort"]),
    "no bases": ("reads.bam ref.fa no_bases.vcf", 1, ["no_bases.vcf, line 3", "ALT"]),
    "no contig's name": ("reads.bam ref.fa comma.vcf", 1, ["comma.vcf, line 3", "'chr,1'"]),
    "few columns": ("reads.bam ref.fa columns.vcf", 1, ["columns.vcf, line 4", "columns"]),
    "no column line": ("reads.bam ref.fa header.vcf", 1, ["header.vcf is cut short", "#CHROM"]),
    "no sites": ("reads.bam ref.fa empty.vcf", 1, ["empty.vcf is empty"]),
    "FASTQ": ("reads.fq ref.fa sites.vcf", 1, ["reads.fq is FASTQ", "aligned"]),
    "unsorted reads": ("unsorted.sam ref.fa sites.vcf", 1, ["unsorted.sam", "samtools sort"]),
    "no qualities": ("bare.bam ref.fa sites.vcf", 1, ["bare.bam", "'r0'", "no base qualities"]),
    "another length": ("longer.bam ref.fa sites.vcf", 1, ["longer.bam", "400", "300", "ref.fa"]),
    "no such contig": ("elsewhere.sam ref.fa sites.vcf", 1, ["elsewhere.sam", f"'{CONTIG}'"]),
    "contig of reads": ("prefix.sam ref.fa sites.vcf", 1, ["prefix.sam", "found '1' instead"]),
    "no read group": ("no_group.sam ref.fa sites.vcf", 1, ["no_group.sam", "'r0'", "RG"]),
    "unknown group": ("unknown_group.sam ref.fa sites.vcf", 1, ["'r0'", "'run3'"]),
    "group without sample": ("no_sample.sam ref.fa sites.vcf", 1, ["'r0'", "'run2'", "SM"]),
    "two without names": (
        "no_names.sam two/no_names.sam ref.fa sites.vcf",
        1,
        ["no_names", "samtools addreplacerg"],
    ),
    "reference without index": ("reads.bam no_index.fa sites.vcf", 1, ["samtools faidx"]),
    "the other way round": ("sites.vcf ref.fa reads.bam", 1, ["VCF"]),
    "reads twice": ("reads.bam reads.bam ref.fa sites.vcf", 2, ["reads.bam: given twice"]),
    "standard input twice": ("- ref.fa -", 2, ["standard input"]),
    "reference from a pipe": ("reads.bam - sites.vcf", 2, ["standard input"]),
    "unknown region": ("reads.bam ref.fa sites.vcf -r 1:5-9", 2, [f"found '{CONTIG}' instead"]),
    "bad targets": ("reads.bam ref.fa sites.vcf -L bad.bed", 1, ["bad.bed, line 1"]),
}


@pytest.mark.parametrize("output", ["out.vcf", "out.vcf.gz"])
@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_status(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    case: str,
    output: str,
) -> None:
    arguments, status, said = CASES[case]
    monkeypatch.chdir(example)
    outputs = ("-o", tmp_path / output, "--json", tmp_path / "run.json")
    assert status_of(*outputs, *arguments.split()) == status
    captured = capfd.readouterr()
    line = only_error("genotype", captured.err)
    assert all(part.lower() in line.lower() for part in said), line
    assert not captured.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ["--ploidy", "5"],
        ["--ploidy", "0"],
        ["--prior", "strong"],
        ["--pcr-model", "friendly"],
        ["--min-mapping-quality", "256"],
        ["--min-mapping-quality", "-1"],
    ],
)
def test_usage(example: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    inputs = [example / name for name in ("reads.bam", "ref.fa", "sites.vcf")]
    assert status_of(*inputs, *options) == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["reads.bam"], ["reads.bam", "ref.fa"]])
def test_too_few_arguments(
    example: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
) -> None:
    monkeypatch.chdir(example)
    assert status_of(*arguments) == 2
    assert "Missing argument" in capsys.readouterr().err


def test_one_file_under_two_names(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    link = tmp_path / "link.bam"
    link.symlink_to(example / "reads.bam")
    inputs = [example / "reads.bam", link, example / "ref.fa", example / "sites.vcf"]
    assert status_of(*inputs) == 2
    assert "link.bam: given twice" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "place", "status"),
    [
        ("-o", "missing_folder/out.vcf", 4),
        ("-o", "missing_folder/out.vcf.gz", 4),
        ("--json", "missing_folder/run.json", 4),
        ("-o", ".", 4),
        ("-o", "out.bcf", 2),
    ],
)
def test_output_that_cannot_be_written(
    example: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    option: str,
    place: str,
    status: int,
) -> None:
    inputs = [example / name for name in ("reads.bam", "ref.fa", "sites.vcf")]
    assert status_of(*inputs, "-q", option, tmp_path / place) == status
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert captured.err.startswith("hapgpu genotype: error: ")
    assert not captured.out
    assert not list(tmp_path.iterdir())


def test_an_allele_that_is_not_there_is_no_fault(example: Path, tmp_path: Path) -> None:
    """The same reads and sites pass where nothing is wrong with them."""
    sites = write_sites(tmp_path / "sites.vcf", [RECORD, f"{SITE} {REF} {OTHER}"])
    assert status_of(example / "reads.bam", example / "ref.fa", sites, "-o", tmp_path / "o") == 0

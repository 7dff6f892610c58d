"""What `hapgpu pairhmm` says when it cannot do what it was asked to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.in_process import error_of_command
from tests.cli.pairhmm.command import status_of
from tests.cli.realign.command import make_example


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the example, and damaged files."""
    folder = make_example(tmp_path_factory.mktemp("example"))
    first = f">one chr20:101-140\n{'ACGT' * 10}\n"
    sam = "@SQ\tSN:chr20\tLN:20000\nr1\t0\tchr20\t105\t60\t4M\t*\t0\t0\tACGT\t"
    for name, text in {
        "bare.sam": f"{sam}*\n",
        "short.sam": f"{sam}IIII\tBI:Z:III\n",
        "one.fa": first,
        "prefix.fa": first.replace("chr20", "20"),
        "mixed.fa": f"{first}>free\nACGT\n",
        "good.in": "1 1\nACGT IIII IIII IIII ++++\nACGTA\n",
        "cut.in": "1 2\nACGT IIII IIII IIII ++++\nACGTA\n",
        "short.in": "1 1\nACGT III IIII IIII ++++\nACGTA\n",
    }.items():
        (folder / name).write_text(text)
    return folder


CASES = {
    "no input": ("", 2, ["READS", "HAPLOTYPES.fa", "--batches"]),
    "no haplotypes": ("reads.bam", 2, ["READS", "HAPLOTYPES.fa"]),
    "prefix of contig": ("reads.bam prefix.fa", 1, ["reads.bam", "found 'chr20' instead"]),
    "some loci": ("reads.bam mixed.fa", 1, ["mixed.fa", "'free'", "no locus"]),
    "FASTQ": ("amplicons.fastq.gz alleles.fa", 1, ["amplicons.fastq.gz: FASTQ", "map the reads"]),
    "no qualities": ("bare.sam one.fa", 1, ["bare.sam", "'r1'", "no base qualities"]),
    "short tag": ("short.sam one.fa", 1, ["short.sam", "'r1'", "BI", "4 qualities"]),
    "batches cut short": ("--batches cut.in", 1, ["cut.in"]),
    "batches malformed": ("--batches short.in", 1, ["short.in", "line 2"]),
    "batches and reads": ("reads.bam --batches good.in", 2, ["--batches", "leave out READS"]),
    "batches, reads, haplotypes": ("reads.bam one.fa --batches good.in", 2, ["leave out READS"]),
    "batches and -f": ("--batches good.in -f 1", 2, ["--batches", "--require-flags"]),
    "batches and -r": ("--batches good.in -r chr20:1-9", 2, ["--batches", "--region"]),
    "batches, normalize": ("--batches good.in --normalize", 2, ["--batches", "--normalize"]),
    # Said explicitly, even the default is refused.
    "batches, gap-open": ("--batches good.in --gap-open 45", 2, ["--batches", "--gap-open"]),
    "batches, PCR": ("--batches good.in --pcr-model none", 2, ["--batches", "--pcr-model"]),
    "batches, continuation": ("--batches good.in --gap-continuation 9", 2, ["--gap-continuation"]),
    "batches, threshold": (
        "--batches good.in --base-quality-score-threshold 9",
        2,
        ["--base-quality-score-threshold"],
    ),
    "batches, whole reads": ("--batches good.in --whole-reads", 2, ["--whole-reads"]),
    "batches, cap": (
        "--batches good.in --disable-cap-base-qualities-to-map-quality",
        2,
        ["--disable-cap-base-qualities-to-map-quality"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_and_a_status(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: str,
) -> None:
    arguments, status, said = CASES[case]
    monkeypatch.chdir(example)
    device = () if "--device" in arguments else ("--device", "cpu")
    assert status_of(*arguments.split(), "-o", tmp_path / "out.tsv", *device, "-t", "2") == status
    line = error_of_command("pairhmm", capsys)
    assert all(part in line for part in said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        ["--base-quality-score-threshold", "5"],
        ["--gap-open", "5"],
        ["--gap-open", "128"],
        ["--gap-continuation", "-1"],
        ["--pcr-model", "friendly"],
        ["-F", "NONSENSE"],
    ],
)
def test_usage(example: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert status_of(example / "reads.bam", example / "alleles.fa", *options) == 2
    assert options[0] in capsys.readouterr().err


@pytest.fixture
def inputs(example: Path, tmp_path: Path) -> Path:
    """Copy what a run reads, for tests that might destroy it."""
    for name in ("reads.bam", "reads.bam.bai", "haplotypes.fa", "reference.fa", "good.in"):
        shutil.copy(example / name, tmp_path)
    shutil.copy(example / "reference.fa.fai", tmp_path)
    (tmp_path / "targets.bed").write_text("chr20\t0\t10\n")
    (tmp_path / "link.fa").symlink_to("haplotypes.fa")
    return tmp_path


ALIGNED = "reads.bam haplotypes.fa --reference reference.fa -L targets.bed"


def test_an_index_without_the_ending_of_its_file_is_not_replaced(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(inputs)
    (inputs / "reads.bam.bai").rename("reads.bai")
    assert status_of("reads.bam", "haplotypes.fa", "-o", "reads.bai", "--device", "cpu") == 2
    assert "reads.bai: is also an input" in error_of_command("pairhmm", capsys)

"""What `hapgpu realign` says when it cannot do what it was asked to."""

from __future__ import annotations

from pathlib import Path

import pysam
import pytest

from tests.cli.in_process import error_of_command
from tests.cli.realign.command import make_example, status_of


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the example, and damaged copies of its files."""
    folder = make_example(tmp_path_factory.mktemp("example"))
    bam = (folder / "reads.bam").read_bytes()
    (folder / "no_index.bam").write_bytes(bam)
    first, second = f">one chr20:101-140\n{'ACGT' * 10}\n", f">two chr20:101-140\n{'TTGA' * 10}\n"
    for name, text in {
        "text.fa": "hello\n",
        "mixed.fa": first + ">free\nACGT\n",
        "twice.fa": first + first,
        "no_sequence.fa": ">one\n>two\nACGT\n",
        "comma.fa": ">one,two\nACGT\n",
        "gaps.fa": ">one\nAC-GT\n",
        "prefix.fa": (first + second).replace("chr20", "20"),
        "unknown.fa": (first + second).replace("chr20", "chrUn"),
        "beyond.fa": first.replace("101-140", "20001-20040"),
    }.items():
        (folder / name).write_text(text)
    return folder


CASES = {
    "missing index, region": ("no_index.bam alleles.fa -r chr20:1-9", 1, ["samtools index"]),
    "prefix of contig": ("reads.bam prefix.fa", 1, ["reads.bam", "found 'chr20' instead"]),
    "unknown contig": ("reads.bam unknown.fa", 1, ["chrUn"]),
    "no FASTA": ("reads.bam text.fa", 1, ["text.fa, line 1", "not FASTA"]),
    "some loci": ("reads.bam mixed.fa", 1, ["mixed.fa", "'free'", "no locus"]),
    "a name twice": ("reads.bam twice.fa", 1, ["twice.fa", "'one'"]),
    "a name that SAM forbids": ("reads.bam comma.fa", 1, ["'one,two'"]),
    "no sequence": ("reads.bam no_sequence.fa", 1, ["no_sequence.fa", "'one'"]),
    "no base": ("reads.bam gaps.fa", 1, ["gaps.fa, line 2", "'-'"]),
    "no loci": ("reads.bam alleles.fa --reference reference.fa", 2, ["--reference", "alleles.fa"]),
    "reference too short": ("reads.bam beyond.fa --reference reference.fa", 1, ["chr20:20001"]),
    "wrong reference": ("reads.bam haplotypes.fa --reference alleles.fa", 1, ["alleles.fa"]),
    "bad scoring": ("reads.bam alleles.fa --scoring 1,2,3", 2, ["1,2,3", "read-to-haplotype"]),
    "unknown scoring": ("reads.bam alleles.fa --scoring best", 2, ["'best'"]),
    "huge scoring": ("reads.bam alleles.fa --scoring 999999999,0,0,0", 2, ["999999999"]),
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
    out = tmp_path / "out.bam"
    device = () if "--device" in arguments else ("--device", "cpu")
    assert status_of(*arguments.split(), "-o", out, *device, "-t", "2") == status
    line = error_of_command("realign", capsys)
    assert all(part in line for part in said)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [["--min-score", "2"], ["-F", "NONSENSE"]])
def test_usage(example: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert status_of(example / "reads.bam", example / "alleles.fa", *options) == 2
    assert options[0] in capsys.readouterr().err


WITH_REFERENCE = ("--always", "--loci-only", "--write-index")


@pytest.mark.parametrize("option", WITH_REFERENCE)
def test_options_of_the_reference_need_it(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    out = tmp_path / "out.bam"
    assert status_of(example / "reads.bam", example / "haplotypes.fa", option, "-o", out) == 2
    line = error_of_command("realign", capsys)
    assert option in line
    assert "--reference" in line
    assert not list(tmp_path.iterdir())


def on_reference(example: Path, reads: Path, *options: str | Path) -> int:
    reference = ("--reference", example / "reference.fa")
    return status_of(reads, example / "haplotypes.fa", *reference, "--device", "cpu", *options)


def test_every_candidate_is_for_haplotypes(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert on_reference(example, example / "reads.bam", "--all", "-o", tmp_path / "out.bam") == 2
    line = error_of_command("realign", capsys)
    assert "--all" in line
    assert "--reference" in line


@pytest.mark.parametrize("out", ["out.sam", "out", "-"])
def test_what_cannot_be_indexed(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    out: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["-O", "bam"] if out == "-" else []
    assert on_reference(example, example / "reads.bam", "--write-index", "-o", out, *options) == 2
    assert "--write-index" in error_of_command("realign", capsys)
    assert not list(tmp_path.iterdir())


def test_unsorted_reads_are_not_indexed(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = tmp_path / "reads.sam"
    options = ("-h", "--no-PG", "-o", str(reads), str(example / "reads.bam"))
    pysam.view(*options, catch_stdout=False)
    reads.write_text(reads.read_text().replace("SO:coordinate", "SO:unsorted"))
    out = tmp_path / "out.bam"
    assert on_reference(example, reads, "--write-index", "-o", out) == 2
    line = error_of_command("realign", capsys)
    assert "samtools sort" in line
    assert "reads.sam" in line
    assert list(tmp_path.iterdir()) == [reads]


def test_fastq_is_not_indexed(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads = example / "amplicons.fastq.gz"
    assert on_reference(example, reads, "--write-index", "-o", tmp_path / "out.bam") == 2
    assert "FASTQ" in error_of_command("realign", capsys)
    assert not list(tmp_path.iterdir())


def test_reads_that_are_not_sorted_as_they_say(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pysam.AlignmentFile(str(example / "reads.bam")) as file:
        header, lines = str(file.header), [r.to_string() for r in file.fetch(until_eof=True)]
    reads = tmp_path / "reads.sam"
    reads.write_text(header + "\n".join([lines[-1], *lines[:-1], ""]))
    assert on_reference(example, reads, "-o", tmp_path / "out.bam") == 1
    line = error_of_command("realign", capsys)
    assert "reads.sam is not sorted" in line
    assert list(tmp_path.iterdir()) == [reads]

"""What `hapgpu realign` says when it cannot do what it was asked to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import cupy
import pysam
import pytest

from tests.cli.in_process import error_of_command
from tests.cli.realign_command import COMMAND, make_example, status_of


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the example, and damaged copies of its files."""
    folder = make_example(tmp_path_factory.mktemp("example"))
    bam = (folder / "reads.bam").read_bytes()
    (folder / "no_index.bam").write_bytes(bam)
    (folder / "cut.bam").write_bytes(bam[: len(bam) // 2])
    (folder / "cut.bam.bai").write_bytes((folder / "reads.bam.bai").read_bytes())
    (folder / "text.bam").write_text("this is no alignment file\n")
    first, second = f">one chr20:101-140\n{'ACGT' * 10}\n", f">two chr20:101-140\n{'TTGA' * 10}\n"
    for name, text in {
        "empty.fa": "",
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
    "missing reads": ("absent.bam haplotypes.fa", 1, ["absent.bam", "No such file"]),
    "truncated reads": ("cut.bam haplotypes.fa", 1, ["cut.bam"]),
    "truncated reads, no loci": ("cut.bam alleles.fa", 1, ["cut.bam"]),
    "not reads": ("text.bam alleles.fa", 1, ["text.bam"]),
    "missing index": ("no_index.bam haplotypes.fa", 1, ["samtools index", "no_index.bam"]),
    "missing index, region": ("no_index.bam alleles.fa -r chr20:1-9", 1, ["samtools index"]),
    "prefix of contig": ("reads.bam prefix.fa", 1, ["reads.bam", "found 'chr20' instead"]),
    "unknown contig": ("reads.bam unknown.fa", 1, ["chrUn"]),
    "unknown contig of region": ("reads.bam alleles.fa -r 20:1-9", 1, ["20", "chr20"]),
    "bad region": ("reads.bam alleles.fa -r chr20:9-1", 2, ["chr20:9-1"]),
    "missing targets": ("reads.bam alleles.fa -L absent.bed", 1, ["absent.bed"]),
    "missing haplotypes": ("reads.bam absent.fa", 1, ["absent.fa: no such file"]),
    "empty haplotypes": ("reads.bam empty.fa", 1, ["empty.fa"]),
    "no FASTA": ("reads.bam text.fa", 1, ["text.fa, line 1", "not FASTA"]),
    "some loci": ("reads.bam mixed.fa", 1, ["mixed.fa", "'free'", "no locus"]),
    "a name twice": ("reads.bam twice.fa", 1, ["twice.fa", "'one'"]),
    "a name that SAM forbids": ("reads.bam comma.fa", 1, ["'one,two'"]),
    "no sequence": ("reads.bam no_sequence.fa", 1, ["no_sequence.fa", "'one'"]),
    "no base": ("reads.bam gaps.fa", 1, ["gaps.fa, line 2", "'-'"]),
    "no loci": ("reads.bam alleles.fa --reference reference.fa", 2, ["--reference", "alleles.fa"]),
    "missing reference": ("reads.bam haplotypes.fa --reference no.fa", 1, ["no.fa"]),
    "reference too short": ("reads.bam beyond.fa --reference reference.fa", 1, ["chr20:20001"]),
    "wrong reference": ("reads.bam haplotypes.fa --reference alleles.fa", 1, ["alleles.fa"]),
    "bad scoring": ("reads.bam alleles.fa --scoring 1,2,3", 2, ["1,2,3", "read-to-haplotype"]),
    "unknown scoring": ("reads.bam alleles.fa --scoring best", 2, ["'best'"]),
    "huge scoring": ("reads.bam alleles.fa --scoring 999999999,0,0,0", 2, ["999999999"]),
    "unknown device": ("reads.bam alleles.fa --device tpu", 2, ["tpu"]),
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


@pytest.mark.parametrize("options", [["--min-score", "2"], ["-t", "0"], ["-F", "NONSENSE"]])
def test_usage(example: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    assert status_of(example / "reads.bam", example / "alleles.fa", *options) == 2
    assert options[0] in capsys.readouterr().err


@pytest.mark.skipif(cupy.cuda.is_available(), reason="there is a GPU")
def test_a_named_device_is_not_replaced(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = example / "reads.bam", example / "alleles.fa"
    assert status_of(*files, "--device", "cuda", "-o", tmp_path / "out.bam") == 3
    error = capsys.readouterr().err
    assert error.startswith("hapgpu realign: error: ")
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["missing_folder/out.bam", "."])
def test_output_that_cannot_be_written(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    files = example / "reads.bam", example / "alleles.fa"
    assert status_of(*files, "-q", "--device", "cpu", "-o", tmp_path / place) == 4
    error = capsys.readouterr().err
    assert error.startswith("hapgpu realign: error: cannot write ")
    assert error.count("\n") == 1


def test_output_that_was_there_survives_an_error(example: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bam"
    out.write_text("before")
    assert status_of(example / "cut.bam", example / "alleles.fa", "-q", "-o", out) == 1
    assert out.read_text() == "before"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("option", ["-o", "--json"])
@pytest.mark.parametrize(
    "name",
    [
        *("reads.bam", "reads.bam.bai", "haplotypes.fa", "reference.fa", "reference.fa.fai"),
        "targets.bed",
    ],
)
def test_an_input_is_not_replaced(
    example: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str
) -> None:
    for file in ("reads.bam", "reads.bam.bai", "haplotypes.fa", "reference.fa", "reference.fa.fai"):
        shutil.copy(example / file, tmp_path)
    (tmp_path / "targets.bed").write_text("chr20\t0\t10\n")
    before = (tmp_path / name).read_bytes()
    given = [tmp_path / "reads.bam", tmp_path / "haplotypes.fa"]
    options = ["--reference", tmp_path / "reference.fa", "-L", tmp_path / "targets.bed"]
    assert status_of(*given, *options, "-q", option, tmp_path / name) == 2
    assert f"{name}: is also an input" in capsys.readouterr().err
    assert (tmp_path / name).read_bytes() == before


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


@pytest.mark.parametrize("reads", ["reads.bam", "-"])
def test_closed_pipe_is_quiet(example: Path, reads: str) -> None:
    files = [str(example / reads) if reads != "-" else "-", str(example / "alleles.fa")]
    with (
        (example / "reads.bam").open("rb") as stdin,
        subprocess.Popen(
            [*COMMAND, *files, "-q", "--device", "cpu"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.read(10) == b"@HD\tVN:1.6"
        process.stdout.close()
        assert process.wait(timeout=60) == 141
        assert process.stderr is not None
        assert not process.stderr.read()


def test_truncated_standard_input(example: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bam"
    with (example / "cut.bam").open("rb") as stdin:
        done = subprocess.run(
            [*COMMAND, "-", str(example / "alleles.fa"), "-q", "--device", "cpu", "-o", str(out)],
            stdin=stdin,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert b"standard input" in done.stderr
    assert not list(tmp_path.iterdir())

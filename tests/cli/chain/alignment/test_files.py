"""`hapgpu chain` with base alignment: reads and reference in, PAF, SAM, BAM or CRAM out."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pysam
import pytest

import hapgpu
from tests.cli.chain.command import (
    COMMAND,
    ON_CPU,
    Sample,
    fasta_text,
    lines_of,
    status_of,
    write_unaligned,
)
from tests.cli.in_process import error_of_command


@pytest.mark.parametrize(
    ("name", "options", "magic"),
    [
        ("out.sam", [], b"@HD\t"),
        ("out.bam", [], b"\x1f\x8b\x08\x04"),
        ("out.CRAM", ["-c"], b"CRAM"),
        ("out", ["-a"], b"@HD\t"),
        ("out.txt", ["-a", "-O", "sam"], b"@HD\t"),
        ("out", ["-O", "bam"], b"\x1f\x8b\x08\x04"),
        ("out", ["-O", "cram"], b"CRAM"),
        ("out.txt", ["--output-fmt", "bam"], b"\x1f\x8b\x08\x04"),
        ("out", ["-O", "4,24", "-O", "sam"], b"@HD\t"),
    ],
)
def test_formats_have_the_same_content(
    sample: Sample,
    aligned_records: list[str],
    tmp_path: Path,
    name: str,
    options: list[str],
    magic: bytes,
) -> None:
    path = tmp_path / name
    files = sample.fasta, sample.fastq, "-o", path
    assert status_of(*files, *options, "--MD", *ON_CPU, "--no-PG") == 0
    assert path.read_bytes()[:4] == magic
    header, found = read_again(path, sample.fasta)
    plain = tmp_path / "plain.sam"
    plain.write_text("\n".join([*aligned_records, ""]))
    # CRAM puts the tags in another order.
    assert [sorted(row) for row in found] == [
        sorted(row) for row in read_again(plain, sample.fasta)[1]
    ]
    assert [line for line in header if not line.startswith("@SQ")] == aligned_records[:1]


def read_again(path: Path, reference: Path) -> tuple[list[str], list[list[str]]]:
    """Return header and fields of a file, as htslib reads them."""
    with pysam.AlignmentFile(str(path), reference_filename=str(reference)) as file:
        header = str(file.header).splitlines()
        return header, [record.to_string().split("\t") for record in file]


@pytest.mark.parametrize("options", [["-c"], ["--cs"], ["--paf", "--cs=long"]])
def test_paf_by_default(sample: Sample, tmp_path: Path, options: list[str]) -> None:
    """A name without an extension, or of no format."""
    path = tmp_path / ("out.txt" if "--paf" in options else "out")
    assert status_of(sample.fasta, sample.fastq, *options, *ON_CPU, "-o", path) == 0
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert {("cg:Z" in "\t".join(row), "cs:Z" in "\t".join(row)) for row in rows} == {
        ("-c" in options, "-c" not in options)
    }


@pytest.mark.parametrize("options", [(), ("--cs", "-L"), ("--secondary-seq", "--eqx", "-Y")])
def test_bam_is_that_of_samtools(sample: Sample, tmp_path: Path, options: tuple[str, ...]) -> None:
    sam, path, expected = tmp_path / "x.sam", tmp_path / "out.bam", tmp_path / "expected.bam"
    for output in sam, path:
        files = sample.fasta, sample.fastq, "-o", output
        assert status_of(*files, *options, *ON_CPU, "--no-PG") == 0
    pysam.samtools.view("-b", "--no-PG", "-o", str(expected), str(sam), catch_stdout=False)
    assert gzip.decompress(path.read_bytes()) == gzip.decompress(expected.read_bytes())


@pytest.mark.parametrize(
    ("comment", "reason"),
    [
        ("BC:Z:ACGT\tML:B:C,3,255\tXF:f:nan", None),
        ("1:N:0:ACGT", "read 'r1': unrecognized type ':'"),
        ("a comment", "read 'r1': invalid aux tag id"),
    ],
)
def test_comments_in_bam(
    sample: Sample,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    comment: str,
    reason: str | None,
) -> None:
    """With -y they must be tags."""
    reads, path = tmp_path / "reads.fa", tmp_path / "out.bam"
    bases = next(iter(sample.reads.values()))
    reads.write_text(f">r1 {comment}\n{bases}\n")
    status = status_of(sample.fasta, reads, "-y", *ON_CPU, "-o", path)
    if reason is None:
        assert status == 0
        with pysam.AlignmentFile(str(path)) as file:
            assert {record.get_tag("BC") for record in file} == {"ACGT"}
    else:
        assert status == 4
        assert f"{path}: cannot be written as BAM ({reason})" in error_of_command("chain", capsys)
        assert not path.exists()


def test_header_names_the_program_and_the_read_group(sample: Sample, tmp_path: Path) -> None:
    path = tmp_path / "out.bam"
    group = r"@RG\tID:run 1\tSM:sample"
    assert status_of(sample.fasta, sample.fastq, "-a", "-R", group, *ON_CPU, "-o", path) == 0
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        header = file.header.to_dict()
        assert {record.get_tag("RG") for record in file} == {"run 1"}
    assert header["HD"] == {"VN": "1.6", "SO": "unsorted", "GO": "query"}
    assert {row["SN"]: row["LN"] for row in header["SQ"]} == {
        name: len(bases) for name, bases in sample.contigs.items()
    }
    assert header["RG"] == [{"ID": "run 1", "SM": "sample"}]
    (program,) = header["PG"]
    assert (program["ID"], program["VN"]) == ("hapgpu", hapgpu.__version__)
    assert program["CL"].startswith(f"hapgpu chain {sample.fasta}")


def test_several_files(
    sample: Sample, aligned_lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FASTQ, FASTA, standard input and BAM."""
    fasta = tmp_path / "reads.fa.gz"
    fasta.write_bytes(gzip.compress(fasta_text(sample.reads).encode()))
    bam = write_unaligned(sample, tmp_path / "reads.bam", "wb")
    with sample.fastq.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        files = sample.fastq, fasta, "-", bam
        assert lines_of(tmp_path, sample.fasta, *files, "-c") == aligned_lines * 4


@pytest.mark.parametrize("output", [[], ["-o", "-"]])
def test_pipes(sample: Sample, aligned_records: list[str], output: list[str]) -> None:
    options = ("-a", "--MD", "--no-PG", *ON_CPU, *output)
    done = subprocess.run(
        [*COMMAND, str(sample.fasta), "-", *options],
        input=sample.fastq.read_text(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == aligned_records
    assert not done.stderr


def test_a_closed_pipe_ends_it(sample: Sample) -> None:
    many = [str(sample.fastq)] * 40
    command = [*COMMAND, str(sample.fasta), *many, "-a", "--device", "cpu", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.wait(timeout=120) == 141
        assert process.stderr.read() == b""


def test_an_index_has_no_bases(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    assert status_of(sample.index, sample.fastq, "-c", *ON_CPU, "-o", output) == 1
    error = error_of_command("chain", capsys)
    assert f"{sample.index}: looks like the index of hapgpu chain; give FASTA" in error
    assert not output.exists()


def test_the_index_beside_the_reference_is_used(
    sample: Sample, aligned_lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out.paf"
    options = ("-c", "--device", "cpu", "-t", "1", "-o", output)
    assert status_of(sample.fasta, sample.fastq, *options) == 0
    assert capsys.readouterr().err.splitlines() == ["hapgpu chain: device: CPU, 1 thread"]
    assert output.read_text().splitlines() == aligned_lines


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_missing_index_is_built(
    sample: Sample,
    aligned_lines: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    suffix: str,
) -> None:
    fasta = tmp_path / f"reference.fa{suffix}"
    data = sample.fasta.read_bytes()
    fasta.write_bytes(gzip.compress(data) if suffix else data)
    output = tmp_path / "out.paf"
    assert status_of(fasta, sample.fastq, "-c", "--device", "cpu", "-o", output) == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "index" in line]
    (line,) = warnings
    assert f"to keep it, run: hapgpu index --minimizers {fasta}" in line
    assert output.read_text().splitlines() == aligned_lines


@pytest.fixture
def pipe(sample: Sample, tmp_path: Path) -> Iterator[Path]:
    """Path of a pipe through which the reference comes."""
    path = tmp_path / "reference"
    os.mkfifo(path)
    with sample.fasta.open("rb") as source:

        def write() -> None:
            with path.open("wb") as out:
                shutil.copyfileobj(source, out)

        thread = Thread(target=write)
        thread.start()
        yield path
        thread.join()


def test_the_reference_may_be_a_pipe(
    sample: Sample, aligned_lines: list[str], pipe: Path, tmp_path: Path
) -> None:
    assert lines_of(tmp_path, pipe, sample.fastq, "-c") == aligned_lines


def test_cram_needs_a_reference_to_read_again(
    sample: Sample, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "reference"
    os.mkfifo(path)
    assert status_of(path, sample.fastq, *ON_CPU, "-o", tmp_path / "out.cram") == 2
    assert f"{path}: is a pipe, but CRAM needs" in error_of_command("chain", capsys)
    assert [*tmp_path.iterdir()] == [path]

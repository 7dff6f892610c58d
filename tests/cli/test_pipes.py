"""References, haplotypes, regions and batches are read from a pipe as from a file."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.in_process import error_of_command, status_of_command

REFERENCE = ">one\n" + "ACGTTTGACAACGGATTACATTCCGAGT" * 40 + "\n"
READS = "@r1\nACGTTTGACAACGGATTACA\n+\nIIIIIIIIIIIIIIIIIIII\n"
SAM = (
    "@SQ\tSN:one\tLN:1120\nr1\t0\tone\t1\t60\t20M\t*\t0\t0\tACGTTTGACAACGGATTACA\t"
    + "I" * 20
    + "\n"
)
BATCHES = "1 1\nACGT IIII IIII IIII ++++\nACGTA\n"
FILES = {
    "ref.fa": REFERENCE,
    "r.fq": READS,
    "r.sam": SAM,
    "h.fa": ">h one:1-28\n" + REFERENCE[5:33] + "\n",
    "x.bed": "one\t0\t100\n",
    "b.in": BATCHES,
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@contextmanager
def piped(path: Path) -> Iterator[str]:
    """Yield a path at which a file is read through a pipe, as with `<(cat FILE)`."""
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "wb") as stream:
            stream.write(path.read_bytes())

    with ThreadPoolExecutor(1) as pool:
        pool.submit(feed)
        try:
            yield f"/dev/fd/{reading}"
        finally:
            os.close(reading)


@pytest.mark.parametrize(
    ("command", "piped_file"),
    [
        ("map ref.fa r.fq -o OUT --no-PG", "ref.fa"),
        ("map ref.fa r.fq -o OUT --no-PG", "r.fq"),
        ("chain ref.fa r.fq -o OUT", "ref.fa"),
        ("index ref.fa -o OUT", "ref.fa"),
        ("index --minimizers ref.fa -o OUT", "ref.fa"),
        ("realign r.sam h.fa -o OUT --no-PG", "h.fa"),
        ("realign r.sam h.fa -L x.bed -o OUT --no-PG", "x.bed"),
        ("pairhmm r.sam h.fa -o OUT", "h.fa"),
        ("pairhmm r.sam h.fa -L x.bed -o OUT", "x.bed"),
        ("pairhmm --batches b.in -o OUT", "b.in"),
    ],
)
def test_inputs_from_a_pipe(directory: Path, command: str, piped_file: str) -> None:
    results = []
    for source in (directory / piped_file, None):
        words = [
            str(directory / word) if word in FILES and word != piped_file else word
            for word in command.split()
        ]
        out = directory / "out"
        out.unlink(missing_ok=True)
        device = [] if "--minimizers" in words or "index" in words else ["--device", "cpu"]
        with piped(directory / piped_file) as pipe:
            given = str(source or pipe)
            words = [{"OUT": str(out), piped_file: given}.get(word, word) for word in words]
            if source is not None:
                (directory / piped_file).read_bytes()
            assert status_of_command(*words, *device, "-q") == 0
        results.append(out.read_bytes())
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("command", "formats"),
    [
        ("call PIPE ref.fa", "BAM, CRAM or SAM"),
        ("pairhmm PIPE h.fa", "BAM, CRAM or SAM"),
        ("realign PIPE h.fa", "BAM, CRAM, SAM or FASTQ"),
    ],
)
def test_reads_of_another_kind_from_a_pipe(
    directory: Path, capsys: pytest.CaptureFixture[str], command: str, formats: str
) -> None:
    (directory / "ref.fa.fai").write_text("one\t1120\t5\t1120\t1121\n")
    name, *words = command.split()
    with piped(directory / "ref.fa") as pipe:
        files = [pipe if word == "PIPE" else directory / word for word in words]
        assert status_of_command(name, *files, "--device", "cpu", "-q") == 1
    error = error_of_command(name, capsys)
    assert error.endswith(f"looks like FASTA; give {formats}")


def test_a_reference_that_is_read_by_region_is_a_file(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with piped(directory / "ref.fa") as pipe:
        assert status_of_command("haplotypes", pipe, directory / "none.vcf", "-q") == 1
    error = error_of_command("haplotypes", capsys)
    assert "a pipe cannot be read by region; give a file" in error


def test_a_piped_reference_may_be_compressed(directory: Path) -> None:
    packed = directory / "ref.fa.gz"
    packed.write_bytes(gzip.compress(REFERENCE.encode()))
    with piped(packed) as pipe:
        assert status_of_command("index", pipe, "-o", directory / "x.hgx", "-q") == 0


def test_an_index_of_a_pipe_needs_a_name(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with piped(directory / "ref.fa") as pipe:
        assert status_of_command("index", pipe, "-q") == 2
    assert "is a pipe, beside which no index can be written" in error_of_command("index", capsys)

"""Runs of `hapgpu realign`, in this process or another one, and their output."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pysam

from tests.cli.in_process import status_of_command
from tests.realign.realign_oracle import Haplotype, Record, record_of

EXAMPLE_SCRIPT = Path(__file__).resolve().parents[3] / "examples" / "make_example.py"
COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "realign"]


def make_example(directory: Path) -> Path:
    """Write the files of the example, each index after its file."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in _example().items():
        (directory / name).write_bytes(content)
    return directory


@cache
def _example() -> dict[str, bytes]:
    """Make the files, the same on every run; return them in the order of their times."""
    with TemporaryDirectory() as directory:
        subprocess.run([sys.executable, str(EXAMPLE_SCRIPT), directory], check=True)
        files = sorted(Path(directory).iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return {path.name: path.read_bytes() for path in files}


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("realign", *arguments)


def realign(*arguments: str | Path, device: str = "cpu") -> None:
    assert status_of(*arguments, "-q", "--device", device) == 0


def sam_of(directory: Path, *arguments: str | Path, threads: int = 2) -> list[str]:
    """Realign to SAM text without @PG; return its lines."""
    path = directory / "out.sam"
    path.unlink(missing_ok=True)
    realign(*arguments, "-t", str(threads), "--no-PG", "-o", path)
    return path.read_text().splitlines()


def body(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.startswith("@")]


def records(lines: Sequence[str]) -> list[Record]:
    return [record_of(line) for line in body(lines)]


def lines_of(path: Path) -> list[str]:
    """Return the records of a file as lines of SAM."""
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return [record.to_string() for record in file.fetch(until_eof=True)]


def header_of(path: Path) -> str:
    with pysam.AlignmentFile(str(path), check_sq=False) as file:
        return str(file.header)


def key(record: Record) -> tuple[str, int]:
    """Return the key of a read: its name and mate number."""
    return record.columns[0], int(record.columns[1]) & 0xC0


def haplotypes_of(path: Path) -> list[Haplotype]:
    """Read haplotypes under headers such as `>name chr20:101-500`, or without loci."""
    found = []
    with pysam.FastxFile(str(path)) as fasta:
        for entry in fasta:
            locus = None
            if ":" in (entry.comment or ""):
                contig, _, interval = entry.comment.partition(":")
                first, last = map(int, interval.split("-"))
                locus = (contig, first - 1, last)
            found.append(Haplotype(entry.name, entry.sequence, locus))
    return found


def with_mismatches_of_samtools(directory: Path, path: Path, fasta: Path) -> list[str]:
    """Return the lines of a SAM file with NM and MD as `samtools calmd` computes them."""
    text = pysam.samtools.calmd("--no-PG", "-Q", str(path), str(fasta))
    out = directory / "calmd.sam"
    out.write_text(text)
    return text.splitlines()

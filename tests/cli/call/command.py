"""Runs of `hapgpu call` in this process, and their records."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import pysam

from tests.cli.in_process import status_of_command
from tests.cli.realign.command import make_example


class Inputs(NamedTuple):
    """Reads and reference of a run."""

    reads: Path
    reference: Path


def make_inputs(directory: Path) -> Inputs:
    """Make the example, its reads also as SAM and CRAM."""
    make_example(directory)
    bam, fasta = str(directory / "reads.bam"), str(directory / "reference.fa")
    pysam.view("-h", "--no-PG", "-o", str(directory / "reads.sam"), bam, catch_stdout=False)
    cram = str(directory / "reads.cram")
    pysam.view("-C", "-T", fasta, "--no-PG", "-o", cram, bam, catch_stdout=False)
    pysam.index(cram)
    return Inputs(Path(bam), Path(fasta))


def status_of(*arguments: str | Path, threads: int = 2) -> int:
    """Run the command in this process, by default on the CPU; return its exit status."""
    return status_of_command("call", "--device", "cpu", "-t", str(threads), *arguments)


def text_of(path: Path) -> str:
    """Return the text of an output, which may be compressed, without the command that wrote it."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode()
    lines = (line for line in text.splitlines() if not line.startswith("##hapgpu_callCommand"))
    return "\n".join(lines)


def called(directory: Path, *arguments: str | Path, threads: int = 2) -> str:
    """Run the command; return the text of its output."""
    path = directory / "called.vcf"
    assert status_of(*arguments, "-q", "-o", path, threads=threads) == 0
    return text_of(path)


def records_in(text: str) -> list[list[str]]:
    """Return the columns of the records of an output."""
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


def summary_of(text: str) -> list[str]:
    """Return position, REF, ALT and the genotypes of each record."""
    return [
        " ".join([row[1], row[3], row[4], *(sample.split(":")[0] for sample in row[9:])])
        for row in records_in(text)
    ]

"""Runs of `hapgpu pairhmm` in this process, and their tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from tests.cli.in_process import status_of_command

COMMAND = [sys.executable, "-c", "from hapgpu.cli.app import main; main()", "pairhmm"]
HEADER = "read\tmate\tlocus\thaplotype\tlog10_likelihood"


class Row(NamedTuple):
    """A line of the table."""

    read: str
    mate: int
    locus: str
    haplotype: str
    likelihood: float

    @property
    def key(self) -> tuple[str, int, str, str]:
        return self[:4]


def status_of(*arguments: str | Path) -> int:
    """Run the command in this process; return its exit status."""
    return status_of_command("pairhmm", *arguments)


def lines_of(directory: Path, *arguments: str | Path, threads: int = 2) -> list[str]:
    """Run the command on the CPU; return the lines of its output."""
    path = directory / "out.tsv"
    path.unlink(missing_ok=True)
    resources = ("-q", "--device", "cpu", "-t", str(threads))
    assert status_of(*arguments, *resources, "-o", path) == 0
    return path.read_text().splitlines()


def rows_of(directory: Path, *arguments: str | Path, threads: int = 2) -> list[Row]:
    """Run the command on aligned reads; return the rows of its table."""
    header, *lines = lines_of(directory, *arguments, threads=threads)
    assert header == HEADER
    fields = [line.split("\t") for line in lines]
    return [Row(f[0], int(f[1]), f[2], f[3], float(f[4])) for f in fields]

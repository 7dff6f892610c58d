"""Memory of `hapgpu chain -a` for very long reads, and for reads with stretches of other bases."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.cli.chain.command import COMMAND, fasta_text, letters, with_errors

MEGABYTE: Final = 1 << 20
CONTIG_BASES: Final = 1_500_000
LONG_READ_BASES: Final = 1_000_000
FOREIGN_BASES, FLANK_BASES = 9000, 4000
"""Lengths of a stretch of other bases, and of the bases between two of them."""
LONG_READ_MEMORY: Final = 250 * MEGABYTE
"""A long read may take this much above the memory of a run with a short read."""
CELLS: Final = FOREIGN_BASES**2
"""A stretch is aligned in a matrix of this size: a byte each, held once, and other memory."""
MEASURE: Final = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Runs a command from a small process: a new process counts the memory of the one it comes from."""

pytestmark = pytest.mark.exhaustive


@dataclass(frozen=True)
class Files:
    """A reference, and reads of several kinds."""

    reference: Path
    short: Path
    long: Path
    foreign: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Write the files, and run once, so that all functions are compiled."""
    random, directory = Random(4), tmp_path_factory.mktemp("memory")  # noqa: S311  (no secrets)
    contig = letters(random, CONTIG_BASES)
    stretches = [
        contig[k : k + FLANK_BASES] + letters(random, FOREIGN_BASES)
        for k in range(0, 8 * (FLANK_BASES + FOREIGN_BASES), FLANK_BASES + FOREIGN_BASES)
    ]
    texts = {
        "reference": contig,
        "short": contig[:5000],
        "long": with_errors(random, contig[:LONG_READ_BASES]),
        "foreign": "".join(stretches) + contig[CONTIG_BASES - FLANK_BASES :],
    }
    paths = {name: directory / f"{name}.fa" for name in texts}
    for name, path in paths.items():
        path.write_text(fasta_text({name: texts[name]}))
    files = Files(**paths)
    for path in (files.long, files.foreign):
        peak_memory(files, path)
    return files


def peak_memory(files: Files, reads: Path, *options: str) -> int:
    """Return the largest resident memory of a run, in bytes."""
    command = [*COMMAND, "-q", "-a", "-x", "map-hifi", "-t", "1", *options]
    output = files.reference.with_suffix(".sam")
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command, "-o", output, files.reference, reads],
        check=True,
        capture_output=True,
    )
    assert output.read_text().count("\tNM:i:") > 0
    return int(measured.stdout) << 10


def test_long_reads(files: Files) -> None:
    assert peak_memory(files, files.long) < peak_memory(files, files.short) + LONG_READ_MEMORY


def test_large_matrices(files: Files) -> None:
    base = peak_memory(files, files.short)
    peak = peak_memory(files, files.foreign)
    assert base + CELLS < peak < base + 3 * CELLS
    assert peak_memory(files, files.foreign, "--cap-sw-mem", "1m") < base + CELLS // 2

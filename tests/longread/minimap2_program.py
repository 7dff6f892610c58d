"""The `minimap2` on PATH, for tests that run it: HAPGPU_TEST_MINIMAP2=1 enables them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MAX_SECONDS: Final = 5
"""Options with which minimap2 takes longer, because of very repetitive k-mers, are skipped."""
MAX_TIES: Final = 0.02
"""Fraction of reads in tandem repeats, in which anchors may have equal priority in the long join;
which of them minimap2 visits depends on the shape of its search tree."""
NEEDS_MINIMAP2: Final = pytest.mark.skipif(
    os.environ.get("HAPGPU_TEST_MINIMAP2") != "1" or shutil.which("minimap2") is None,
    reason="HAPGPU_TEST_MINIMAP2=1 compares with the minimap2 on PATH",
)


def lines_of_minimap2(reference: Path, reads: Path, arguments: Sequence[str]) -> list[bytes] | None:
    """Return the lines without those of the header; None if it takes too long."""
    command = ["minimap2", "-t1", *arguments, str(reference), str(reads)]
    try:
        done = subprocess.run(command, check=True, capture_output=True, timeout=MAX_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return [line for line in done.stdout.splitlines() if not line.startswith(b"@")]


def reads_that_differ(found: list[bytes], expected: list[bytes]) -> set[bytes]:
    """Return the names of reads whose lines or order of lines differ."""
    by_read = []
    for lines in (found, expected):
        of_read: dict[bytes, list[bytes]] = {}
        for line in lines:
            of_read.setdefault(line.partition(b"\t")[0], []).append(line)
        by_read.append(of_read)
    ours, theirs = by_read
    return {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}

"""Peak memory and time of a command line, measured from a small process."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Final

GIBIBYTE: Final = 1 << 30

_COMMAND: Final = [sys.executable, "-c", "from hapgpu.cli.app import main; main()"]

_MEASURE: Final = """
import resource, subprocess, sys, time
start = time.monotonic()
nothing = subprocess.DEVNULL
status = subprocess.run(sys.argv[1:], stdin=nothing, stdout=nothing).returncode
seconds = time.monotonic() - start
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, seconds)
"""
"""A new process counts the memory of the one it comes from, until it runs its program."""


@dataclass(frozen=True)
class Usage:
    """What a run used.

    Attributes
    ----------
    status
        The exit status.
    memory
        The largest resident memory, in bytes; it includes pages of indexes that are mapped.
    seconds
        The time of the run.
    messages
        Standard error.
    """

    status: int
    memory: int
    seconds: float
    messages: str


def measured(*arguments: object) -> Usage:
    """Run hapgpu with these arguments; standard output is discarded."""
    words = [sys.executable, "-c", _MEASURE, *_COMMAND, *map(str, arguments)]
    ended = subprocess.run(words, check=True, capture_output=True, text=True)
    status, kibibytes, seconds = ended.stdout.split()
    return Usage(int(status), int(kibibytes) << 10, float(seconds), ended.stderr)

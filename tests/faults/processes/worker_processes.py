"""Worker processes of runs: runs that fork on small inputs, and slowly; the processes of a run."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from hapgpu.runtime import pipeline
from hapgpu.runtime.processes import desk
from tests.faults.small_batches import make_batches_small

SUBCOMMANDS: Final = ("realign", "pairhmm", "genotype", "call", "map", "chain")
"""Subcommands with `--processes`."""
OPTIONS: Final = ("-t", "4", "--processes", "4")
_DELAY: Final = 0.02
_SIGTERM: Final = 1 << (signal.SIGTERM - 1)


def prepare(subcommand: str) -> None:
    """Prepare this process, so that its run forks and has work for a while."""
    make_batches_small(subcommand)
    pipeline._fill = always
    compute = desk._Desk._compute

    def slow(at: desk._Desk) -> None:
        time.sleep(_DELAY)
        compute(at)

    desk._Desk._compute = slow  # type: ignore[method-assign]


def always(*_: object) -> bool:
    """Tell that there are batches for all workers; replaces a function of the pipeline."""
    return True


def preparation_for(subcommand: str) -> str:
    """Return the statement that prepares another process."""
    return f"from {__name__} import prepare; prepare({subcommand!r})"


def wait_for_workers(process: subprocess.Popen[str]) -> None:
    """Wait until a run has worker processes, or has ended."""
    while process.poll() is None and not workers_of(process.pid):
        time.sleep(0.001)


def workers_of(run: int) -> list[int]:
    """Return the worker processes of a run: they ignore SIGTERM, unlike programs that it starts."""
    return [child for child in _children(run) if _ignored(child) & _SIGTERM]


def _children(run: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{run}/task").glob("*/children"):
        try:
            found += [int(word) for word in task.read_text().split()]
        except OSError:  # the thread has ended
            continue
    return found


def _ignored(process: int) -> int:
    """Return the signals that a process ignores, as bits."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    fields = dict(line.split(":\t", 1) for line in lines)
    return int(fields["SigIgn"], 16)

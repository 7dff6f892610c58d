"""State of a worker, in memory shared with its parent, which can read it after a crash."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import numpy as np

ACCEPTED, REFUSED, FAULTY, SLOWEST, TAKEN = range(5)
"""Columns of a target: numbers of executions, slowest in milliseconds, all in microseconds."""

_NEXT, _STARTED = range(2)
_COLUMNS: Final = 5


class State:
    """Numbers shared through a file.

    Parameters
    ----------
    path
        Of the file.
    targets
        Their number.
    is_new
        Whether to start with zeros.
    """

    def __init__(self, path: Path, targets: int, *, is_new: bool = False) -> None:
        size = 2 + targets * _COLUMNS
        mode = "w+" if is_new else "r+"
        self._values = np.memmap(path, dtype=np.int64, mode=mode, shape=(size,))
        self.counts = self._values[2:].reshape(targets, _COLUMNS)

    @property
    def number(self) -> int:
        """Number of executions started."""
        return int(self._values[_NEXT])

    def start(self) -> None:
        """Record the start of an execution."""
        self._values[_NEXT] += 1
        self._values[_STARTED] = time.monotonic_ns()

    def end(self, target: int, outcome: int) -> None:
        """Record the outcome of an execution."""
        taken = (time.monotonic_ns() - int(self._values[_STARTED])) // 1000
        self._values[_STARTED] = 0
        row = self.counts[target]
        row[outcome] += 1
        row[SLOWEST] = max(row[SLOWEST], taken // 1000)
        row[TAKEN] += taken

    def interrupted(self) -> bool:
        """Return whether an execution was started and not ended; it counts as ended from now on."""
        was_running = bool(self._values[_STARTED])
        self._values[_STARTED] = 0
        return was_running

    def running_seconds(self) -> float:
        """Return for how long an execution has been running, 0 for none."""
        started = int(self._values[_STARTED])
        return (time.monotonic_ns() - started) / 1e9 if started else 0.0

"""Counts and stage times of a run, for JSON output."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Final, TypeVar

from hapgpu.version import __version__

SCHEMA_VERSION: Final = 1

In = TypeVar("In")
Out = TypeVar("Out")


class RunStatistics:
    """Counts and stage times of one run; safe to use from all threads of a pipeline.

    Parameters
    ----------
    command
        The subcommand, such as `realign`.
    command_line
        The program and its arguments.
    devices
        Names of the devices used.
    threads
        The number of CPU threads.
    """

    def __init__(
        self, command: str, command_line: Iterable[str], devices: Iterable[str], threads: int
    ) -> None:
        self._about = {
            "schema_version": SCHEMA_VERSION,
            "tool": "hapgpu",
            "version": __version__,
            "command": command,
            "command_line": list(command_line),
            "devices": list(devices),
            "threads": threads,
        }
        self._counts: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._descriptions: dict[str, dict[str, object]] = {}
        self._lock = Lock()
        self._start = time.perf_counter()

    def count(self, what: str, number: int) -> None:
        """Add a number to a count, such as `reads`."""
        with self._lock:
            self._counts[what] = self._counts.get(what, 0) + number

    @property
    def counts(self) -> dict[str, int]:
        """All counts so far."""
        with self._lock:
            return dict(self._counts)

    @property
    def seconds(self) -> dict[str, float]:
        """The time spent in each stage so far, summed over all threads."""
        with self._lock:
            return dict(self._seconds)

    def describe(self, what: str, description: dict[str, object]) -> None:
        """Store a named table, replacing an earlier one of that name."""
        with self._lock:
            self._descriptions[what] = description

    def timed(self, stage: str, step: Callable[[In], Out]) -> Callable[[In], Out]:
        """Return `step`, with the time of each call added to a stage."""

        def timed_step(value: In) -> Out:
            start = time.perf_counter()
            try:
                return step(value)
            finally:
                self._spend(stage, start)

        return timed_step

    def timed_source(self, stage: str, source: Iterable[Out]) -> Iterator[Out]:
        """Yield the items of `source`, with the time spent in `source` added to a stage."""
        items = iter(source)
        while True:
            start = time.perf_counter()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._spend(stage, start)
            yield item

    def _spend(self, stage: str, start: float) -> None:
        with self._lock:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start

    def as_dict(self) -> dict[str, object]:
        """Return everything so far; `seconds` has each stage, and `total`, the wall time.

        Stages run at the same time: their sum may exceed the total.
        """
        with self._lock:
            seconds = {**self._seconds, "total": time.perf_counter() - self._start}
            rounded = {stage: round(spent, 6) for stage, spent in seconds.items()}
            counts = dict(self._counts)
            return {**self._about, "counts": counts, **self._descriptions, "seconds": rounded}

"""Counts and stage times of a run, as `--json` writes them (docs/json.md)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Lock, get_ident
from typing import Any, Final, ParamSpec, Protocol, TypeAlias, TypeVar

from hapgpu.version import __version__

SCHEMA_VERSION: Final = 2
TOTAL: Final = "total"
"""Key of the wall time among the stages."""
COMPILE: Final = "compile"
"""The stage that compiles before the others start; no rate has its time."""

Arguments = ParamSpec("Arguments")
Out = TypeVar("Out")


_Drained: TypeAlias = tuple[dict[str, int], dict[str, float], dict[str, set[tuple[int, int]]]]
"""Counts, seconds and threads by name."""


class Timed(Protocol):
    """Function that gives a step of a stage, timed or as it is; `RunStatistics.timed` is one."""

    def __call__(self, stage: str, step: Callable[Arguments, Out], /) -> Callable[Arguments, Out]:
        """Return a function that does the step, for a stage."""
        ...


def untimed(_stage: str, step: Callable[Arguments, Out], /) -> Callable[Arguments, Out]:
    """Return the step as it is."""
    return step


def working_seconds(statistics: Mapping[str, Any]) -> float:
    """Return the wall time of a run without compiling, above 0: the time of its rates.

    `statistics` are as `--json` writes them.
    """
    seconds = statistics["seconds"]
    return max(float(seconds[TOTAL] - seconds.get(COMPILE, 0.0)), 1e-9)


def busy_fractions(statistics: Mapping[str, Any]) -> dict[str, float]:
    """Return the fraction of a run, 0 to 1, for which the threads of each stage were busy.

    A stage that is always busy bounds the run; compiling is none. `statistics` are as `--json`
    writes them.
    """
    seconds = {k: v for k, v in statistics["seconds"].items() if k not in {TOTAL, COMPILE}}
    total = working_seconds(statistics)
    threads = statistics["stage_threads"]
    return {stage: spent / (threads[stage] * total) for stage, spent in seconds.items()}


class RunStatistics:
    """Counts and stage times of one run; safe to use from all threads of a pipeline.

    Parameters
    ----------
    command
        The subcommand, such as `realign`.
    command_line
        The arguments of the process, its own name included.
    devices
        Names of the devices that compute.
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
        self._threads: dict[str, set[tuple[int, int]]] = {}  # process and thread
        self._tables: dict[str, dict[str, object]] = {}
        self._lock = Lock()
        self._start = time.perf_counter()

    def count(self, name: str, number: int) -> None:
        """Add a number to a count, such as `reads`."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + number

    def add(self, counts: Mapping[str, int]) -> None:
        """Add numbers to counts by name."""
        with self._lock:
            for name, number in counts.items():
                self._counts[name] = self._counts.get(name, 0) + number

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

    def describe(self, name: str, table: dict[str, object]) -> None:
        """Store a named table, replacing an earlier one."""
        with self._lock:
            self._tables[name] = table

    def timed(self, stage: str, step: Callable[Arguments, Out], /) -> Callable[Arguments, Out]:
        """Return `step`, adding the time spent in each call to a stage."""

        def timed_step(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Out:
            start = time.perf_counter()
            try:
                return step(*args, **kwargs)
            finally:
                self._add_time(stage, start)

        return timed_step

    def timed_source(self, stage: str, source: Iterable[Out]) -> Iterator[Out]:
        """Yield the items of `source`, adding the time spent in it to a stage."""
        items = iter(source)
        while True:
            start = time.perf_counter()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                self._add_time(stage, start)
            yield item

    def _add_time(self, stage: str, start: float) -> None:
        with self._lock:
            self._seconds[stage] = self._seconds.get(stage, 0.0) + time.perf_counter() - start
            self._threads.setdefault(stage, set()).add((os.getpid(), get_ident()))

    def drain(self) -> _Drained:
        """Return the counts and times since the last call, and start again from 0."""
        with self._lock:
            drained = self._counts, self._seconds, self._threads
            self._counts, self._seconds, self._threads = {}, {}, {}
            return drained

    def absorb(self, drained: _Drained) -> None:
        """Add the counts and times of another process."""
        counts, seconds, threads = drained
        self.add(counts)
        with self._lock:
            for stage, spent in seconds.items():
                self._seconds[stage] = self._seconds.get(stage, 0.0) + spent
                self._threads.setdefault(stage, set()).update(threads[stage])

    def as_dict(self) -> dict[str, object]:
        """Return all statistics so far; `seconds` holds each stage and `total`, the wall time.

        Stages run at the same time: their sum may exceed the total. `stage_threads` holds the
        number of threads that worked at each stage.
        """
        with self._lock:
            seconds = {**self._seconds, TOTAL: time.perf_counter() - self._start}
            rounded = {stage: round(spent, 6) for stage, spent in seconds.items()}
            counts = dict(self._counts)
            threads = {stage: len(workers) for stage, workers in self._threads.items()}
            times = {"seconds": rounded, "stage_threads": threads}
            return {**self._about, "counts": counts, **self._tables, **times}

"""Measurements of `hapgpu bench`: their form, devices to measure, timing, and the one under way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, TypeVar, overload

from hapgpu.benchmark.whole_runs import WHOLE_RUN, WholeRun
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.runtime.progress import NoProgress, Progress

CPU_REPEATS: Final = 3
GPU_REPEATS: Final = 9

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One line of a benchmark.

    Attributes
    ----------
    device, task, data
        Names of the device, of the task and of the data.
    unit
        What the rate counts: the name of one of `numbers`.
    numbers
        Counts and fractions by name, as in `--json`; None: not measured.
    seconds
        Time for all units.
    bound, busy
        Of a whole run, those of `WholeRun`; else None.
    share
        Of a whole run, its rate as a fraction of the best rate without files; else None.
    of_a_thread
        Whether the seconds are summed over threads.
    """

    device: str
    task: str
    data: str
    unit: str
    numbers: Mapping[str, float | None]
    seconds: float
    bound: str | None = None
    busy: float | None = None
    share: float | None = None
    of_a_thread: bool = False

    @property
    def is_whole_run(self) -> bool:
        """Whether this is a command or a method, from its files to its output."""
        return self.task.startswith(WHOLE_RUN)

    @property
    def count(self) -> float:
        """Number of units."""
        return self.numbers[self.unit] or 0

    @property
    def rate(self) -> float:
        """Units per second."""
        return self.count / self.seconds

    def value(self, name: str) -> str | float | None:
        """Return a number or another attribute by its name in `--json`."""
        found: str | float | None
        found = self.numbers[name] if name in self.numbers else getattr(self, name)
        return found

    def of_run(self, run: WholeRun) -> Measurement:
        """Return this measurement with the time and the bound of a whole run."""
        return replace(self, seconds=run.seconds, bound=run.bound, busy=run.busy)

    def compared_with(self, best: Measurement) -> Measurement:
        """Return this measurement with its share of another rate."""
        return replace(self, share=self.rate / best.rate)


@overload
def thread_variants(device: CpuDevice) -> Sequence[CpuDevice]: ...
@overload
def thread_variants(device: Device) -> Sequence[Device]: ...
def thread_variants(device: Device) -> Sequence[Device]:
    """Return a GPU; of a CPU, the device with one thread and, if it has more, with all."""
    if isinstance(device, CpuDevice):
        return [CpuDevice(threads) for threads in sorted({1, device.threads})]
    return [device]


def doubling_counts(most: int) -> list[int]:
    """Return the powers of two below a number of threads or GPUs, and the number."""
    return [*(1 << k for k in range((most - 1).bit_length())), most]


def repeats_on(device: Device) -> int:
    """Return how many runs to time on a device."""
    return CPU_REPEATS if isinstance(device, CpuDevice) else GPU_REPEATS


def timed(run: Callable[[], _Result], repeats: int) -> tuple[_Result, float]:
    """Return the result of the last of several runs, at least one, and their median seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
    return result, median(seconds)


def timed_blocks(
    do: Callable[[_Work], _Result], blocks: Sequence[_Work], threads: int
) -> tuple[list[_Result], float]:
    """Process all blocks, at least one, in threads; return the results and the median seconds."""
    do(blocks[0])  # compiles
    with ThreadPoolExecutor(threads) as pool:
        return timed(lambda: list(pool.map(do, blocks)), CPU_REPEATS)


@dataclass(slots=True)
class _Shown:
    """Who shows the progress of the benchmark, and how many measurements it has."""

    progress: Progress
    planned: int = 0


_shown: Final = _Shown(NoProgress())
"""Of the one benchmark in a process."""


@contextmanager
def shown_by(progress: Progress) -> Iterator[None]:
    """Show measurements within the context, of one benchmark at a time."""
    _shown.progress, _shown.planned = progress, 0
    progress.start(None)
    try:
        yield
    finally:
        progress.finish()
        _shown.progress = NoProgress()


def plan(measurements: int) -> None:
    """Note how many measurements a device is going to get."""
    _shown.planned += measurements


def measuring(what: str) -> None:
    """Note what is measured from now on."""
    _shown.progress.phase(what, None, _shown.planned)

"""Measurements of the chaining benchmarks, devices to measure, and the timing of blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from hapgpu.runtime.devices import CpuDevice, Device

REPEATS: Final = 3

_Work = TypeVar("_Work")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the benchmark: `count` units, named `unit`, took `seconds`.

    `bound` and `busy` are those of a whole run, see `WholeRun`; `share` is its rate as a fraction
    of the rate from text in memory to lines in memory.
    """

    device: str
    task: str
    data: str
    unit: str
    count: int
    seconds: float
    bound: str | None = None
    busy: float | None = None
    share: float | None = None

    @property
    def per_second(self) -> float:
        """Units per second."""
        return self.count / self.seconds


def thread_variants(device: Device) -> list[Device]:
    """Return a GPU; of a CPU, the device with one thread and, if it has more, with all."""
    if isinstance(device, CpuDevice):
        return [CpuDevice(threads) for threads in sorted({1, device.threads})]
    return [device]


def median_seconds(do: Callable[[_Work], object], blocks: Sequence[_Work], threads: int) -> float:
    """Process all blocks, at least one, in threads; return the median time of several runs."""
    do(blocks[0])  # compiles
    seconds = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(REPEATS):
            start = time.perf_counter()
            for _ in pool.map(do, blocks):
                pass
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))

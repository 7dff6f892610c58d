"""Time in which a GPU runs kernels of hapgpu, whichever threads and streams launch them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.launch import around_launches

_MILLISECOND: Final = 1e-3


class KernelClock:
    """Clock of the kernels that are launched within its context `running`, in this process.

    A kernel counts from its launch on, when the work before it on its stream is done: so it also
    counts while it waits for kernels on other streams, of which each moment counts once. Copies
    and kernels of CuPy do not count.

    Parameters
    ----------
    device
        The only GPU that kernels are launched on.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._events: list[tuple[cupy.cuda.Event, cupy.cuda.Event]] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the kernels that are launched within the context."""
        with around_launches(self._launch):
            yield

    def seconds(self) -> float:
        """Wait for the kernels; return the seconds in which at least one ran."""
        if not self._events:
            return 0.0
        elapsed = cupy.cuda.get_elapsed_time
        first = self._events[0][0]
        with cupy.cuda.Device(self._device.index) as device:
            device.synchronize()
            times = [[elapsed(first, event) for event in pair] for pair in self._events]
        starts, ends = _MILLISECOND * np.array(times, dtype=np.float64).T
        return covered_seconds(starts, ends)

    @contextmanager
    def _launch(self) -> Iterator[None]:
        stream = cupy.cuda.get_current_stream()
        start = stream.record(cupy.cuda.Event())
        yield
        self._events.append((start, stream.record(cupy.cuda.Event())))


def covered_seconds(starts: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the seconds in which at least one of several intervals lies.

    Parameters
    ----------
    starts, ends
        float64[n], seconds, in any order; n is at least 1, and no end is before its start.
    """
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]
    last_ends = np.maximum.accumulate(np.append(starts[0], ends))[:-1]
    return float(np.maximum(ends - np.maximum(starts, last_ends), 0.0).sum())

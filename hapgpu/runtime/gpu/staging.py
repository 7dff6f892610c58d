"""Copies of several arrays to a GPU at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu_array import GpuArray

_ALIGNMENT: Final = 256
_thread: Final = threading.local()


class Staging:
    """Pinned memory that gathers arrays for one copy to a GPU."""

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._copied: cupy.cuda.Event | None = None

    def upload(
        self, arrays: Sequence[NDArray[np.generic]], stream: cupy.cuda.Stream
    ) -> list[GpuArray]:
        """Copy arrays to the current GPU; the copy may still run on `stream` at the return.

        The arrays may change afterwards.
        """
        starts = [0, *accumulate(-(-array.nbytes // _ALIGNMENT) * _ALIGNMENT for array in arrays)]
        memory = self._free_memory(starts[-1])
        on_gpu = cupy.empty(starts[-1], dtype=np.uint8)
        for array, start in zip(arrays, starts, strict=False):
            np.copyto(memory[start : start + array.nbytes].view(array.dtype), array)
        on_gpu.set(memory, stream=stream)
        self._copied = stream.record()
        return [
            cupy.ndarray(array.shape, array.dtype, on_gpu.data + start)
            for array, start in zip(arrays, starts, strict=False)
        ]

    def _free_memory(self, size: int) -> NDArray[np.uint8]:
        """Return the memory, uint8[size], after the previous copy from it has ended."""
        if self._copied is not None:
            self._copied.synchronize()
        # Pinning takes long: some more than needed, to pin less often.
        if self._memory.size < size:
            self._memory = pinned_array(size + size // 4, np.uint8)
        return self._memory[:size]


def thread_staging(number: int) -> Staging:
    """Return the calling thread's staging memory of this number, the same at each call."""
    own: dict[int, Staging] = _thread.__dict__.setdefault("staging", {})
    return own.setdefault(number, Staging())

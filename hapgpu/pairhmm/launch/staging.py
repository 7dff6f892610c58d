"""Copies of arrays to a GPU; small arrays share one copy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.gpu.context import pinned_array

_ALIGNMENT = 256
_INDEX = np.dtype(np.int32)
_LARGE_BYTES = 1 << 20  # large enough for a copy of its own
_thread = threading.local()


class Staging:
    """Pinned memory that gathers small arrays for one copy to a device."""

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._copied: Any = None

    def upload(
        self, columns: Sequence[NDArray[Any]], indices: Sequence[NDArray[Any]], stream: Any
    ) -> list[Any]:
        """Copy arrays to the current device: columns as they are, indices as int32.

        Copies may still run on `stream` when this returns: until they have ended, large columns
        in pinned memory must not change. Other arrays may change.
        """
        small = [(column, column.dtype) for column in columns if column.nbytes < _LARGE_BYTES]
        copies = iter(self._copy_together(small + [(index, _INDEX) for index in indices], stream))
        on_device = [
            next(copies) if column.nbytes < _LARGE_BYTES else _copy(column, stream)
            for column in columns
        ]
        return [*on_device, *copies]

    def _copy_together(
        self, arrays: Sequence[tuple[NDArray[Any], np.dtype[Any]]], stream: Any
    ) -> list[Any]:
        sizes = [array.size * dtype.itemsize for array, dtype in arrays]
        starts = [0, *accumulate(-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes)]
        memory = self._free_memory(starts[-1])
        on_device = cupy.empty(starts[-1], dtype=np.uint8)
        for (array, dtype), size, start in zip(arrays, sizes, starts, strict=False):
            np.copyto(memory[start : start + size].view(dtype), array, casting="unsafe")
        on_device.set(memory, stream=stream)
        self._copied = stream.record()
        return [
            cupy.ndarray(array.shape, dtype, on_device.data + start)
            for (array, dtype), start in zip(arrays, starts, strict=False)
        ]

    def _free_memory(self, size: int) -> NDArray[np.uint8]:
        """Return the memory, uint8[size], after the previous copy from it has ended."""
        if self._copied is not None:
            self._copied.synchronize()
        # Pinning takes long: some more than needed, to pin less often.
        if self._memory.size < size:
            self._memory = pinned_array(size + size // 4, np.uint8)
        return self._memory[:size]


def _copy(array: NDArray[Any], stream: Any) -> Any:
    on_device = cupy.empty(array.shape, array.dtype)
    on_device.set(array, stream=stream)
    return on_device


def thread_staging(number: int) -> Staging:
    """Return the calling thread's staging memory of this number, the same at each call."""
    own: dict[int, Staging] = _thread.__dict__.setdefault("staging", {})
    return own.setdefault(number, Staging())

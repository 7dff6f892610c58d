"""Arrays sent to a GPU, small ones together."""

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
_LARGE_BYTES = 1 << 20  # worth a transfer of its own
_thread = threading.local()


class Staging:
    """Pinned memory through which small arrays go to a device together."""

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._sent: Any = None

    def upload(
        self, columns: Sequence[NDArray[Any]], indices: Sequence[NDArray[Any]], stream: Any
    ) -> list[Any]:
        """Copy arrays to the current device: columns as they are, indices as int32.

        Copies may still be under way on `stream` when this returns: until they have ended, large
        columns in pinned memory must not change. All others may.
        """
        small = [(column, column.dtype) for column in columns if column.nbytes < _LARGE_BYTES]
        together = iter(self._send_together(small + [(index, _INDEX) for index in indices], stream))
        sent = [
            next(together) if column.nbytes < _LARGE_BYTES else _send(column, stream)
            for column in columns
        ]
        return [*sent, *together]

    def _send_together(
        self, arrays: Sequence[tuple[NDArray[Any], np.dtype[Any]]], stream: Any
    ) -> list[Any]:
        sizes = [array.size * dtype.itemsize for array, dtype in arrays]
        starts = [0, *accumulate(-(-size // _ALIGNMENT) * _ALIGNMENT for size in sizes)]
        memory = self._room(starts[-1])
        on_device = cupy.empty(starts[-1], dtype=np.uint8)
        for (array, dtype), size, start in zip(arrays, sizes, starts, strict=False):
            np.copyto(memory[start : start + size].view(dtype), array, casting="unsafe")
        on_device.set(memory, stream=stream)
        self._sent = stream.record()
        return [
            cupy.ndarray(array.shape, dtype, on_device.data + start)
            for (array, dtype), start in zip(arrays, starts, strict=False)
        ]

    def _room(self, size: int) -> NDArray[np.uint8]:
        """Return the memory once the last arrays have left it; pinning more of it takes long."""
        if self._sent is not None:
            self._sent.synchronize()
        if self._memory.size < size:
            self._memory = pinned_array(size + size // 4, np.uint8)
        return self._memory[:size]


def _send(array: NDArray[Any], stream: Any) -> Any:
    on_device = cupy.empty(array.shape, array.dtype)
    on_device.set(array, stream=stream)
    return on_device


def thread_staging(number: int) -> Staging:
    """Return one of the calling thread's own, the same at each call."""
    own: dict[int, Staging] = _thread.__dict__.setdefault("staging", {})
    return own.setdefault(number, Staging())

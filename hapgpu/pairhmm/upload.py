"""Many arrays sent to a GPU in one go, through memory that the GPU can read by itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 256
_thread = threading.local()


def staging(name: str, size: int) -> NDArray[np.uint8]:
    """Return pinned memory of the calling thread, uint8[size], the same at each call.

    It is kept, and grows: pinning memory takes longer than filling it.
    """
    buffers: dict[str, NDArray[np.uint8]] = _thread.__dict__.setdefault("buffers", {})
    if name not in buffers or buffers[name].size < size:
        pinned = cupy.cuda.alloc_pinned_memory(size + size // 4)
        buffers[name] = np.frombuffer(pinned, dtype=np.uint8)
    return buffers[name][:size]


def upload(arrays: Sequence[NDArray[Any]], stream: Any) -> list[Any]:
    """Copy arrays to the current device, end to end in one transfer.

    The copy is under way on `stream` when this returns; the arrays may be changed, but no other
    upload of this thread may begin before the copy has ended.
    """
    starts, end = [], 0
    for array in arrays:
        starts.append(end)
        end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    staged = staging("upload", end)
    for array, start in zip(arrays, starts, strict=True):
        staged[start : start + array.nbytes].view(array.dtype)[:] = array
    memory = cupy.empty(end, dtype=np.uint8)
    memory.set(staged, stream=stream)
    return [
        memory[start : start + array.nbytes].view(array.dtype)
        for array, start in zip(arrays, starts, strict=True)
    ]

"""Memory that the GPU reads and writes by itself, and arrays sent to it in one go."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

_ALIGNMENT = 256
_COPIERS = 4
_COPY_BYTES = 1 << 20  # copied at a time; less is not worth another thread
_thread = threading.local()


def pinned_array(size: int, dtype: Any) -> NDArray[Any]:
    """Return uninitialised pinned memory, one dimension, which goes back to CuPy's pool."""
    memory = cupy.cuda.alloc_pinned_memory(max(size * np.dtype(dtype).itemsize, 1))
    return np.frombuffer(memory, dtype=dtype, count=size)


def upload(arrays: Sequence[NDArray[Any]], stream: Any) -> list[Any]:
    """Copy arrays to the current device, end to end in one transfer.

    The copy is under way on `stream` when this returns; the arrays may be changed, but no other
    upload of this thread may begin before the copy has ended.
    """
    starts, end = [], 0
    for array in arrays:
        starts.append(end)
        end += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    staged = _staging(end)
    _copy_all(arrays, [staged[start:] for start in starts])
    memory = cupy.empty(end, dtype=np.uint8)
    memory.set(staged, stream=stream)
    return [
        cupy.ndarray(array.shape, array.dtype, memory.data + start)
        for array, start in zip(arrays, starts, strict=True)
    ]


def _staging(size: int) -> NDArray[np.uint8]:
    """Pinned memory of the calling thread, kept from call to call: making it takes long."""
    kept: NDArray[np.uint8] | None = getattr(_thread, "staging", None)
    if kept is None or kept.size < size:
        kept = pinned_array(size + size // 4, np.uint8)
        _thread.staging = kept
    return kept[:size]


def _copy_all(arrays: Sequence[NDArray[Any]], targets: Sequence[NDArray[np.uint8]]) -> None:
    """Copy the bytes of arrays, large ones by several threads: one is no match for PCIe."""
    waiting: list[Future[None]] = []
    for array, target in zip(arrays, targets, strict=True):
        source = array.view(np.uint8)
        if source.size <= _COPY_BYTES:
            target[: source.size] = source
            continue
        for first in range(0, source.size, _COPY_BYTES):
            part = source[first : first + _COPY_BYTES]
            waiting.append(_copiers().submit(np.copyto, target[first : first + part.size], part))
    for copy in waiting:
        copy.result()


@functools.cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COPIERS, thread_name_prefix="hapgpu-copy")

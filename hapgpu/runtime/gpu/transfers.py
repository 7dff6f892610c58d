"""Copies of several arrays between host memory and a GPU: few transfers, by pinned memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu.staging import Staging, downloaded, uploaded
from hapgpu.runtime.gpu_array import GpuArray

_LARGE: Final = 1 << 24
"""Bytes of an array that several threads copy."""
_ALIGNMENT: Final = 256
_PINNED: Final = 1  # cudaMemoryTypeHost
_MIN_ASKED: Final = 1 << 16
"""Bytes of an array for which it is worth to ask CUDA whether it is pinned."""
_thread: Final = threading.local()


def uploaded_together(arrays: Sequence[NDArray[Any]]) -> list[GpuArray]:
    """Copy arrays to the current GPU, on the current stream.

    Parameters
    ----------
    arrays
        Any dtype and shape. Pinned arrays must not change before the stream is done;
        others may change after the return.

    Returns
    -------
    The copies, of any dtype, the dtypes of `arrays`, in their order.
    """
    stream = cupy.cuda.get_current_stream()
    copies: dict[int, GpuArray] = {}
    small = []
    contiguous = [np.ascontiguousarray(array) for array in arrays]
    for number, array in enumerate(contiguous):
        if array.nbytes >= _MIN_ASKED and _is_pinned(array):
            copies[number] = cupy.empty(array.shape, dtype=array.dtype)
            copies[number].set(array, stream=stream)
        elif array.nbytes >= _LARGE:
            copies[number] = uploaded(array)
        elif array.size:
            small.append(number)
        else:
            copies[number] = cupy.empty(array.shape, dtype=array.dtype)
    if small:
        staged = _staging().upload([contiguous[number] for number in small], stream)
        copies.update(zip(small, staged, strict=True))
    return [copies[number] for number in range(len(arrays))]


def downloaded_together(arrays: Sequence[GpuArray]) -> list[NDArray[Any]]:
    """Copy arrays from the current GPU, after the work of the current stream.

    Parameters
    ----------
    arrays
        Any dtype, one-dimensional, C-contiguous.

    Returns
    -------
    The copies, of any dtype, the dtypes of `arrays`, in their order.
    """
    copies = [np.empty(array.shape, dtype=array.dtype) for array in arrays]
    if sum(copy.nbytes for copy in copies) > _LARGE:
        for array, copy in zip(arrays, copies, strict=True):
            downloaded(array, copy)
        return copies
    starts = [0, *accumulate(-(-copy.nbytes // _ALIGNMENT) * _ALIGNMENT for copy in copies)]
    memory = pinned_array(starts[-1], np.uint8)
    parts = [
        memory[start : start + copy.nbytes].view(copy.dtype)
        for start, copy in zip(starts, copies, strict=False)
    ]
    stream = cupy.cuda.get_current_stream()
    for array, part in zip(arrays, parts, strict=True):
        if array.size:
            array.get(stream=stream, out=part, blocking=False)
    stream.synchronize()
    for copy, part in zip(copies, parts, strict=True):
        np.copyto(copy, part)
    return copies


def _is_pinned(array: NDArray[Any]) -> bool:
    return bool(cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).type == _PINNED)


def _staging() -> Staging:
    """Return the calling thread's memory for these copies."""
    if not hasattr(_thread, "staging"):
        _thread.staging = Staging()
    return _thread.staging  # type: ignore[no-any-return]

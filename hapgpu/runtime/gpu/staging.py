"""Copies of several arrays to a GPU at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import side_by_side
from hapgpu.runtime.gpu.context import pinned_array
from hapgpu.runtime.gpu_array import GpuArray

_ALIGNMENT: Final = 256
_STAGED_BYTES: Final = 8 << 20
_STAGED_THREADS: Final = 8
_thread: Final = threading.local()


class Staging:
    """Pinned memory that gathers arrays for one copy to a GPU."""

    def __init__(self) -> None:
        self._memory: NDArray[np.uint8] = np.empty(0, dtype=np.uint8)
        self._copied: cupy.cuda.Event | None = None

    def upload(
        self, arrays: Sequence[NDArray[np.generic]], stream: cupy.cuda.Stream
    ) -> list[GpuArray]:
        """Copy `arrays`, of any dtype, to the current GPU; `stream` may still copy at the return.

        The arrays may change afterwards. The copies have any dtype: the dtypes of `arrays`.
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


def uploaded(array: NDArray[Any]) -> GpuArray:
    """Copy an array of any size to the current GPU; it is there at the return.

    A copy from memory that is not pinned runs at a tenth of the rate of the bus: the driver copies
    it in one thread, and one thread reads the pages of a mapped file. Here several do, through
    small pinned memory.

    Parameters
    ----------
    array
        Any dtype and shape, C-contiguous.

    Returns
    -------
    GpuArray
        Any dtype, the dtype and shape of `array`.
    """
    on_gpu = cupy.empty(array.shape, dtype=array.dtype)
    source, target = array.reshape(-1).view(np.uint8), on_gpu.reshape(-1).view(np.uint8)

    def upload(start: int, staged: NDArray[np.uint8], stream: cupy.cuda.Stream) -> None:
        part = source[start : start + _STAGED_BYTES]
        np.copyto(staged[: part.size], part)
        target[start : start + part.size].set(staged[: part.size], stream)

    _staged(source.size, upload)
    return on_gpu


def downloaded(array: GpuArray, out: NDArray[Any]) -> None:
    """Copy an array of any size from the current GPU to host memory, as `uploaded` does.

    Parameters
    ----------
    array
        Any dtype and shape, C-contiguous.
    out
        Any dtype, the dtype and size of `array`, C-contiguous.
    """
    source, target = array.reshape(-1).view(np.uint8), out.reshape(-1).view(np.uint8)

    def download(start: int, staged: NDArray[np.uint8], stream: cupy.cuda.Stream) -> None:
        part = source[start : start + _STAGED_BYTES]
        part.get(stream=stream, out=staged[: part.size], blocking=False)
        stream.synchronize()
        np.copyto(target[start : start + part.size], staged[: part.size])

    _staged(source.size, download)


def _staged(size: int, copy: Callable[[int, NDArray[np.uint8], cupy.cuda.Stream], None]) -> None:
    """Call `copy(start, staged, stream)` for each part of `size` bytes, in several threads.

    `staged` is pinned memory that no copy of this thread's stream uses.
    """
    threads = min(-(-size // _STAGED_BYTES), _STAGED_THREADS)
    device = cupy.cuda.Device().id

    def copy_share(first: int) -> None:
        with cupy.cuda.Device(device), cupy.cuda.Stream(non_blocking=True) as stream:
            staged = [pinned_array(_STAGED_BYTES, np.uint8) for _ in range(2)]
            copied = [stream.record() for _ in staged]
            starts = range(first * _STAGED_BYTES, size, threads * _STAGED_BYTES)
            for number, start in enumerate(starts):
                copied[number % 2].synchronize()
                copy(start, staged[number % 2], stream)
                copied[number % 2] = stream.record()
            stream.synchronize()

    # The memory may be in use by earlier work of this stream.
    cupy.cuda.get_current_stream().synchronize()
    side_by_side(copy_share, range(threads))


def thread_staging(number: int) -> Staging:
    """Return the calling thread's staging memory of this number, the same at each call."""
    own: dict[int, Staging] = _thread.__dict__.setdefault("staging", {})
    return own.setdefault(number, Staging())

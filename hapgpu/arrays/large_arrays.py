"""Large arrays in host memory: single passes by several threads, and memory given back early.

One thread copies more slowly than a GPU takes the bytes.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
from collections.abc import Sequence
from typing import Final

import numpy as np

from hapgpu.arrays.bytes import AnyArray
from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool

_MIN_SHARE: Final = 1 << 19
"""Bytes that are worth a thread."""
_MAX_THREADS: Final = 8

_Copy = tuple[AnyArray, AnyArray]

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def copy_together(copies: Sequence[_Copy]) -> None:
    """Copy to the start of each array of bytes, the first of a pair, all bytes of the second."""
    total = sum(source.size for _, source in copies)
    if total <= _MIN_SHARE:
        _copy_all([(to[: source.size], source) for to, source in copies])
        return
    pool = _pool()
    # A task per thread: each task waits for the interpreter lock.
    size = max(-(-total // pool.threads), _MIN_SHARE)
    shares: list[list[_Copy]] = [[]]
    room = size
    for to, source in copies:
        start = 0
        while start < source.size:
            end = min(start + room, source.size)
            shares[-1].append((to[start:end], source[start:end]))
            room -= end - start
            start = end
            if not room:
                shares.append([])
                room = size
    pool.results([pool.submit(_copy_all, share) for share in shares])


def _copy_all(copies: Sequence[_Copy]) -> None:
    for to, source in copies:
        np.copyto(to, source)


def largest(data: AnyArray) -> int:
    """Return the largest number of `data`, of any dtype and one dimension, not empty."""
    if data.nbytes <= _MIN_SHARE:
        return int(data.max())
    pool = _pool()
    size = max(-(-data.size // pool.threads), _MIN_SHARE // data.itemsize, 1)
    parts = [data[start : start + size] for start in range(0, data.size, size)]
    return max(int(part) for part in pool.results([pool.submit(np.max, part) for part in parts]))


@functools.cache
def _pool() -> Pool:
    return Pool(min(usable_cpus(), _MAX_THREADS))


def give_back(array: AnyArray) -> None:
    """Give the memory of an array back to the system, while others still refer to the array.

    Parameters
    ----------
    array
        Any dtype; contiguous, or a part of such an array, which nothing uses any more: its values
        are lost. Pages that it shares with other memory stay.
    """
    start = -(-array.ctypes.data // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (array.ctypes.data + array.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    if start < end:
        _madvise(start, end - start, mmap.MADV_DONTNEED)

"""Single passes over large arrays in host memory, by several threads.

One thread copies more slowly than a GPU takes the bytes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.devices import usable_cpus
from hapgpu.runtime.pool import Pool

_CHUNK_BYTES: Final = 1 << 19
_CHUNKS_PER_THREAD: Final = 2
_SCANNED_BYTES: Final = 1 << 22
_MAX_THREADS: Final = 8


def copy_together(copies: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
    """Copy to the start of each array of bytes, the first of a pair, all bytes of the second."""
    total = sum(source.size for _, source in copies)
    if total <= _CHUNK_BYTES:
        for to, source in copies:
            to[: source.size] = source
        return
    pool = _pool()
    # Few tasks: each of them waits for the interpreter lock, twice.
    size = max(total // (_CHUNKS_PER_THREAD * pool.threads), _CHUNK_BYTES)
    chunks = [
        (to[start : min(start + size, source.size)], source[start : start + size])
        for to, source in copies
        for start in range(0, source.size, size)
    ]
    pool.results([pool.submit(np.copyto, to, source) for to, source in chunks])


def largest(data: NDArray[Any]) -> int:
    """Return the largest of the numbers in an array of one dimension, not empty."""
    if data.nbytes <= _SCANNED_BYTES:
        return int(data.max())
    pool = _pool()
    chunk = max(_SCANNED_BYTES // data.itemsize, 1)
    parts = [data[start : start + chunk] for start in range(0, data.size, chunk)]
    return max(int(part) for part in pool.results([pool.submit(np.max, part) for part in parts]))


@functools.cache
def _pool() -> Pool:
    return Pool(min(usable_cpus(), _MAX_THREADS))

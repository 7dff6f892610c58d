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

_CHUNK_BYTES: Final = 1 << 20
_SCANNED_BYTES: Final = 1 << 22
_MAX_THREADS: Final = 8


def copy_together(copies: Sequence[tuple[NDArray[Any], NDArray[Any]]]) -> None:
    """Copy to the start of each array of bytes, the first of a pair, all bytes of the second."""
    chunks = [
        (to[start : min(start + _CHUNK_BYTES, source.size)], source[start : start + _CHUNK_BYTES])
        for to, source in copies
        for start in range(0, source.size, _CHUNK_BYTES)
    ]
    if sum(source.size for _, source in copies) <= _CHUNK_BYTES:
        for to, source in chunks:
            to[:] = source
        return
    pool = _pool()
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

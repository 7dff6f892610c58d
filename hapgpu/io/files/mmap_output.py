"""Output file to which several threads append at a time.

One thread writes some 3 GB/s into the page cache. Threads that write to one file wait for each
other; threads that make the pages of a memory map of the file, and copy into them, do not.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections import deque
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import copy_at
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.c_functions import addresses_of, call_3
from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool, Task

_SHARE_BYTES: Final = 6 << 20
_WRITES_AT_ONCE: Final = 2
_MADV_POPULATE_WRITE: Final = 23  # of Linux 5.14 and later; Python has no name for it
_MADV_DONTNEED: Final = 4
_C_FUNCTIONS: Final = addresses_of(ctypes.CDLL(None).madvise)


class MmapOutput:
    """Writer that appends to a regular file; the file is complete when the context ends.

    Parameters
    ----------
    output
        A new file.
    threads
        Threads that copy, at least 1.
    """

    def __init__(self, output: OutputFile, threads: int) -> None:
        self._output = output
        self._descriptor = output.fileno()
        self._pool = Pool(threads, caller_works=False)
        self._pending: deque[list[Task[None]]] = deque()
        self._end = 0

    def write(self, data: memoryview) -> None:
        """Append bytes, which must not change any more: they may be copied later.

        Raises
        ------
        OutputError
            There is no room for these bytes, or for bytes before them.
        """
        if not data.nbytes:
            return
        with self._output.reporting():
            self._pending.append(self._copies(np.frombuffer(data, dtype=np.uint8)))
            self._end += data.nbytes
            self._finish(_WRITES_AT_ONCE - 1)

    def _copies(self, data: NDArray[np.uint8]) -> list[Task[None]]:
        """Start copying `data` to the end of the file."""
        start, end = self._end, self._end + data.size
        os.ftruncate(self._descriptor, end)
        page = start - start % mmap.ALLOCATIONGRANULARITY
        # The map ends with the last array of it: a thread may still hold one.
        view = np.frombuffer(mmap.mmap(self._descriptor, end - page, offset=page), dtype=np.uint8)
        return [
            self._pool.submit(
                self._copy,
                view[max(at, start) - page : at + _SHARE_BYTES - page],
                data[max(at - start, 0) : at + _SHARE_BYTES - start],
                max(at, start),
            )
            for at in range(start - start % _SHARE_BYTES, end, _SHARE_BYTES)
        ]

    def _copy(self, target: NDArray[np.uint8], data: NDArray[np.uint8], start: int) -> None:
        """Copy bytes to a part of a map, which is at `start` of the file."""
        before = start % mmap.ALLOCATIONGRANULARITY
        if not _copy_to_pages(_C_FUNCTIONS, target, read_only(data), before):
            os.posix_fallocate(self._descriptor, start, target.size)
            np.copyto(target, data)

    def _finish(self, unfinished: int) -> None:
        """Wait until at most so many writes are not finished."""
        while len(self._pending) > unfinished:
            self._pool.results(self._pending.popleft())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                with self._output.reporting():
                    self._finish(0)
        finally:
            self._pool.close()


@njit
def _copy_to_pages(
    functions: NDArray[np.uint64],
    target: NDArray[np.uint8],
    data: NDArray[np.uint8],
    before: Integer,
) -> bool:
    """Make the pages of a part of a map, copy bytes to them, and unmap them; False without pages.

    `before` bytes of the first page are before the part. On a full disk, to write to a page that is
    not there is a signal, not an error. The end of a map takes long if pages are still mapped.
    """
    pages = np.uint64(target.ctypes.data - before)
    size = np.uint64(target.size + before)
    if call_3(functions[0], pages, size, np.uint64(_MADV_POPULATE_WRITE)) != 0:
        return False
    copy_at(np.int64(target.ctypes.data), np.int64(data.ctypes.data), np.int64(data.size))
    call_3(functions[0], pages, size, np.uint64(_MADV_DONTNEED))
    return True

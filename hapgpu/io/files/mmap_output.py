"""Output file to which several threads append at a time.

One thread writes some 3 GB/s into the page cache. Threads that write to one file wait for each
other; threads that copy into a memory map of the file do not. One more thread reserves pages ahead
while the bytes before them are copied.
"""

from __future__ import annotations

import mmap
import os
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.pool import Pool

_PIECE_BYTES: Final = 4 << 20
_AHEAD: Final = 3  # bytes reserved ahead, in multiples of the bytes written


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
        self._pool = Pool(threads)
        self._reserver = ThreadPoolExecutor(1, "hapgpu-reserve")
        self._pending: Future[None] | None = None
        self._reserved = self._end = 0

    def write(self, data: memoryview) -> None:
        """Append bytes.

        Raises
        ------
        OutputError
            There is no room for the bytes.
        """
        if not data.nbytes:
            return
        with self._output.reporting():
            end = self._end + data.nbytes
            self._reserve(end)
            self._reserve_ahead(end + _AHEAD * data.nbytes)
            self._copy(np.frombuffer(data, dtype=np.uint8), self._end)
            self._end = end

    def _reserve(self, end: int) -> None:
        """Make sure that there is room, also if reserving ahead failed."""
        if end > self._reserved and self._pending is not None:
            with suppress(OSError):
                self._pending.result()
        if end > self._reserved:
            self._allocate(end)

    def _reserve_ahead(self, end: int) -> None:
        if end > self._reserved and (self._pending is None or self._pending.done()):
            self._pending = self._reserver.submit(self._allocate, end)

    def _allocate(self, end: int) -> None:
        os.posix_fallocate(self._descriptor, self._reserved, end - self._reserved)
        self._reserved = end

    def _copy(self, data: NDArray[np.uint8], start: int) -> None:
        page = start - start % mmap.ALLOCATIONGRANULARITY
        # The map ends with the last array of it: a thread may still hold one.
        view = mmap.mmap(self._descriptor, start + data.size - page, offset=page)
        target = np.frombuffer(view, dtype=np.uint8)[start - page :]
        tasks = [
            self._pool.submit(
                np.copyto, target[at : at + _PIECE_BYTES], data[at : at + _PIECE_BYTES]
            )
            for at in range(0, data.size, _PIECE_BYTES)
        ]
        self._pool.results(tasks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._reserver.shutdown()
        self._pool.close()
        with self._output.reporting():
            os.ftruncate(self._descriptor, self._end)

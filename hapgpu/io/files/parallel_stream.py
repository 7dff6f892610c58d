"""Regular files read by several threads at a time."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any, BinaryIO, Final

from hapgpu.runtime.pool import Pool

_MIN_SHARE: Final = 1 << 20
"""Bytes that are worth a thread."""


class ParallelStream:
    """Stream of a regular file whose reads are shared among the threads of a pool.

    A read copies from the page cache; one thread copies more slowly than a GPU takes the bytes.

    Parameters
    ----------
    stream
        The file. Its position is not used and does not change.
    pool
        The threads.
    """

    def __init__(self, stream: BinaryIO, pool: Pool) -> None:
        self._descriptor = stream.fileno()
        self._pool = pool
        self._position = 0

    @property
    def position(self) -> int:
        """The offset of the next read."""
        return self._position

    def seek(self, offset: int) -> int:
        """Move to an offset."""
        self._position = offset
        return offset

    def readinto(self, buffer: Any) -> int:
        """Read bytes until a buffer is full or the file ends; return their number.

        Raises
        ------
        OSError
            The file cannot be read.
        """
        view = memoryview(buffer).cast("B")
        shares = max(min(self._pool.threads, len(view) // _MIN_SHARE), 1)
        cuts = [len(view) * share // shares for share in range(shares + 1)]
        tasks = [
            self._pool.submit(self._read, view[start:end], self._position + start)
            for start, end in pairwise(cuts)
        ]
        # A file that shrinks meanwhile may leave a gap: bytes after it do not count.
        total = 0
        for start, count in zip(cuts, self._pool.results(tasks), strict=False):
            total = start + count if total == start else total
        self._position += total
        return total

    def _read(self, view: memoryview, offset: int) -> int:
        done = 0
        while done < len(view) and (
            count := os.preadv(self._descriptor, [view[done:]], offset + done)
        ):
            done += count
        return done

"""Bytes of a file in order, read into memory of the caller."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.files.newlines import count_newlines
from hapgpu.runtime.pool import Pool

_PIECE_BYTES: Final = 4 << 20
_BYTES_AT_ONCE: Final = 1 << 19  # few enough to be in the cache when newlines are counted


class ByteSource(Protocol):
    """Source of the bytes of a file, in order."""

    @property
    def remaining(self) -> int | None:
        """Number of bytes left, if known."""

    def read_into(self, target: NDArray[np.uint8]) -> tuple[int, int]:
        """Fill `target`, or its start if the file ends; return the bytes and newlines read."""


@contextmanager
def byte_source(stream: BufferedIOBase, name: str, threads: int) -> Iterator[ByteSource]:
    """Open a source of bytes; `threads` threads read a file on disk; `name` is for messages."""
    if not (isinstance(stream, BufferedReader) and _is_regular_file(stream)):
        yield _StreamSource(stream)
        return
    pool = Pool(threads)
    try:
        yield _FileSource(stream, name, pool)
    finally:
        pool.close()


def _is_regular_file(stream: BufferedReader) -> bool:
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # io.UnsupportedOperation: the stream is in memory
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0  # of files in /proc it is 0


class _StreamSource:
    """Pipe, or file that is inflated."""

    remaining = None

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream

    def read_into(self, target: NDArray[np.uint8]) -> tuple[int, int]:
        done = newlines = 0
        while done < target.size:
            part = target[done : done + _BYTES_AT_ONCE]
            got = self._stream.readinto(part.data)
            if not got:
                break
            newlines += count_newlines(read_only(part[:got]))
            done += got
        return done, newlines


class _FileSource:
    """File on disk, read in pieces by the threads of a pool."""

    def __init__(self, stream: BufferedReader, name: str, pool: Pool) -> None:
        self._descriptor = stream.fileno()
        self._name = name
        self._pool = pool
        self._at = stream.tell()
        self._size = os.fstat(self._descriptor).st_size

    @property
    def remaining(self) -> int | None:
        return self._size - self._at

    def read_into(self, target: NDArray[np.uint8]) -> tuple[int, int]:
        size = min(target.size, self._size - self._at)
        tasks = [
            self._pool.submit(
                self._read_piece, target[start : min(start + _PIECE_BYTES, size)], self._at + start
            )
            for start in range(0, size, _PIECE_BYTES)
        ]
        newlines = sum(self._pool.results(tasks))
        self._at += size
        return size, newlines

    def _read_piece(self, target: NDArray[np.uint8], at: int) -> int:
        """Fill `target` from an offset of the file; return the number of newlines."""
        done = newlines = 0
        while done < target.size:
            part = target[done : done + _BYTES_AT_ONCE]
            got = os.preadv(self._descriptor, [part.data], at + done)
            if got == 0:
                raise InputError(f"{self._name}: became shorter while it was read; run again")
            newlines += count_newlines(read_only(part[:got]))
            done += got
        return newlines

"""Bytes of a file in order, read into memory of the caller."""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bgzf.c_functions import addresses_of, call_4
from hapgpu.runtime.inputs import note_position
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_NEWLINE = ord("\n")

_MIN_SHARE: Final = 1 << 20
"""Bytes that are worth a thread."""
_BYTES_AT_ONCE: Final = 1 << 18  # few enough to be in the cache when newlines are counted
_STREAMED_AT_ONCE: Final = 1 << 21  # so many that the reader seldom waits for the GIL
_C_FUNCTIONS: Final = addresses_of(ctypes.CDLL(None).pread)


@njit
def count_newlines(text: NDArray[np.uint8]) -> int:
    """Count the newlines of a `text`, uint8."""
    count = 0
    for k in range(text.size):
        count += text[k] == _NEWLINE
    return count


@njit
def end_without_lines(text: NDArray[np.uint8], lines: int) -> int:
    """Return the end of a `text`, uint8, without its last `lines` lines and an unended line."""
    at = text.size
    while at > 0:
        if text[at - 1] == _NEWLINE:
            if lines == 0:
                return at
            lines -= 1
        at -= 1
    return 0


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

    def readinto(self, buffer: WriteableBuffer) -> int:
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


class ByteSource(Protocol):
    """Source of the bytes of a file, in order."""

    @property
    def remaining(self) -> int | None:
        """Number of bytes left, if known."""

    def read_into(self, target: NDArray[np.uint8]) -> tuple[int, int]:
        """Fill `target`, uint8, or its start if the file ends; return bytes and newlines read."""


@contextmanager
def byte_source(stream: BufferedIOBase, name: str, threads: int) -> Iterator[ByteSource]:
    """Open a source of bytes.

    Parameters
    ----------
    stream
        The file.
    name
        Its name for messages.
    threads
        Threads that read a file on disk; of other files they count the newlines.
    """
    with Pool(threads) as pool:
        if isinstance(stream, BufferedReader) and is_regular_file(stream):
            yield _FileSource(stream, name, pool)
        else:
            yield _StreamSource(stream, pool)


def is_regular_file(stream: BufferedReader) -> bool:
    """Tell whether a stream reads a file on disk of known size, as it is."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # io.UnsupportedOperation: the stream is in memory
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0  # of files in /proc it is 0


class _StreamSource:
    """Pipe, or file that is inflated: a single thread can read it."""

    remaining = None

    def __init__(self, stream: BufferedIOBase, pool: Pool) -> None:
        self._stream = stream
        self._pool = pool

    def read_into(self, target: NDArray[np.uint8]) -> tuple[int, int]:
        done = 0
        counts = []
        while done < target.size:
            part = target[done : done + _STREAMED_AT_ONCE]
            got = self._stream.readinto(part.data)
            if not got:
                break
            counts.append(self._pool.submit(count_newlines, read_only(part[:got])))
            done += got
        return done, sum(self._pool.results(counts))


class _FileSource:
    """File on disk, read in shares by the threads of a pool."""

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
        shares = max(min(self._pool.threads, size // _MIN_SHARE), 1)
        cuts = [size * share // shares for share in range(shares + 1)]
        tasks = [
            self._pool.submit(self._read_share, target[start:end], self._at + start)
            for start, end in pairwise(cuts)
        ]
        newlines = sum(self._pool.results(tasks))
        self._at += size
        note_position(self._name, self._at)
        return size, newlines

    def _read_share(self, target: NDArray[np.uint8], at: int) -> int:
        """Fill `target` from an offset of the file; return the number of newlines."""
        done = newlines = 0
        while done < target.size:
            rest = target[done:]
            got, more = _read_counting(_C_FUNCTIONS, self._descriptor, rest, at + done)
            # This raises the error of the file, if there is one: compiled code cannot tell.
            if not got and not os.preadv(self._descriptor, [rest.data], at + done):
                raise InputError(f"{self._name}: became shorter while it was read; run again")
            done += int(got)
            newlines += int(more)
        return newlines


@njit
def _read_counting(
    functions: NDArray[np.uint64],
    descriptor: Integer,
    target: NDArray[np.uint8],
    start: Integer,
) -> tuple[Integer, Integer]:
    """Read from an offset of a file until `target` is full; return the bytes and newlines read.

    Fewer bytes are read if the file ends or fails.
    """
    done = newlines = 0
    while done < target.size:
        part = target[done : min(done + _BYTES_AT_ONCE, target.size)]
        got = call_4(
            functions[0],
            np.uint64(descriptor),
            np.uint64(part.ctypes.data),
            np.uint64(part.size),
            np.uint64(start + done),
        )
        if got <= 0:
            break
        newlines += count_newlines(part[:got])
        done += got
    return done, newlines

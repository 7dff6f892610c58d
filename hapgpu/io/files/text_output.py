"""Output of text: plain, or BGZF if the name of the file ends in .gz or .bgz."""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import copy_memory, memory_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.c_functions import addresses_of, call_3
from hapgpu.io.bgzf.deflater import BgzfWriter
from hapgpu.io.files.names import is_bgzf_name
from hapgpu.io.files.output import OutputFile
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import MAX_IO_THREADS, Pool, Task

_HUGE_PAGE: Final = 2 << 20
_SHARE_BYTES: Final = 4 * _HUGE_PAGE
_WRITES_AT_ONCE: Final = 2
_MAP_FIXED: Final = 16
_MADV_DONTNEED: Final = 4
_MADV_POPULATE_WRITE: Final = 23  # of Linux 5.14; Python has no name for it
_MADV_COLLAPSE: Final = 25  # of Linux 6.1
_C: Final = ctypes.CDLL(None, use_errno=True)
_C_FUNCTIONS: Final = addresses_of(_C.madvise)
_mmap = _C.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int64,
)

_NO_PAGES, _SMALL_PAGES, _HUGE_PAGES = range(3)
_TRIALS: Final = 16
"""First shares, with either kind of pages in turn; later, one of so many is a trial."""

WriteText: TypeAlias = Callable[[memoryview], object]
"""Appends bytes, which must not change later; a piece may end within a line."""


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
        self._pages = _FasterPages()

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
        first = start - start % _HUGE_PAGE
        size = -(-(end - first) // _HUGE_PAGE) * _HUGE_PAGE
        os.ftruncate(self._descriptor, first + size)
        view = _mapped(self._descriptor, first, size)
        cuts = [start, *range(start - start % _SHARE_BYTES + _SHARE_BYTES, end, _SHARE_BYTES), end]
        return [
            self._pool.submit(
                self._copy, view[at - first : stop - first], data[at - start : stop - start], at
            )
            for at, stop in pairwise(cuts)
        ]

    def _copy(self, target: NDArray[np.uint8], data: NDArray[np.uint8], start: int) -> None:
        """Copy bytes to a part of a map, which is at `start` of the file."""
        kind = self._pages.kind()
        begin = time.perf_counter()
        found = _copy_to_pages(_C_FUNCTIONS, target, read_only(data), start % _HUGE_PAGE, kind)
        if found == _NO_PAGES:
            os.posix_fallocate(self._descriptor, start, target.size)
            np.copyto(target, data)
        self._pages.note(kind, int(found), time.perf_counter() - begin, data.size)

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
        with self._output.reporting():
            os.ftruncate(self._descriptor, self._end)


class _FasterPages:
    """Choice of small or huge pages, by the time that earlier shares took.

    Huge pages are faster where there are free ones, and slower where memory must be moved first.
    """

    def __init__(self) -> None:
        self._shares = count()
        self._times = {_HUGE_PAGES: 0.0, _SMALL_PAGES: 0.0}

    def kind(self) -> int:
        """Return the kind of pages for the next share: mostly that which took less time."""
        share = next(self._shares)
        if share < _TRIALS:
            return (_HUGE_PAGES, _SMALL_PAGES)[share % 2]
        faster, slower = sorted(self._times, key=self._times.__getitem__)
        is_trial = share % _TRIALS == 0 and self._times[slower] < math.inf
        return slower if is_trial else faster

    def note(self, kind: int, found: int, seconds: float, size: int) -> None:
        """Note how long a share took, and which pages it got."""
        if kind not in {found, _SMALL_PAGES}:
            self._times[kind] = math.inf
            return
        time_per_byte, old = seconds / size, self._times[kind]
        self._times[kind] = old + (time_per_byte - old) / 4 if old else time_per_byte


def _mapped(descriptor: int, start: int, size: int) -> NDArray[np.uint8]:
    """Map a part of a file to an address that is a multiple of `_HUGE_PAGE`, as start and size are.

    Raises
    ------
    OSError
        The file cannot be mapped.
    """
    # The map of the file takes the place of a map of nothing, and ends with the last array of it.
    nothing = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room = np.frombuffer(nothing, dtype=np.uint8)
    lead = -room.ctypes.data % _HUGE_PAGE
    view = room[lead : lead + size]
    address = view.ctypes.data
    access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED
    if _mmap(address, size, access, flags, descriptor, start) != address:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return view


@njit
def _copy_to_pages(
    functions: NDArray[np.uint64],
    target: NDArray[np.uint8],
    data: NDArray[np.uint8],
    offset: Integer,
    wanted: Integer,
) -> Integer:
    """Make the pages of a part of a map, copy bytes to them, and unmap them.

    The part starts `offset` bytes after a multiple of `_HUGE_PAGE`. On a full disk, to write to a
    page that is not there is a signal, not an error. The end of a map takes long if pages are still
    mapped. Returns the kind of pages; without any, nothing is copied.
    """
    small = offset % mmap.ALLOCATIONGRANULARITY
    pages = np.uint64(target.ctypes.data - small)
    size = np.uint64(target.size + small)
    kind = _NO_PAGES
    if wanted == _HUGE_PAGES and _makes_huge_pages(functions[0], target, -offset % _HUGE_PAGE):
        kind = _HUGE_PAGES
    # Quick where pages are there already.
    if call_3(functions[0], pages, size, np.uint64(_MADV_POPULATE_WRITE)) != 0:
        return _NO_PAGES
    if kind == _NO_PAGES:
        kind = _SMALL_PAGES
    copy_memory(memory_of(target), 0, memory_of(data), 0, data.size)
    call_3(functions[0], pages, size, np.uint64(_MADV_DONTNEED))
    return kind


@njit
def _makes_huge_pages(madvise: Integer, target: NDArray[np.uint8], first: Integer) -> bool:
    """Make huge pages from the offset `first` of a part of a map on.

    The page before is that of another part. A huge page is made of a small one.
    """
    if first >= target.size:
        return True
    start = target.ctypes.data + first
    count = (target.size - first + _HUGE_PAGE - 1) // _HUGE_PAGE
    for k in range(count):
        page = np.uint64(start + k * _HUGE_PAGE)
        if call_3(madvise, page, np.uint64(1), np.uint64(_MADV_POPULATE_WRITE)) != 0:
            return False
    size = np.uint64(count * _HUGE_PAGE)
    return bool(call_3(madvise, np.uint64(start), size, np.uint64(_MADV_COLLAPSE)) == 0)


class TextSink:
    """Sink that deflates text if the name of its file says so.

    Parameters
    ----------
    output
        Receives the text, or its BGZF blocks.
    pool
        Deflates while the caller goes on.

    Attributes
    ----------
    is_bgzf
        Whether the text is deflated.
    """

    def __init__(self, output: OutputFile, pool: Pool) -> None:
        self.is_bgzf = is_bgzf_name(output.name)
        self._blocks = BgzfWriter(output, pool, compressed=True) if self.is_bgzf else None
        self._sink = self._blocks or output

    def write(self, text: memoryview) -> None:
        """Append bytes: see `WriteText`.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        self._sink.write(text)

    def finish(self) -> None:
        """Write what is pending, and the end of BGZF.

        Raises
        ------
        OutputError
            The output cannot be written.
        """
        if self._blocks:
            self._blocks.finish()


@contextmanager
def open_text(
    path: str | Path | None, threads: int = 1, copying_threads: int = 1
) -> Iterator[WriteText]:
    """Open an output for text; an exception in the context discards it.

    Parameters
    ----------
    path
        A file, which appears when it is complete; `-` or None for standard output.
    threads
        CPU threads that deflate, the calling thread included; more than `MAX_IO_THREADS` are not
        used.
    copying_threads
        Threads that write plain text to a regular file.

    Raises
    ------
    OutputError
        The output cannot be created or written.
    """
    with OutputFile(path) as output:
        if copying_threads > 1 and output.is_new_file and not is_bgzf_name(output.name):
            with MmapOutput(output, copying_threads) as writer:
                yield writer.write
            return
        with Pool(min(threads, MAX_IO_THREADS)) as pool:
            sink = TextSink(output, pool)
            yield sink.write
            sink.finish()


def write_json(path: str | Path, value: object) -> None:
    """Write a value to a JSON file.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    with open_text(path) as write:
        write(memoryview(json.dumps(value, indent=2).encode() + b"\n"))

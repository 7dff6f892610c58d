"""Inflating of BGZF blocks, many in one call without the GIL.

libdeflate is faster than ISA-L; both are called by address. Where neither can be, ISA-L is called
from Python, block by block. libdeflate takes incomplete codes, which ISA-L and zlib refuse; the
content has to be as the checksum says by either.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Protocol, cast

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES, BlockTable
from hapgpu.io.bgzf.c_functions import (
    CFunction,
    addresses_of,
    call_1,
    call_3,
    call_6,
    find_functions,
    room_for,
)
from hapgpu.runtime.jit import njit
from hapgpu.runtime.processes.locks import held_at_forks

RAW_DEFLATE: Final = -15

INFLATE_ERROR: Final = cast("type[Exception]", isal_zlib.error)  # typed as an instance
_ISAL_STATE_BYTES: Final = 1 << 17  # the state takes 84,096 bytes
_LOCK = held_at_forks(threading.Lock())


class Inflater(Protocol):
    """Inflater for one thread at a time."""

    def __call__(self, raw: NDArray[np.uint8], table: BlockTable, out: NDArray[np.uint8]) -> int:
        """Inflate blocks end to end into the start of `out`, and check their checksums.

        Parameters
        ----------
        raw
            uint8: bytes of the file.
        table
            Blocks in it.
        out
            uint8, at least as many bytes as the blocks hold.

        Returns
        -------
        int
            The row of the first block whose content is not what its size and checksum say; -1
            without one.
        """


@dataclass(frozen=True, slots=True)
class InflateLibrary:
    """A way to inflate: its name, and a function that makes inflaters."""

    name: str
    new_inflater: Callable[[], Inflater]


@njit
def _is_within(
    raw: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    out: NDArray[np.uint8],
    at: Integer,
    size: Integer,
) -> bool:
    """Check the sizes of a block: nothing else does before C code reads and writes."""
    return bool(
        0 <= start <= end <= raw.size and 0 <= size <= MAX_BLOCK_BYTES and at + size <= out.size
    )


@njit
def _inflate_by_libdeflate(
    functions: NDArray[np.uint64],
    handle: Integer,
    raw: NDArray[np.uint8],
    table: BlockTable,
    out: NDArray[np.uint8],
) -> Integer:
    """Inflate blocks and check their checksums; return the first bad block, or -1."""
    inflate, checksum = functions[0], functions[1]
    source, target = np.uint64(raw.ctypes.data), np.uint64(out.ctypes.data)
    nothing = np.uint64(0)
    at = 0
    for k in range(table.starts.size):
        start, end, size = table.starts[k], table.ends[k], table.sizes[k]
        if not _is_within(raw, start, end, out, at, size):
            return k
        data, here, room = source + np.uint64(start), target + np.uint64(at), np.uint64(size)
        # Without a place for the size, libdeflate fails unless the output is exactly as large.
        if call_6(inflate, handle, data, np.uint64(end - start), here, room, nothing) != 0:
            return k
        if np.uint32(call_3(checksum, nothing, here, room)) != table.crcs[k]:
            return k
        at += size
    return -1


@njit
def _inflate_by_isal(
    functions: NDArray[np.uint64],
    state: NDArray[np.uint64],
    raw: NDArray[np.uint8],
    table: BlockTable,
    out: NDArray[np.uint8],
) -> Integer:
    """Inflate blocks and check their checksums; return the first bad block, or -1."""
    inflate, checksum, start_state = functions[0], functions[1], functions[2]
    source, target = np.uint64(raw.ctypes.data), np.uint64(out.ctypes.data)
    here = np.uint64(state.ctypes.data)
    halves = state.view(np.uint32)
    at = 0
    for k in range(table.starts.size):
        start, end, size = table.starts[k], table.ends[k], table.sizes[k]
        if not _is_within(raw, start, end, out, at, size):
            return k
        call_1(start_state, here)
        state[0] = target + np.uint64(at)  # next_out
        halves[2] = size  # avail_out
        state[2] = source + np.uint64(start)  # next_in
        halves[8] = end - start  # avail_in
        if call_1(inflate, here) != 0 or halves[2] != 0:
            return k
        crc = call_3(checksum, np.uint64(0), target + np.uint64(at), np.uint64(size))
        if np.uint32(crc) != table.crcs[k]:
            return k
        at += size
    return -1


class _LibdeflateInflater:
    def __init__(self, functions: dict[str, CFunction]) -> None:
        allocate = functions["libdeflate_alloc_decompressor"]
        allocate.restype = ctypes.c_void_p
        handle = allocate()
        if not handle:
            raise MemoryError
        release = functions["libdeflate_free_decompressor"]
        weakref.finalize(self, release, ctypes.c_void_p(handle))
        self._handle = np.uint64(handle)
        self._functions = addresses_of(
            functions["libdeflate_deflate_decompress"], functions["libdeflate_crc32"]
        )

    def __call__(self, raw: NDArray[np.uint8], table: BlockTable, out: NDArray[np.uint8]) -> int:
        found = _inflate_by_libdeflate(
            self._functions, self._handle, read_only(raw), _frozen(table), out
        )
        return int(found)


class _IsalInflater:
    def __init__(self, functions: dict[str, CFunction]) -> None:
        self._state = room_for(_ISAL_STATE_BYTES)
        self._functions = addresses_of(
            functions["isal_inflate_stateless"],
            functions["crc32_gzip_refl"],
            functions["isal_inflate_init"],
        )

    def __call__(self, raw: NDArray[np.uint8], table: BlockTable, out: NDArray[np.uint8]) -> int:
        found = _inflate_by_isal(self._functions, self._state, read_only(raw), _frozen(table), out)
        return int(found)


def _inflate_from_python(raw: NDArray[np.uint8], table: BlockTable, out: NDArray[np.uint8]) -> int:
    at = 0
    rows = zip(*(column.tolist() for column in table[:4]), strict=True)
    for k, (start, end, crc, size) in enumerate(rows):
        try:
            data = isal_zlib.decompress(
                raw[start:end].data, wbits=RAW_DEFLATE, bufsize=max(size, 1)
            )
        except INFLATE_ERROR:
            return k
        if len(data) != size or isal_zlib.crc32(data) != crc:
            return k
        out[at : at + size] = np.frombuffer(data, dtype=np.uint8)
        at += size
    return -1


def _frozen(table: BlockTable) -> BlockTable:
    return BlockTable._make(read_only(np.ascontiguousarray(column)) for column in table)


_FROM_PYTHON: Final = InflateLibrary("ISA-L, a call per block", lambda: _inflate_from_python)


def libraries() -> list[InflateLibrary]:
    """Return the ways to inflate that this installation has, the fastest first; some may fail."""
    found = []
    libdeflate = find_functions(
        ["deflate._deflate", "deflate"],
        [
            "libdeflate_alloc_decompressor",
            "libdeflate_free_decompressor",
            "libdeflate_deflate_decompress",
            "libdeflate_crc32",
        ],
    )
    if libdeflate:
        found.append(InflateLibrary("libdeflate", lambda: _LibdeflateInflater(libdeflate)))
    isal = find_functions(
        ["isal.isal_zlib"], ["isal_inflate_init", "isal_inflate_stateless", "crc32_gzip_refl"]
    )
    if isal:
        found.append(InflateLibrary("ISA-L", lambda: _IsalInflater(isal)))
    return [*found, _FROM_PYTHON]


def is_sound(library: InflateLibrary) -> bool:
    """Try a library on known blocks: sound, empty, and with a wrong size or checksum."""
    inflate = library.new_inflater()
    content = np.arange(40_000, dtype=np.uint32).view(np.uint8)[:MAX_BLOCK_BYTES].tobytes()
    contents = [content, b"", content[:1]]
    packed = [_deflated(data) for data in contents]
    raw = np.frombuffer(b"".join(packed), dtype=np.uint8)
    ends = np.cumsum([len(data) for data in packed])
    starts = np.concatenate([[0], ends[:-1]])
    crcs = np.array([zlib.crc32(data) for data in contents], dtype=np.uint32)
    sizes = np.array([len(data) for data in contents])
    table = BlockTable(starts, ends, crcs, sizes, starts)
    out = np.zeros(sizes.sum() + 1, dtype=np.uint8)
    if inflate(raw, table, out) != -1 or out.tobytes() != b"".join(contents) + b"\0":
        return False
    damaged = (
        table._replace(sizes=sizes + np.array([0, 1, 0])),
        table._replace(sizes=sizes - np.array([0, 0, 1])),
        table._replace(crcs=crcs ^ np.array([0, 0, 1], dtype=np.uint32)),
        table._replace(ends=ends - np.array([0, 1, 0])),
    )
    return [inflate(raw, one, out) for one in damaged] == [1, 2, 2, 1]


def _deflated(data: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, RAW_DEFLATE)
    return compressor.compress(data) + compressor.flush()


@cache
def _chosen_library() -> InflateLibrary:
    return next(library for library in libraries() if is_sound(library))


def inflate_library() -> InflateLibrary:
    """Return the fastest way to inflate that passes a trial; the trial is made once."""
    with _LOCK:
        return _chosen_library()

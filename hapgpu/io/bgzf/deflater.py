"""Compression to BGZF, with ISA-L or zlib, and the writer of files.

The same content makes the same bytes, in any thread and process. ISA-L alone does not keep that:
for the first byte of a stream, its SSE and AVX code (igzip_icf_body_h1_gr_bt.asm,
`write_first_byte`) hashes a register that holds the address of the stream instead of content, and
now and then an entry of the table of matches is lost. So a stream begins in the state that ISA-L
sets for a prepared dictionary, which has no first byte, with a table in which each entry is the
first byte of content. Then that byte itself is compared with what lies a window before it, bytes
that must differ.
"""

from __future__ import annotations

import gzip
import struct
import threading
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes, load_u32, store_32
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bgzf.block_table import MAX_BLOCK_BYTES
from hapgpu.io.bgzf.c_functions import (
    CFunction,
    addresses_of,
    call_1,
    call_3,
    find_functions,
    room_for,
)
from hapgpu.io.bgzf.marks import EOF_BLOCK
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool, Task
from hapgpu.runtime.processes.locks import held_at_forks

PAYLOAD_BYTES: Final = 0xFF00
"""Bytes of the content of a block, as htslib cuts it."""

_LEVEL: Final = 1
_HEAD = np.frombuffer(EOF_BLOCK[:16], dtype=np.uint8)
_HEAD_BYTES: Final = 18
_FOOTER_BYTES: Final = 8
_STORED_BYTES: Final = 5
_ROOM: Final = MAX_BLOCK_BYTES - _HEAD_BYTES - _FOOTER_BYTES
"""Bytes of deflated data that a block has room for."""
_ISAL_STATE_BYTES: Final = 1 << 18  # the state takes some 86 KB
_ISAL_TABLE_BYTES: Final = 276 << 10  # ISAL_DEF_LVL1_DEFAULT: fewer make more blocks of DEFLATE
_ISAL_MATCHES: Final = slice(0x1268 // 8, (0x1268 + 2 * 8192) // 8)
"""Words of the tables that hold the position of the last content of each hash, uint16."""
_ISAL_HAS_HISTORY: Final = 135  # internal_state.has_hist: a byte of the state
_ISAL_PREPARED: Final = 3  # IGZIP_DICT_HASH_SET: the table of matches is filled
_WINDOW: Final = 1 << 15
_HASHED: Final = 4
"""Bytes of the shortest match."""
_ISAL_NAMES: Final = ("isal_deflate", "isal_deflate_init", "crc32_gzip_refl")
_LOCK = held_at_forks(threading.Lock())

_BLOCKS_PER_TASK: Final = 32
_TASKS_PER_THREAD: Final = 2

MakeBytes: TypeAlias = Callable[[int, int], NDArray[np.uint8]]
"""Returns bytes start to end of some content, uint8; called in several threads."""


class Deflater(Protocol):
    """Maker of blocks for one thread at a time."""

    def __call__(self, data: NDArray[np.uint8], *, compressed: bool) -> NDArray[np.uint8]:
        """Return the blocks of some content, end to end, each of `PAYLOAD_BYTES` but the last.

        Blocks whose deflated data do not fit into a block are stored; all are if not `compressed`.
        """


@dataclass(frozen=True, slots=True)
class DeflateLibrary:
    """A way to deflate: its name, and a function that makes deflaters."""

    name: str
    new_deflater: Callable[[], Deflater]


@njit
def _close_block(
    head: NDArray[np.uint8],
    out: NDArray[np.uint8],
    at: Integer,
    deflated: Integer,
    crc: Integer,
    size: Integer,
) -> Integer:
    """Write header and footer around deflated data; return the end of the block."""
    copy_bytes(head, 0, out, at, head.size)
    last = _HEAD_BYTES + deflated + _FOOTER_BYTES - 1
    out[at + 16] = last & 255
    out[at + 17] = last >> 8
    end = at + _HEAD_BYTES + deflated
    store_32(out, end, crc)
    store_32(out, end + 4, size)
    return end + _FOOTER_BYTES


@njit
def _store(
    data: NDArray[np.uint8], start: Integer, size: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write content as a stored block of DEFLATE; return its size."""
    out[at] = 1
    out[at + 1] = size & 255
    out[at + 2] = size >> 8
    out[at + 3] = ~size & 255
    out[at + 4] = ~size >> 8 & 255
    copy_bytes(data, start, out, at + _STORED_BYTES, size)
    return _STORED_BYTES + size


class _Isal(NamedTuple):
    """Addresses of ISA-L's functions (deflate, initialise, CRC-32), and memory of one deflater."""

    functions: NDArray[np.uint64]
    state: NDArray[np.uint64]
    tables: NDArray[np.uint64]
    copy: NDArray[np.uint8]
    """Bytes of a window, and after them of the content of a block."""


@njit
def _guarded(
    isal: _Isal, data: NDArray[np.uint8], start: Integer, size: Integer
) -> tuple[NDArray[np.uint8], Integer]:
    """Return content and its start; what lies a window before it makes no match with it."""
    before = start - _WINDOW
    if size >= _HASHED and before >= 0 and load_u32(data, before) != load_u32(data, start):
        return data, start
    isal.copy[:_HASHED] = ~data[start]
    copy_bytes(data, start, isal.copy, _WINDOW, size)
    return isal.copy, np.int64(_WINDOW)


@njit
def _deflate_by_isal(
    isal: _Isal,
    data: NDArray[np.uint8],
    start: Integer,
    size: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Deflate content; return its size, or 0 if a block has not room enough."""
    state = isal.state
    halves, quarters = state.view(np.uint32), state.view(np.uint16)
    here = np.uint64(state.ctypes.data)
    content, first = _guarded(isal, data, start, size)
    call_1(isal.functions[1], here)
    isal.tables[_ISAL_MATCHES.start : _ISAL_MATCHES.stop] = 0
    state.view(np.uint8)[_ISAL_HAS_HISTORY] = _ISAL_PREPARED
    state[0] = np.uint64(content.ctypes.data) + np.uint64(first)  # next_in
    halves[2] = size  # avail_in
    state[2] = np.uint64(out.ctypes.data) + np.uint64(at)  # next_out
    halves[6] = _ROOM  # avail_out
    halves[10] = _LEVEL
    halves[11] = _ISAL_TABLE_BYTES  # level_buf_size
    state[6] = np.uint64(isal.tables.ctypes.data)  # level_buf
    quarters[28] = 1  # end_of_stream
    # Without room left, the output may be incomplete.
    if call_1(isal.functions[0], here) != 0 or halves[2] != 0 or halves[6] == 0:
        return 0
    return _ROOM - np.int64(halves[6])


@njit
def _blocks_by_isal(
    isal: _Isal,
    head: NDArray[np.uint8],
    data: NDArray[np.uint8],
    out: NDArray[np.uint8],
    compressed: Integer,
) -> Integer:
    """Fill `out`, which has `MAX_BLOCK_BYTES` per block, with blocks; return their bytes."""
    end: Integer = 0
    for start in range(0, data.size, PAYLOAD_BYTES):
        if end + MAX_BLOCK_BYTES > out.size:
            return -1
        size = min(PAYLOAD_BYTES, data.size - start)
        deflated: Integer = 0
        if compressed:
            deflated = _deflate_by_isal(isal, data, start, size, out, end + _HEAD_BYTES)
        if deflated == 0:
            deflated = _store(data, start, size, out, end + _HEAD_BYTES)
        content = np.uint64(data.ctypes.data) + np.uint64(start)
        crc = np.uint32(call_3(isal.functions[2], np.uint64(0), content, np.uint64(size)))
        end = _close_block(head, out, end, deflated, np.int64(crc), size)
    return end


class _IsalDeflater:
    def __init__(self, functions: dict[str, CFunction]) -> None:
        addresses = addresses_of(*(functions[name] for name in _ISAL_NAMES))
        copy = np.zeros(_WINDOW + PAYLOAD_BYTES, dtype=np.uint8)
        state, tables = room_for(_ISAL_STATE_BYTES), room_for(_ISAL_TABLE_BYTES)
        self._isal = _Isal(addresses, state, tables, copy)

    def __call__(self, data: NDArray[np.uint8], *, compressed: bool) -> NDArray[np.uint8]:
        blocks = -(-data.size // PAYLOAD_BYTES)
        out = np.empty(blocks * MAX_BLOCK_BYTES, dtype=np.uint8)
        size = _blocks_by_isal(self._isal, _HEAD, read_only(data), out, int(compressed))
        return out[: int(size)]


def _deflate_from_python(data: NDArray[np.uint8], *, compressed: bool) -> NDArray[np.uint8]:
    starts = range(0, data.size, PAYLOAD_BYTES)
    blocks = [_block(data[at : at + PAYLOAD_BYTES].data, compressed=compressed) for at in starts]
    return np.frombuffer(b"".join(blocks), dtype=np.uint8)


def _block(payload: memoryview, *, compressed: bool) -> bytes:
    deflated = b""
    if compressed:
        deflater = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        deflated = deflater.compress(payload) + deflater.flush()
    if not compressed or len(deflated) >= _ROOM:
        size = len(payload)
        deflated = struct.pack("<BHH", 1, size, size ^ 0xFFFF) + payload
    last = struct.pack("<H", _HEAD_BYTES + len(deflated) + _FOOTER_BYTES - 1)
    footer = struct.pack("<II", zlib.crc32(payload), len(payload))
    return b"".join((_HEAD.tobytes(), last, deflated, footer))


_FROM_PYTHON: Final = DeflateLibrary("zlib, a call per block", lambda: _deflate_from_python)


def libraries() -> list[DeflateLibrary]:
    """Return the ways to deflate that this installation has, the fastest first; some may fail."""
    isal = find_functions(["isal.igzip_lib"], _ISAL_NAMES)
    if isal is None:
        return [_FROM_PYTHON]
    return [DeflateLibrary("ISA-L", lambda: _IsalDeflater(isal)), _FROM_PYTHON]


def is_sound(library: DeflateLibrary) -> bool:
    """Try a library on known content: zlib inflates the blocks, and repeats make them small."""
    deflate = library.new_deflater()
    numbers = np.arange(60_000, dtype=np.uint32)
    mixed = numbers * numbers ^ numbers << 7  # cannot be deflated
    both = np.concatenate([numbers.view(np.uint8), mixed.view(np.uint8)[: PAYLOAD_BYTES + 9]])
    for content in (both, both[::-1].copy(), both[:90] % 4, both[:1]):
        made = deflate(content, compressed=True)
        stored = deflate(content, compressed=False)
        if any(_inflated(blocks) != content.tobytes() for blocks in (made, stored)):
            return False
        if content.size > PAYLOAD_BYTES and not made.size < 0.8 * stored.size:
            return False
    return True


def _inflated(blocks: NDArray[np.uint8]) -> bytes | None:
    """Return what zlib makes of blocks, or None where it finds a fault."""
    try:
        return gzip.decompress(blocks.tobytes())
    except (OSError, EOFError, zlib.error):
        return None


@cache
def _chosen_library() -> DeflateLibrary:
    return next(library for library in libraries() if is_sound(library))


def deflate_library() -> DeflateLibrary:
    """Return the fastest way to deflate that passes a trial; the trial is made once."""
    with _LOCK:
        return _chosen_library()


class Sink(Protocol):
    """Receiver of bytes."""

    def write(self, data: memoryview) -> None:
        """Append bytes."""


class BgzfWriter:
    """Writer of BGZF blocks of equal size, independent of the sizes of the pieces written.

    Parameters
    ----------
    output
        Receives the blocks.
    pool
        Deflates while the caller goes on.
    compressed
        Deflate at level 1; otherwise the blocks are stored as they are.
    """

    def __init__(self, output: Sink, pool: Pool, *, compressed: bool) -> None:
        self._output = output
        self._pool = pool
        self._compressed = compressed
        self._library = deflate_library()
        self._spare: list[Deflater] = []
        self._pending = np.empty(PAYLOAD_BYTES, dtype=np.uint8)
        self._pending_bytes = 0
        self._tasks: deque[Task[NDArray[np.uint8]]] = deque()

    def write(self, data: memoryview | NDArray[np.uint8]) -> None:
        """Append `data`, uint8 or bytes, deflated asynchronously: it must not change later."""
        content = np.frombuffer(data, dtype=np.uint8)
        self.write_made(content.size, lambda start, end: content[start:end])

    def write_made(self, size: int, make: MakeBytes) -> None:
        """Append `size` bytes, made by the threads that deflate them, some here, some later."""
        start = 0
        if self._pending_bytes:
            start = min(PAYLOAD_BYTES - self._pending_bytes, size)
            self._keep(make(0, start))
            if self._pending_bytes < PAYLOAD_BYTES:
                return
            self._flush()
        whole = start + (size - start) // PAYLOAD_BYTES * PAYLOAD_BYTES
        step = _BLOCKS_PER_TASK * PAYLOAD_BYTES
        for at in range(start, whole, step):
            self._submit(make, at, min(at + step, whole))
        if whole < size:
            self._keep(make(whole, size))

    def finish(self) -> None:
        """Write the pending bytes and the closing empty block."""
        if self._pending_bytes:
            self._flush()
        while self._tasks:
            self._output.write(self._tasks.popleft().result().data)
        self._output.write(memoryview(EOF_BLOCK))

    def _keep(self, data: NDArray[np.uint8]) -> None:
        end = self._pending_bytes + data.size
        self._pending[self._pending_bytes : end] = data
        self._pending_bytes = end

    def _flush(self) -> None:
        content = self._pending[: self._pending_bytes]
        self._submit(lambda start, end: content[start:end], 0, content.size)
        self._pending = np.empty(PAYLOAD_BYTES, dtype=np.uint8)
        self._pending_bytes = 0

    def _submit(self, make: MakeBytes, start: int, end: int) -> None:
        self._tasks.append(self._pool.submit(self._blocks, make, start, end))
        while len(self._tasks) > _TASKS_PER_THREAD * self._pool.threads:
            self._output.write(self._tasks.popleft().result().data)

    def _blocks(self, make: MakeBytes, start: int, end: int) -> NDArray[np.uint8]:
        content = make(start, end)
        try:
            deflate = self._spare.pop()
        except IndexError:
            deflate = self._library.new_deflater()
        blocks = deflate(content, compressed=self._compressed)
        self._spare.append(deflate)
        return blocks

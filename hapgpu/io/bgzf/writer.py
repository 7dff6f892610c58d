"""Writer of BGZF, the blocked gzip of BAM, on several threads."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from isal import igzip_lib, isal_zlib

from hapgpu.io.bgzf.reader import EOF_BLOCK, MAX_BLOCK_BYTES
from hapgpu.runtime.pool import Pool, Task

PAYLOAD_BYTES: Final = 0xFF00

_HEADER = EOF_BLOCK[:16]
_SIZE = struct.Struct("<H")
_FOOTER = struct.Struct("<II")
_STORED = struct.Struct("<BHH")
_OVERHEAD = len(_HEADER) + _SIZE.size + _FOOTER.size
_BLOCKS_PER_TASK = 16
_LEVEL = 1


class Sink(Protocol):
    """Receiver of bytes."""

    def write(self, data: bytes) -> None:
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
        self._deflate = _deflate if compressed else _store
        self._pending = bytearray()
        self._tasks: deque[Task[bytes]] = deque()

    def write(self, data: memoryview) -> None:
        """Append bytes, which must not change later: they are deflated asynchronously."""
        start = 0
        if self._pending:
            start = min(PAYLOAD_BYTES - len(self._pending), len(data))
            self._pending += data[:start]
            if len(self._pending) < PAYLOAD_BYTES:
                return
            self._submit(memoryview(self._pending))
            self._pending = bytearray()
        whole = start + (len(data) - start) // PAYLOAD_BYTES * PAYLOAD_BYTES
        step = _BLOCKS_PER_TASK * PAYLOAD_BYTES
        for at in range(start, whole, step):
            self._submit(data[at : min(at + step, whole)])
        self._pending += data[whole:]

    def finish(self) -> None:
        """Write the pending bytes and the closing empty block."""
        if self._pending:
            self._submit(memoryview(self._pending))
        while self._tasks:
            self._output.write(self._tasks.popleft().result())
        self._output.write(EOF_BLOCK)

    def _submit(self, data: memoryview) -> None:
        self._tasks.append(self._pool.submit(_blocks, data, self._deflate))
        while len(self._tasks) > 4 * self._pool.threads:
            self._output.write(self._tasks.popleft().result())


def _blocks(data: memoryview, deflate: Callable[[memoryview], bytes]) -> bytes:
    starts = range(0, len(data), PAYLOAD_BYTES)
    return b"".join(_block(data[at : at + PAYLOAD_BYTES], deflate) for at in starts)


def _block(payload: memoryview, deflate: Callable[[memoryview], bytes]) -> bytes:
    deflated = deflate(payload)
    if len(deflated) + _OVERHEAD > MAX_BLOCK_BYTES:
        deflated = _store(payload)
    size = _SIZE.pack(len(deflated) + _OVERHEAD - 1)
    footer = _FOOTER.pack(isal_zlib.crc32(payload), len(payload))
    return b"".join((_HEADER, size, deflated, footer))


def _deflate(payload: memoryview) -> bytes:
    return igzip_lib.compress(payload, _LEVEL, igzip_lib.COMP_DEFLATE)


def _store(payload: memoryview) -> bytes:
    return _STORED.pack(1, len(payload), len(payload) ^ 0xFFFF) + payload

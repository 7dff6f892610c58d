"""Streams of DEFLATE in an array, as blocks of BGZF hold them, sound and damaged."""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.bgzf.block_table import BlockTable

STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)
GAP = 8
"""Bytes between blocks, as a footer and a header have them; more than the kernel may read."""


def deflated(data: bytes, level: int, strategy: int = 0, flushes: int = 0) -> bytes:
    """Return a raw stream of several DEFLATE blocks, some of them empty."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    parts = []
    for k in range(flushes):
        part = data[len(data) * k // (flushes + 1) : len(data) * (k + 1) // (flushes + 1)]
        parts.append(compressor.compress(part))
        parts.append(compressor.flush(zlib.Z_FULL_FLUSH if k % 2 else zlib.Z_SYNC_FLUSH))
    rest = data[len(data) * flushes // (flushes + 1) :]
    return b"".join([*parts, compressor.compress(rest), compressor.flush()])


def table_of(streams: list[bytes], contents: list[bytes]) -> tuple[NDArray[np.uint8], BlockTable]:
    """Put streams at any alignment into one array."""
    starts, raw = [], b"\x55"
    for k, stream in enumerate(streams):
        starts.append(len(raw))
        raw += stream + b"\x55" * (GAP + k % 4)
    sizes = [len(stream) for stream in streams]
    return np.frombuffer(raw, dtype=np.uint8), BlockTable(
        np.array(starts),
        np.array(starts) + sizes,
        np.array([zlib.crc32(content) for content in contents], dtype=np.uint32),
        np.array([len(content) for content in contents]),
        np.array(starts),
    )


def some_contents(random: np.random.Generator, count: int, most: int) -> list[bytes]:
    """Return bytes that repeat in different ways."""
    letters = np.frombuffer(b"ACGTN\0\1IFF,:#", dtype=np.uint8)
    contents = []
    for k in range(count):
        size = int(random.integers(0, most + 1))
        kind = k % 5
        if kind == 0:
            data = random.integers(0, 256, size, dtype=np.uint8)
        elif kind == 1:
            data = random.choice(letters, size)
        elif kind == 2:
            data = np.repeat(random.choice(letters, size // 50 + 1), 50)[:size]
        elif kind == 3:
            unit = random.choice(letters, int(random.integers(1, 40)))
            data = np.tile(unit, size // unit.size + 1)[:size]
        else:
            data = np.tile(random.integers(0, 256, 3000, dtype=np.uint8), size // 3000 + 1)[:size]
        contents.append(data.astype(np.uint8).tobytes())
    return contents


def some_streams(
    random: np.random.Generator, count: int, most: int
) -> tuple[NDArray[np.uint8], BlockTable]:
    """Compress contents of at most so many bytes in different ways."""
    contents = some_contents(random, count, most)
    streams = [
        deflated(content, k % 10, STRATEGIES[k // 3 % 4], k // 7 % 3)
        for k, content in enumerate(contents)
    ]
    return table_of(streams, contents)


def damaged(
    raw: NDArray[np.uint8], table: BlockTable, random: np.random.Generator
) -> tuple[NDArray[np.uint8], BlockTable]:
    """Damage most of some streams: flip bits, cut them, change what the table says of them."""
    raw = raw.copy()
    starts, ends, crcs, sizes, offsets = (column.copy() for column in table)
    for k, kind in enumerate(random.integers(0, 8, starts.size).tolist()):
        length = int(ends[k] - starts[k])
        if kind < 3:  # in two of three cases near the start, where the codes are
            for _ in range(int(random.integers(1, 4))):
                at = int(random.integers(0, length if kind == 0 else min(length, 90)))
                raw[starts[k] + at] ^= 1 << int(random.integers(0, 8))
        elif kind == 3:
            ends[k] -= int(random.integers(1, length + 1))
        elif kind == 4:
            sizes[k] = max(0, int(sizes[k]) + int(random.integers(-3, 4)))
        elif kind == 5:
            crcs[k] ^= np.uint32(1 << int(random.integers(0, 32)))
        elif kind == 6:
            starts[k] += int(random.integers(0, 2))
    return raw, BlockTable(starts, ends, crcs, sizes, offsets)


def by_zlib(stream: bytes, size: int) -> bytes | None:
    """Inflate to exactly `size` bytes; None if that is not what the stream holds."""
    inflater = zlib.decompressobj(-15)
    try:
        data = inflater.decompress(stream, size + 1)
    except zlib.error:
        return None
    return data if inflater.eof and len(data) == size else None

"""Blocks of BGZF, made one by one."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path


def block(data: bytes, level: int = 1) -> bytes:
    """Make a BGZF block of at most 65,280 bytes."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, -15)
    deflated = compressor.compress(data) + compressor.flush()
    head = b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff\x06\0BC\x02\0"
    size = struct.pack("<H", len(deflated) + 25)
    return head + size + deflated + struct.pack("<II", zlib.crc32(data), len(data))


def inflated(path: Path) -> bytes:
    """Return the content of a BGZF file."""
    data, content = path.read_bytes(), b""
    while data:
        inflater = zlib.decompressobj(31)
        content += inflater.decompress(data)
        data = inflater.unused_data
    return content

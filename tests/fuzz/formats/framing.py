"""BGZF and gzip around content: compressed again, with correct checksums."""

from __future__ import annotations

import gzip
import struct
import zlib
from random import Random
from typing import Final

EOF_BLOCK: Final = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_CONTENT_BYTES: Final = 60_000


def inflated(data: bytes) -> bytes:
    """Return the content of gzip or BGZF."""
    return gzip.decompress(data)


def bgzf_block(data: bytes, level: int = 1) -> bytes:
    """Return one block."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    head = struct.pack("<4BI2BH2sHH", 31, 139, 8, 4, 0, 0, 255, 6, b"BC", 2, len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(data), len(data))


def bgzf(data: bytes, random: Random) -> bytes:
    """Return content as BGZF, cut into blocks anywhere."""
    size = random.choice((_CONTENT_BYTES, _CONTENT_BYTES, 300, 97))
    size = max(size, len(data) // 64)
    blocks = [bgzf_block(data[at : at + size]) for at in range(0, len(data), size)]
    return b"".join([*blocks, EOF_BLOCK])

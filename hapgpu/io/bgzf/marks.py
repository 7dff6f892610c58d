"""Bytes by which BGZF is recognised, and by which a file is known to be complete.

Inputs are checked by them before a run imports NumPy, so this module imports neither NumPy nor
Numba.
"""

from __future__ import annotations

from io import SEEK_END
from typing import BinaryIO, Final

from hapgpu.errors import InputError

MAGIC: Final = b"\x1f\x8b\x08\x04"
EOF_BLOCK: Final = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

_MAX_TRAILING_BYTES: Final = 1 << 20


def is_bgzf(head: bytes) -> bool:
    """Tell whether a file that starts with these bytes is BGZF; plain gzip is not."""
    return head.startswith(MAGIC) and head[12:16] == b"BC\2\0"


def has_closing_bytes(stream: BinaryIO, closing: bytes) -> bool:
    """Tell whether a file has its closing bytes, if there are any; moves the file position.

    Up to a megabyte may follow them, unless it starts as a block does: a truncated block.
    """
    if not closing:
        return True
    size = stream.seek(0, SEEK_END)
    for room in (0, _MAX_TRAILING_BYTES):
        stream.seek(max(size - len(closing) - room, 0))
        _, found, trailing = stream.read().rpartition(closing)
        if found:
            return not trailing.lstrip(b"\0").startswith(MAGIC)
    return False


def missing_eof_block(name: str) -> InputError:
    """Return the error for a file without its closing block."""
    return InputError(f"{name}: truncated (no closing EOF block); copy it again")

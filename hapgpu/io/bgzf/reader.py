"""BGZF files: recognition, closing bytes, and their content block by block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import SEEK_END
from typing import BinaryIO, Final

import numpy as np

from hapgpu.io.bgzf.block_table import MAGIC, MAX_BLOCK_BYTES, damaged_block
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece

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


def inflated_blocks(pieces: Iterable[PackedPiece], name: str) -> Iterator[bytes]:
    """Inflate the blocks of pieces, each when it is requested.

    Parameters
    ----------
    pieces
        The pieces.
    name
        The file's name for messages.

    Raises
    ------
    InputError
        A block is damaged.
    """
    inflate = inflate_library().new_inflater()
    content = np.empty(MAX_BLOCK_BYTES, dtype=np.uint8)
    for piece in pieces:
        for row in range(piece.table.sizes.size):
            table = piece.table.slice(row, row + 1)
            if inflate(piece.raw, table, content) >= 0:
                raise damaged_block(name, int(table.offsets[0]))
            yield content[: int(table.sizes[0])].tobytes()

"""Header at the start of a BAM file that is read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

import numpy as np

from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.record_buffer import RecordBuffer, take_header
from hapgpu.io.bgzf.block_table import BlockTable, damaged_block
from hapgpu.io.bgzf.inflater import inflate_library
from hapgpu.io.bgzf.pieces import PackedPiece

_BLOCKS_AT_A_TIME: Final = 8


class _Feed:
    """Content of pieces, a few blocks at a time, and which pieces it was taken from."""

    def __init__(self, pieces: Iterator[PackedPiece], name: str) -> None:
        self._pieces = pieces
        self._name = name
        self.taken: list[PackedPiece] = []

    def __iter__(self) -> Iterator[bytes]:
        inflate = inflate_library().new_inflater()
        for piece in self._pieces:
            self.taken.append(piece)
            for start in range(0, piece.table.starts.size, _BLOCKS_AT_A_TIME):
                table = piece.table.slice(start, start + _BLOCKS_AT_A_TIME)
                content = np.empty(int(table.sizes.sum()), dtype=np.uint8)
                row = inflate(piece.raw, table, content)
                if row >= 0:
                    raise damaged_block(self._name, int(table.offsets[row]))
                yield content.tobytes()


def take_first_header(
    pieces: Iterator[PackedPiece], name: str, max_record: int
) -> tuple[SamHeader, Iterator[PackedPiece]]:
    """Read the header of a file from its pieces, of one stretch each; return the rest of them.

    Raises
    ------
    InputError
        A block of the header is damaged, or as `take_header`.
    """
    feed = _Feed(pieces, name)
    taken = 0

    def counted() -> Iterator[bytes]:
        nonlocal taken
        for content in feed:
            taken += len(content)
            yield content

    buffer = RecordBuffer(counted(), name, max_record)
    header = take_header(buffer)
    size = taken - buffer.window.size
    *before, last = feed.taken
    size -= sum(piece.size for piece in before)
    return header, chain([_without(last, size)], pieces)


def _without(piece: PackedPiece, size: int) -> PackedPiece:
    """Return a piece without the first bytes of its content."""
    ends = np.cumsum(piece.table.sizes)
    # At least one block remains, perhaps all of whose content is left out.
    row = min(int(np.searchsorted(ends, size, side="right")), ends.size - 1)
    skip = size - (int(ends[row - 1]) if row else 0)
    table = BlockTable._make(column[row:] for column in piece.table)
    starts = np.array([skip], dtype=np.int64)
    stops = np.array([table.sizes.sum()], dtype=np.int64)
    return replace(piece, table=table, starts=starts, ends=stops, continues=False)

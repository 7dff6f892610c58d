"""Records of a block that change by moves of reads, of mates, or of supplementary records."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u16, load_u32
from hapgpu.io.bam.constants import FIXED_BYTES, REFERENCE_OPERATIONS
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import find_field, name_number
from hapgpu.realign.moves.move_table import (
    NOT_MOVED,
    MoveIndex,
    MoveTable,
    find_mate_move,
    find_move,
    has_moved_record,
    has_name,
)
from hapgpu.realign.moves.moves import name_hash
from hapgpu.runtime.jit import njit

_PAIRED, _UNMAPPED = 1, 4
_SA: Final = name_number("SA")


class AffectedRecords(NamedTuple):
    """The moves that affect n records, as rows of the move table.

    Attributes
    ----------
    own, mates
        int64[n]: the move of the record, and the move of its mate; or `NOT_MOVED`.
    sa_changes
        bool[n]: whether the record has an SA field and a record of the same read has moved.
    """

    own: NDArray[np.int64]
    mates: NDArray[np.int64]
    sa_changes: NDArray[np.bool_]

    @property
    def is_changed(self) -> NDArray[np.bool_]:
        """bool[n]: whether the record changes."""
        moved: NDArray[np.bool_] = (self.own != NOT_MOVED) | (self.mates != NOT_MOVED)
        return moved | self.sa_changes


def find_moves(block: RecordBlock, table: MoveTable) -> AffectedRecords:
    """Return the moves that affect the records of a block."""
    count = len(block)
    affected = AffectedRecords(
        np.full(count, NOT_MOVED, dtype=np.int64),
        np.full(count, NOT_MOVED, dtype=np.int64),
        np.zeros(count, dtype=np.bool_),
    )

    for index, first in zip(table.indexes, table.starts.tolist(), strict=False):
        _find(block.data, block.layout, index, first, affected)
    return affected


@njit
def _find(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    index: MoveIndex,
    first: int,
    affected: AffectedRecords,
) -> None:
    """Look up the records of a block in one run of moves; `first` is the number of its first."""
    for row in range(layout.starts.size):
        at = layout.starts[row]
        name = at + FIXED_BYTES
        hashed = name_hash(data, name, name + layout.name_lengths[row])
        if not has_name(index, hashed):
            continue
        flag = load_u16(data, at + 18)
        if not flag & _UNMAPPED:
            position = load_i32(data, at + 8)
            end = position + cigar_span(data, layout.cigar_starts[row], layout.cigar_lengths[row])
            own = find_move(index, hashed, flag, load_i32(data, at + 4), position, end)
            if own != NOT_MOVED:
                affected.own[row] = first + own
        if flag & _PAIRED:
            contig, position = load_i32(data, at + 24), load_i32(data, at + 28)
            mate = find_mate_move(index, hashed, flag, contig, position)
            if mate != NOT_MOVED:
                affected.mates[row] = first + mate
        if has_moved_record(index, hashed, flag):
            tags = layout.tag_starts[row]
            tags_end = at + 4 + load_i32(data, at)
            affected.sa_changes[row] |= find_field(data, tags, tags_end, _SA) >= 0


@njit
def cigar_span(data: NDArray[np.uint8], cigar: Integer, elements: Integer) -> Integer:
    """Return the reference bases that a CIGAR, stored as bytes, spans."""
    span: Integer = 0
    for k in range(elements):
        element = load_u32(data, cigar + 4 * k)
        if REFERENCE_OPERATIONS >> (element & 15) & 1:
            span += element >> 4
    return span

"""Records of a block that change by moves of reads, of mates, or of supplementary records."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.memory import load_i32_at, load_u16_at
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.encode import reference_span
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import name_number
from hapgpu.realign.moves.move_table import (
    NOT_MOVED,
    MoveIndex,
    MoveTable,
    find_mate_move,
    find_move,
    has_moved_record,
    rows_of_name,
)
from hapgpu.realign.moves.moves import name_hash_at
from hapgpu.realign.records.fields import find_field_at
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
    base = data.ctypes.data
    limit = base + data.size
    for row in range(layout.starts.size):
        at = base + layout.starts[row]
        hashed = name_hash_at(at + FIXED_BYTES, np.int64(layout.name_lengths[row]))
        rows = rows_of_name(index, hashed)
        if rows[0] == rows[1]:
            continue
        flag = load_u16_at(at + 18)
        if not flag & _UNMAPPED:
            cigar = base + layout.cigar_starts[row]
            position = load_i32_at(at + 8)
            end = position + reference_span(cigar, np.int64(layout.cigar_lengths[row]))
            own = find_move(index, rows, hashed, flag, (load_i32_at(at + 4), position, end))
            if own != NOT_MOVED:
                affected.own[row] = first + own
        if flag & _PAIRED:
            place = load_i32_at(at + 24), load_i32_at(at + 28)
            mate = find_mate_move(index, rows, hashed, flag, place)
            if mate != NOT_MOVED:
                affected.mates[row] = first + mate
        if has_moved_record(index, rows, hashed, flag):
            tags, tags_end = base + layout.tag_starts[row], at + 4 + load_i32_at(at)
            affected.sa_changes[row] |= find_field_at(tags, tags_end, limit, _SA) != 0

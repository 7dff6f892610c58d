"""Mate fields of records after moves.

As in `samtools fixmate`, template lengths are differences of half-open positions of 5' ends.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u16
from hapgpu.cigar.encoding import consumes_reference, length_of, operation_of
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.realign.moves.move_table import NOT_MOVED
from hapgpu.realign.moves.move_view import MoveView
from hapgpu.realign.records.fields import is_text
from hapgpu.realign.rewriting.affected_records import cigar_span
from hapgpu.runtime.jit import njit, njit_inlined

_PROPER_PAIR, _UNMAPPED, _MATE_UNMAPPED, _REVERSE, _MATE_REVERSE = 0x2, 0x4, 0x8, 0x10, 0x20
_NOT_PRIMARY: Final = 0x900
_UNKNOWN: Final = -1
_ZERO, _NINE = b"09"
_SPANNING = b"MDN=X"
_MC: Final = name_number("MC")


class MateFields(NamedTuple):
    """Fields of n records that depend on moves of the records or of their mates.

    Attributes
    ----------
    flags, positions, mate_positions, template_lengths
        int32[n].
    """

    flags: NDArray[np.int32]
    positions: NDArray[np.int32]
    mate_positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]

    @classmethod
    def empty(cls, rows: int) -> MateFields:
        """Allocate the fields."""
        return cls(*(np.empty(rows, dtype=np.int32) for _ in cls._fields))


@njit
def set_mate_fields(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    rows: NDArray[np.int64],
    changes: tuple[NDArray[np.int64], NDArray[np.int64]],
    moves: MoveView,
    out: MateFields,
) -> None:
    """Compute PNEXT, TLEN, flag 0x2, and POS of changed records.

    `MQ` and flag 0x20 stay, because moves do not change MAPQ and strand.

    Parameters
    ----------
    data, layout
        Records.
    rows
        int64[n]: the rows of the changed records.
    changes
        int64[n] each: the move of the record, and the move of its mate; or `NOT_MOVED`.
    moves
        The moves.
    out
        Receives the fields of the n records. Unmapped reads get the positions of their moved mates.
    """
    for k in range(rows.size):
        row, own, mate = rows[k], changes[0][k], changes[1][k]
        at = layout.starts[row]
        flag = load_u16(data, at + 18)
        contig, old_position = load_i32(data, at + 4), load_i32(data, at + 8)
        mate_contig, old_mate = load_i32(data, at + 24), load_i32(data, at + 28)
        is_unmapped, is_alone = flag & _UNMAPPED != 0, flag & _MATE_UNMAPPED != 0
        is_beside_mate = contig == mate_contig and old_position == old_mate
        position = np.int64(old_position if own == NOT_MOVED else moves.positions[own])
        mate_position = np.int64(old_mate if mate == NOT_MOVED else moves.positions[mate])
        ends = _five_prime_ends(data, layout, row, (own, mate), position, moves)
        if is_beside_mate and is_alone and not is_unmapped:
            mate_position = position  # an unmapped mate has the position of the mapped read
        if is_beside_mate and is_unmapped and mate != NOT_MOVED:
            position = mate_position
        length: Integer = load_i32(data, at + 32)
        if contig == mate_contig and not is_unmapped and not is_alone and ends[2] != _UNKNOWN:
            length = _template_length(flag, length, ends)
            flag = _without_broken_pair(flag, ends)
        out.flags[k] = flag
        out.positions[k] = position
        out.mate_positions[k] = mate_position
        out.template_lengths[k] = length


@njit_inlined
def _five_prime_ends(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    row: Integer,
    changes: tuple[Integer, Integer],
    position: Integer,
    moves: MoveView,
) -> tuple[Integer, Integer, Integer, Integer]:
    """Return the 5' ends of a read, old and new, and of its mate, old and new.

    The ends of the mate are `_UNKNOWN` where the record does not imply them.
    """
    own, mate = changes
    at = layout.starts[row]
    old, new = np.int64(load_i32(data, at + 8)), np.int64(position)
    if load_u16(data, at + 18) & _REVERSE:
        span = cigar_span(data, layout.cigar_starts[row], layout.cigar_lengths[row])
        old += span
        new += span if own == NOT_MOVED else _span(moves, own)
    if mate == NOT_MOVED:
        mate_end = _mate_five_prime(data, layout, row, old)
        return old, new, mate_end, mate_end
    if moves.flags[mate] & _REVERSE:
        return old, new, np.int64(moves.old_ends[mate]), np.int64(moves.ends[mate])
    return old, new, np.int64(moves.old_positions[mate]), np.int64(moves.positions[mate])


@njit_inlined
def _template_length(
    flag: Integer, length: Integer, ends: tuple[Integer, Integer, Integer, Integer]
) -> Integer:
    """Return TLEN; of records that are not primary, the mapper's length plus the shift."""
    old, new, mate_old, mate_new = ends
    if not flag & _NOT_PRIMARY:
        return mate_new - new
    return length + (mate_new - mate_old) - (new - old) if length != 0 else length


@njit_inlined
def _without_broken_pair(flag: Integer, ends: tuple[Integer, Integer, Integer, Integer]) -> Integer:
    """Clear flag 0x2 of a read that faced its mate and no longer does."""
    old, new, mate_old, mate_new = ends
    strands = flag & (_REVERSE | _MATE_REVERSE)
    if strands == _REVERSE and mate_old <= old and mate_new > new:
        return flag & ~_PROPER_PAIR
    if strands == _MATE_REVERSE and old <= mate_old and new > mate_new:
        return flag & ~_PROPER_PAIR
    return flag


@njit
def _span(moves: MoveView, move: Integer) -> Integer:
    span = np.int64(0)
    for k in range(moves.cigars.offsets[move], moves.cigars.offsets[move + 1]):
        element = moves.cigars.data[k]
        if consumes_reference(operation_of(element)):
            span += length_of(element)
    return span


@njit
def _mate_five_prime(
    data: NDArray[np.uint8], layout: RecordLayout, row: Integer, own: Integer
) -> Integer:
    """Return the 5' end of a mate by PNEXT, by PNEXT and MC, or by TLEN; or `_UNKNOWN`."""
    at = layout.starts[row]
    start = np.int64(load_i32(data, at + 28))
    if not load_u16(data, at + 18) & _MATE_REVERSE:
        return start
    end = at + 4 + load_i32(data, at)
    field = find_field(data, layout.tag_starts[row], end, _MC)
    if field >= 0 and is_text(data, field):
        span = _span_of_text(data, field + HEAD_BYTES, field + field_bytes(data, field, end) - 1)
        if span > 0:
            return start + span
    length = load_i32(data, at + 32)
    return own + length if length != 0 else np.int64(_UNKNOWN)


@njit
def _span_of_text(data: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return the reference bases that a CIGAR in text spans; 0 for other text."""
    number, span = np.int64(0), np.int64(0)
    for k in range(start, end):
        letter = data[k]
        if _ZERO <= letter <= _NINE:
            number = 10 * number + letter - _ZERO
            continue
        for operation in _SPANNING:
            span += number if letter == operation else 0
        number = np.int64(0)
    return span

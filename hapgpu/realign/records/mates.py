"""Mate fields of records after moves.

As in `samtools fixmate`, template lengths are differences of half-open positions of 5' ends.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_i32, read_u8, read_u16
from hapgpu.io.bam.encode import reference_span
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import find_field_in, name_number
from hapgpu.realign.projection.move_table import NOT_MOVED
from hapgpu.realign.projection.moves import MoveMemory, MoveView, move_memory_of
from hapgpu.realign.records.fields import text_of
from hapgpu.runtime.jit import njit, njit_inlined


class OldRecord(NamedTuple):
    """A record and its parts.

    Attributes
    ----------
    bytes
        The record, from its `block_size` on.
    name_bytes
        Bytes of the name, without the NUL.
    cigar
        Its CIGAR, in its field or in the tag CG.
    bases
        Number of bases.
    fields
        Offset of the first optional field.
    long_cigar
        Offset of the field CG that holds a long CIGAR; negative for none.
    """

    bytes: Memory
    name_bytes: Integer
    cigar: Memory
    bases: Integer
    fields: Integer
    long_cigar: Integer


@njit_inlined
def old_record(data: Memory, layout: RecordLayout, row: Integer) -> OldRecord:
    """Return a record of a block."""
    at = layout.starts[row]
    return OldRecord(
        part_of(data, at, 4 + read_i32(data, at)),
        np.int64(layout.name_lengths[row]),
        part_of(data, layout.cigar_starts[row], 4 * np.int64(layout.cigar_lengths[row])),
        np.int64(layout.base_counts[row]),
        layout.tag_starts[row] - at,
        layout.long_cigars[row] - at,
    )


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
        uint8, and offsets: records.
    rows
        int64[n]: the rows of the changed records.
    changes
        int64[n] each: the move of the record, and the move of its mate; or `NOT_MOVED`.
    moves
        The moves.
    out
        Receives the fields of the n records. Unmapped reads get the positions of their moved mates.
    """
    memory, view = memory_of(data), move_memory_of(moves)
    own_moves, mate_moves = changes
    flags, positions = out.flags, out.positions
    mate_positions, lengths = out.mate_positions, out.template_lengths
    for k in range(rows.size):
        record = old_record(memory, layout, rows[k])
        fields = _mate_fields(record, own_moves[k], mate_moves[k], view)
        flags[k], positions[k], mate_positions[k], lengths[k] = fields


@njit_inlined
def _mate_fields(
    record: OldRecord, own: Integer, mate: Integer, moves: MoveMemory
) -> tuple[Integer, Integer, Integer, Integer]:
    """Return flags, POS, PNEXT and TLEN of a record."""
    flag = read_u16(record.bytes, 18)
    contig, position = read_i32(record.bytes, 4), read_i32(record.bytes, 8)
    mate_contig, mate_position = read_i32(record.bytes, 24), read_i32(record.bytes, 28)
    is_unmapped, is_alone = flag & _UNMAPPED != 0, flag & _MATE_UNMAPPED != 0
    is_beside_mate = contig == mate_contig and position == mate_position
    if own != NOT_MOVED:
        position = read_i32(moves.positions, 4 * own)
    if mate != NOT_MOVED:
        mate_position = read_i32(moves.positions, 4 * mate)
    ends = _five_prime_ends(record, own, mate, moves)
    if is_beside_mate and is_alone and not is_unmapped:
        mate_position = position  # an unmapped mate has the position of the mapped read
    if is_beside_mate and is_unmapped and mate != NOT_MOVED:
        position = mate_position
    length = read_i32(record.bytes, 32)
    if contig == mate_contig and not is_unmapped and not is_alone and ends[2] != _UNKNOWN:
        length = _template_length(flag, length, ends)
        flag = _without_broken_pair(flag, ends)
    return flag, position, mate_position, length


@njit_inlined
def _five_prime_ends(
    record: OldRecord, own: Integer, mate: Integer, moves: MoveMemory
) -> tuple[Integer, Integer, Integer, Integer]:
    """Return the 5' ends of a read, old and new, and of its mate, old and new.

    The ends of the mate are `_UNKNOWN` where the record does not imply them.
    """
    old = read_i32(record.bytes, 8)
    new = old if own == NOT_MOVED else read_i32(moves.positions, 4 * own)
    if read_u16(record.bytes, 18) & _REVERSE:
        span = reference_span(record.cigar)
        old += span
        if own == NOT_MOVED:
            new += span
        else:
            new = read_i32(moves.ends, 4 * own)
    if mate == NOT_MOVED:
        mate_end = _mate_five_prime(record, old)
        return old, new, mate_end, mate_end
    if read_u16(moves.flags, 2 * mate) & _REVERSE:
        mate_old, mate_new = moves.old_ends, moves.ends
    else:
        mate_old, mate_new = moves.old_positions, moves.positions
    return old, new, read_i32(mate_old, 4 * mate), read_i32(mate_new, 4 * mate)


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


@njit_inlined
def _mate_five_prime(record: OldRecord, own: Integer) -> Integer:
    """Return the 5' end of a mate by PNEXT, by PNEXT and MC, or by TLEN; or `_UNKNOWN`."""
    start = read_i32(record.bytes, 28)
    if not read_u16(record.bytes, 18) & _MATE_REVERSE:
        return start
    field = find_field_in(record.bytes, record.fields, record.bytes.size, _MC)
    if field >= 0:
        span = _span_of_text(text_of(record.bytes, field))
        if span > 0:
            return start + span
    length = read_i32(record.bytes, 32)
    return own + length if length != 0 else np.int64(_UNKNOWN)


@njit_inlined
def _span_of_text(text: Memory) -> Integer:
    """Return the reference bases that a CIGAR in text spans; 0 for other text."""
    number, span = np.int64(0), np.int64(0)
    for k in range(text.size):
        letter = read_u8(text, k)
        if _ZERO <= letter <= _NINE:
            number = 10 * number + letter - _ZERO
            continue
        for operation in _SPANNING:
            span += number if letter == operation else 0
        number = np.int64(0)
    return span

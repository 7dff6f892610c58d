"""Bytes of a block of records of which some change."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    copy_memory,
    memory_of,
    part_of,
    read_i32,
    read_u8,
    read_u16,
    write_8,
    write_32,
)
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.io.bam.cigar_texts import put_cigar_text
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LONG_CIGAR_TAG,
    MAX_CIGAR_OPERATIONS,
    MISSING_QUALITY,
    SKIP,
    SOFT_CLIP,
)
from hapgpu.io.bam.encode import bin_of, reference_span
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bam.tags import field_bytes_in, find_field_in, name_number
from hapgpu.io.text.builder import (
    has_room,
    put_all,
    put_byte,
    put_bytes,
    put_count,
    put_integer,
    put_word,
)
from hapgpu.realign.projection.move_table import NOT_MOVED
from hapgpu.realign.projection.moves import MoveMemory, MoveView, move_memory_of
from hapgpu.realign.records.fields import (
    close_text,
    integer_value,
    open_text,
    put_integer_field,
    put_text_field,
    text_of,
)
from hapgpu.realign.records.mates import MateFields, OldRecord, old_record
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.runtime.jit import njit, njit_inlined

UNCHANGED: Final = -1
"""Change of a record that keeps all bytes."""
NO_TEXT: Final = -1
"""Text of a record whose SA stays."""

_UNMAPPED, _REVERSE = 0x4, 0x10
_AS, _XS, _NM, _MD = (name_number(name) for name in ("AS", "XS", "NM", "MD"))
_OC, _OP, _OA = (name_number(name) for name in ("OC", "OP", "OA"))
_MC, _SA = name_number("MC"), name_number("SA")
_MALFORMED: Final = np.int64(-1)
_NAMELESS, _COMMA, _SEMICOLON, _PLUS, _MINUS = b"*,;+-"
_OF_ALIGNMENT, _OF_ORIGINAL, _OF_MATE, _OF_READ = 1, 2, 4, 8  # sets of fields


class Records(NamedTuple):
    """Bytes and layout of a block, as in `RecordBlock`."""

    data: NDArray[np.uint8]
    layout: RecordLayout


class Changes(NamedTuple):
    """Changes of c records.

    Attributes
    ----------
    rows
        int64[c], ascending: the records in their block.
    own, mates
        int64[c]: the move of the record, and the move of its mate; or `NOT_MOVED`.
    sa_texts
        int64[c]: the row of the new text of SA, or `NO_TEXT`.
    fields
        The fields about the mates of the c records.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.int64]
    mates: NDArray[np.int64]
    sa_texts: NDArray[np.int64]
    fields: MateFields


class Sources(NamedTuple):
    """Moves, contigs and values of SA to which changes refer, read-only.

    Attributes
    ----------
    moves
        The moves.
    contigs
        Names of the contigs, by @SQ line: uint8 text.
    sa
        New values of SA: uint8 text.
    """

    moves: MoveView
    contigs: RaggedView
    sa: RaggedView


class _SourceMemory(NamedTuple):
    """The memory of `Sources`, and the number of contigs."""

    moves: MoveMemory
    contigs: RaggedMemory
    sa: RaggedMemory
    contig_count: Integer


class _Change(NamedTuple):
    """The change of one record, as in `Changes`."""

    own: Integer
    mate: Integer
    sa_text: Integer
    flag: Integer
    position: Integer
    mate_position: Integer
    template_length: Integer


@njit
def write_records(
    records: Records,
    order: tuple[NDArray[np.int64], NDArray[np.int32]],
    changes: Changes,
    sources: Sources,
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> tuple[Integer, Integer]:
    """Write the records of a block.

    Parameters
    ----------
    records
        n records.
    order
        int64[n]: the records in the order in which they are written; and int32[n]: the change of
        each record of the block, or `UNCHANGED`.
    changes, sources
        The changes, and what they refer to.
    out, offsets
        uint8 and int64[n + 1]: receive the records, as a text of `hapgpu.io.text.builder`, and
        their offsets.

    Returns
    -------
    tuple of int
        The end of the records; and -1, or the row of a record with malformed fields.
    """
    rows, change_of = order
    data, layout, text = memory_of(records.data), records.layout, memory_of(out)
    source_memory = _SourceMemory(
        move_memory_of(sources.moves),
        ragged_memory_of(sources.contigs),
        ragged_memory_of(sources.sa),
        np.int64(sources.contigs.offsets.size - 1),
    )
    starts = layout.starts
    own_moves, mate_moves, sa_texts, fields = changes[1:]
    flags, positions = fields.flags, fields.positions
    mate_positions, lengths = fields.mate_positions, fields.template_lengths
    end: Integer = np.int64(0)
    pending: Integer = np.int64(0)  # unchanged records from here to the next are copied at once
    pending_end: Integer = np.int64(0)
    offsets[0] = 0
    for k in range(rows.size):
        row: Integer = rows[k]
        at, change = starts[row], change_of[row]
        if change == UNCHANGED:
            if at != pending_end:
                end = put_bytes(text, end, data, pending, pending_end - pending)
                pending = at
            pending_end = at + 4 + read_i32(data, at)
            offsets[k + 1] = end + pending_end - pending
            continue
        end = put_bytes(text, end, data, pending, pending_end - pending)
        pending = pending_end = np.int64(0)
        new = _Change(
            own_moves[change],
            mate_moves[change],
            sa_texts[change],
            np.int64(flags[change]),
            np.int64(positions[change]),
            np.int64(mate_positions[change]),
            np.int64(lengths[change]),
        )
        end = _put_record(text, end, old_record(data, layout, row), new, source_memory)
        if end == _MALFORMED:
            return offsets[k], row
        offsets[k + 1] = end
    end = put_bytes(text, end, data, pending, pending_end - pending)
    return end, np.int64(-1)


@njit_inlined
def _put_record(
    out: Memory, start: Integer, old: OldRecord, change: _Change, sources: _SourceMemory
) -> Integer:
    """Write one changed record; return its end, or `_MALFORMED` if its fields are."""
    at = put_bytes(out, start, old.bytes, 0, FIXED_BYTES + old.name_bytes)
    if old.name_bytes == 0:
        at = put_byte(out, at, _NAMELESS)
    at = put_byte(out, at, 0)
    name_bytes = at - start - FIXED_BYTES
    cigar = old.cigar
    if change.own != NOT_MOVED:
        cigar = row_memory(sources.moves.cigars, change.own, 4)
    span = reference_span(cigar)
    elements = cigar.size // 4
    is_long = elements > MAX_CIGAR_OPERATIONS
    if is_long:
        at = _put_words(out, at, old.bases << 4 | SOFT_CLIP, span << 4 | SKIP)
    else:
        at = put_all(out, at, cigar)
    at = _put_fields(out, _put_sequence(out, at, old), old, change, sources)
    if at == _MALFORMED:
        return at
    if is_long:
        at = put_all(out, _put_words(out, at, LONG_CIGAR_TAG, elements), cigar)
    if has_room(out, at):
        covered = 0 if change.flag & _UNMAPPED else span
        number = bin_of(change.position, change.position + max(covered, 1)) & 0xFFFF
        quality = read_u8(old.bytes, 13)
        record = part_of(out, start, at - start)
        write_32(record, 0, record.size - 4)
        write_32(record, 8, change.position)
        write_32(record, 12, name_bytes | quality << 8 | number << 16)
        write_32(record, 16, (2 if is_long else elements) | change.flag << 16)
        write_32(record, 28, change.mate_position)
        write_32(record, 32, change.template_length)
    return at


@njit_inlined
def _put_words(out: Memory, at: Integer, first: Integer, second: Integer) -> Integer:
    """Write two numbers of 32 bits."""
    return put_word(out, put_word(out, at, first, 4), second, 4)


@njit_inlined
def _put_sequence(out: Memory, at: Integer, old: OldRecord) -> Integer:
    """Write bases and qualities; unused bits are 0, and qualities are all missing or none."""
    packed = (old.bases + 1) // 2
    qualities = old.fields - old.bases
    to = at + packed
    end = to + old.bases
    if not has_room(out, end):
        return end
    copy_memory(out, at, old.bytes, qualities - packed, packed)
    if old.bases % 2:
        write_8(out, to - 1, read_u8(old.bytes, qualities - 1) & 0xF0)
    if old.bases and read_u8(old.bytes, qualities) == MISSING_QUALITY:
        for k in range(old.bases):
            write_8(out, to + k, MISSING_QUALITY)
    else:
        copy_memory(out, to, old.bytes, qualities, old.bases)
    return end


@njit_inlined
def _put_fields(
    out: Memory, at: Integer, old: OldRecord, change: _Change, sources: _SourceMemory
) -> Integer:
    """Write the optional fields except a long CIGAR; return the end, or `_MALFORMED` if one is.

    Fields that stay come first, in their order, then the new ones.
    """
    own, mate, text = change.own, change.mate, change.sa_text
    has_original = own != NOT_MOVED and _was_mapped(old, sources.contig_count)
    dropped = _OF_ORIGINAL if has_original else 0
    dropped |= _OF_ALIGNMENT if own != NOT_MOVED else 0
    dropped |= _OF_MATE if mate != NOT_MOVED else 0
    dropped |= _OF_READ if text != NO_TEXT else 0
    at, has_mate_cigar = _put_kept_fields(out, at, old, dropped)
    if at == _MALFORMED:
        return at
    if own != NOT_MOVED:
        at = _put_alignment(out, at, own, sources.moves)
    if has_original:
        at = _put_original(out, at, old, sources.contigs)
    if has_mate_cigar:
        cigar = row_memory(sources.moves.cigars, mate, 4)
        at = close_text(out, put_cigar_text(out, open_text(out, at, _MC), cigar))
    if text != NO_TEXT:
        at = put_text_field(out, at, _SA, row_memory(sources.sa, text, 1))
    return at


@njit_inlined
def _set_of(name: Integer) -> Integer:
    """Return the set of fields to which a field belongs, or 0."""
    if name in (_AS, _XS, _NM, _MD):
        return _OF_ALIGNMENT
    if name in (_OC, _OP, _OA):
        return _OF_ORIGINAL
    if name == _MC:
        return _OF_MATE
    return _OF_READ if name == _SA else 0


@njit_inlined
def _put_kept_fields(
    out: Memory, at: Integer, old: OldRecord, dropped: Integer
) -> tuple[Integer, bool]:
    """Write fields except of some sets; return the end, and whether there was MC to drop.

    The end is `_MALFORMED` if a field is.
    """
    has_mate_cigar = False
    here = old.fields
    while here < old.bytes.size:
        size = field_bytes_in(old.bytes, here, old.bytes.size)
        if size == 0:
            return _MALFORMED, False
        of = _set_of(read_u16(old.bytes, here)) & dropped
        has_mate_cigar |= of == _OF_MATE
        if of == 0 and here != old.long_cigar:
            at = put_bytes(out, at, old.bytes, here, size)
        here += size
    return at, has_mate_cigar


@njit_inlined
def _was_mapped(old: OldRecord, contigs: Integer) -> bool:
    return bool(
        not read_u16(old.bytes, 18) & _UNMAPPED
        and 0 <= read_i32(old.bytes, 4) < contigs
        and read_i32(old.bytes, 8) >= 0
    )


@njit_inlined
def _put_alignment(out: Memory, at: Integer, own: Integer, moves: MoveMemory) -> Integer:
    """Write AS, XS, NM and MD of a move."""
    at = put_integer_field(out, at, _AS, read_i32(moves.scores, 4 * own))
    second = read_i32(moves.second_scores, 4 * own)
    if second != NO_SCORE:
        at = put_integer_field(out, at, _XS, second)
    at = put_integer_field(out, at, _NM, read_i32(moves.edit_distances, 4 * own))
    return put_text_field(out, at, _MD, row_memory(moves.mismatches, own, 1))


@njit_inlined
def _put_original(out: Memory, at: Integer, old: OldRecord, contigs: RaggedMemory) -> Integer:
    """Write OC, OP and OA: the old alignment, in OA after older ones."""
    record = old.bytes
    position = read_i32(record, 8) + 1
    at = close_text(out, put_cigar_text(out, open_text(out, at, _OC), old.cigar))
    at = open_text(out, put_integer_field(out, at, _OP, position), _OA)
    older = find_field_in(record, old.fields, record.size, _OA)
    if older >= 0:
        at = put_all(out, at, text_of(record, older))
    at = put_byte(out, put_all(out, at, row_memory(contigs, read_i32(record, 4), 1)), _COMMA)
    at = put_byte(out, put_count(out, at, position), _COMMA)
    at = put_byte(out, at, _MINUS if read_u16(record, 18) & _REVERSE else _PLUS)
    at = put_cigar_text(out, put_byte(out, at, _COMMA), old.cigar)
    at = put_byte(out, put_count(out, put_byte(out, at, _COMMA), read_u8(record, 13)), _COMMA)
    distance = find_field_in(record, old.fields, record.size, _NM)
    if distance >= 0:
        value, is_integer = integer_value(record, distance)
        if is_integer:
            at = put_integer(out, at, value)
    return close_text(out, put_byte(out, at, _SEMICOLON))

"""Bytes of a block of records of which some change."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import load_u64
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    copy_at,
    load_i32_at,
    load_u8_at,
    load_u16_at,
    store_8_at,
    store_32_at,
)
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
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes_at, name_number
from hapgpu.io.text.at_addresses import put_byte, put_copy
from hapgpu.realign.projection.move_table import NOT_MOVED
from hapgpu.realign.projection.moves import MoveView
from hapgpu.realign.records.fields import (
    MAX_ELEMENT_TEXT,
    MAX_INTEGER_FIELD,
    TEXT_FIELD,
    close_text,
    find_field_at,
    integer_value,
    open_text,
    put_cigar_text,
    put_integer_field,
    put_number,
    put_text_field,
    text_bytes,
)
from hapgpu.realign.records.mates import MateFields, OldRecord, old_record
from hapgpu.realign.selection.choice import NO_SCORE
from hapgpu.runtime.jit import njit, njit_inlined

UNCHANGED: Final = -1
"""Change of a record that keeps all bytes."""
NO_TEXT: Final = -1
"""Text of a record whose SA stays."""

_UNMAPPED, _REVERSE = 0x4, 0x10
_MAX_INTEGER_TEXT: Final = 11
_AS, _XS, _NM, _MD = (name_number(name) for name in ("AS", "XS", "NM", "MD"))
_OC, _OP, _OA = (name_number(name) for name in ("OC", "OP", "OA"))
_MC, _SA = name_number("MC"), name_number("SA")
_LONG_CIGAR_HEAD: Final = 8
_NAMELESS, _COMMA, _SEMICOLON, _PLUS, _MINUS = b"*,;+-"
_OF_ALIGNMENT, _OF_ORIGINAL, _OF_MATE, _OF_READ = 1, 2, 4, 8  # sets of fields


class Records(NamedTuple):
    """Bytes and layout of a block, as in `RecordBlock`."""

    data: NDArray[np.uint8]
    layout: RecordLayout


class Texts(NamedTuple):
    """Texts of fields, as addresses of arrays, which the caller must hold.

    Attributes
    ----------
    contigs
        Number of contigs.
    names, name_offsets
        The names of the contigs, by @SQ line: uint8 text and int64[contigs + 1].
    sa, sa_offsets
        New values of SA: uint8 text and int64.
    """

    contigs: int
    names: int
    name_offsets: int
    sa: int
    sa_offsets: int


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
    """The moves and the texts to which changes refer."""

    moves: MoveView
    texts: Texts


class _Change(NamedTuple):
    """The change of one record, as in `Changes`."""

    own: Integer
    mate: Integer
    sa_text: Integer
    flag: Integer
    position: Integer
    mate_position: Integer
    template_length: Integer


class _Text(NamedTuple):
    """Address and size of a text, or of the elements of a CIGAR and their number."""

    at: Integer
    size: Integer


@njit_inlined
def _row_of(data: Integer, offsets: Integer, row: Integer, width: Integer) -> _Text:
    """Return a row of a Ragged of items of `width` bytes."""
    start, end = load_u64(offsets + 8 * row), load_u64(offsets + 8 * row + 8)
    return _Text(data + width * np.int64(start), np.int64(end - start))


@njit
def max_growth(records: Records, changes: Changes, sources: Sources) -> Integer:
    """Return at least the number of bytes by which changed records grow."""
    base, starts, cigar_lengths = (
        records.data.ctypes.data,
        records.layout.starts,
        records.layout.cigar_lengths,
    )
    moves, texts = sources
    rows, own_moves, mate_moves = changes.rows, changes.own, changes.mates
    sa_texts = changes.sa_texts
    total = np.int64(0)
    for k in range(rows.size):
        own, mate, text = own_moves[k], mate_moves[k], sa_texts[k]
        total += 1  # for the name of a record without one
        if own != NOT_MOVED:
            old_text = MAX_ELEMENT_TEXT * np.int64(cigar_lengths[rows[k]]) + 1
            contig = load_i32_at(base + starts[rows[k]] + 4)
            if contig >= 0:
                total += _row_of(texts.names, texts.name_offsets, contig, 1).size
            elements = _row_of(moves.cigars, moves.cigar_offsets, own, 4).size
            total += 4 * elements + _LONG_CIGAR_HEAD + 8  # also of the placeholder
            total += 4 * MAX_INTEGER_FIELD + TEXT_FIELD
            total += _row_of(moves.mismatches, moves.mismatch_offsets, own, 1).size
            total += 2 * (TEXT_FIELD + old_text)
            total += 3 * _MAX_INTEGER_TEXT + 7  # numbers; commas, strand and ; of OA
        if mate != NOT_MOVED:
            elements = _row_of(moves.cigars, moves.cigar_offsets, mate, 4).size
            total += TEXT_FIELD + MAX_ELEMENT_TEXT * elements + 1
        if text != NO_TEXT:
            total += TEXT_FIELD + _row_of(texts.sa, texts.sa_offsets, text, 1).size
    return total


@njit
def write_records(
    records: Records,
    order: tuple[NDArray[np.int64], NDArray[np.int32]],
    changes: Changes,
    sources: Sources,
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> Integer:
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
        Receive the records, and int64[n + 1] their offsets.

    Returns
    -------
    int
        -1, or the row of a record with malformed fields.
    """
    rows, change_of = order
    base, size, layout = records.data.ctypes.data, records.data.size, records.layout
    starts = layout.starts
    own_moves, mate_moves, sa_texts, fields = changes[1:]
    flags, positions = fields.flags, fields.positions
    mate_positions, lengths = fields.mate_positions, fields.template_lengths
    first = np.int64(out.ctypes.data)
    end: Integer = first
    pending: Integer = np.int64(0)  # unchanged records from here to the next are copied at once
    pending_end: Integer = np.int64(0)
    offsets[0] = 0
    for k in range(rows.size):
        row: Integer = rows[k]
        at, change = np.int64(base + starts[row]), change_of[row]
        if change == UNCHANGED:
            if at != pending_end:
                end = put_copy(end, pending, pending_end - pending)
                pending = at
            pending_end = at + 4 + load_i32_at(at)
            offsets[k + 1] = end + pending_end - pending - first
            continue
        end = put_copy(end, pending, pending_end - pending)
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
        end = _put_record(end, old_record(base, size, layout, row), new, sources)
        if end == 0:
            return row
        offsets[k + 1] = end - first
    put_copy(end, pending, pending_end - pending)
    return np.int64(-1)


@njit_inlined
def _put_record(record: Integer, old: OldRecord, change: _Change, sources: Sources) -> Integer:
    """Write one changed record; return the address after it, or 0 if its fields are malformed."""
    moves = sources.moves
    at = put_copy(record, old.at, FIXED_BYTES + old.name_bytes)
    if old.name_bytes == 0:
        at = put_byte(at, _NAMELESS)
    at = put_byte(at, 0)
    name_bytes = at - record - FIXED_BYTES
    cigar = _Text(old.cigar, old.elements)
    if change.own != NOT_MOVED:
        cigar = _row_of(moves.cigars, moves.cigar_offsets, change.own, 4)
    span = reference_span(cigar.at, cigar.size)
    is_long = cigar.size > MAX_CIGAR_OPERATIONS
    if is_long:
        store_32_at(at, old.bases << 4 | SOFT_CLIP)
        store_32_at(at + 4, span << 4 | SKIP)
        at += 8
    else:
        at = put_copy(at, cigar.at, 4 * cigar.size)
    at = _put_fields(_put_sequence(at, old), old, change, sources)
    if at == 0:
        return at
    if is_long:
        store_32_at(at, LONG_CIGAR_TAG)
        store_32_at(at + 4, cigar.size)
        at = put_copy(at + _LONG_CIGAR_HEAD, cigar.at, 4 * cigar.size)
    covered = 0 if change.flag & _UNMAPPED else span
    number = bin_of(change.position, change.position + max(covered, 1)) & 0xFFFF
    quality = load_u8_at(old.at + 13)
    store_32_at(record, at - record - 4)
    store_32_at(record + 8, change.position)
    store_32_at(record + 12, name_bytes | quality << 8 | number << 16)
    store_32_at(record + 16, (2 if is_long else cigar.size) | change.flag << 16)
    store_32_at(record + 28, change.mate_position)
    store_32_at(record + 32, change.template_length)
    return at


@njit_inlined
def _put_sequence(at: Integer, old: OldRecord) -> Integer:
    """Write bases and qualities; unused bits are 0, and qualities are all missing or none."""
    packed = (old.bases + 1) // 2
    qualities = old.fields - old.bases
    at = put_copy(at, qualities - packed, packed)
    if old.bases % 2:
        store_8_at(at - 1, load_u8_at(at - 1) & 0xF0)
    if old.bases and load_u8_at(qualities) == MISSING_QUALITY:
        for k in range(old.bases):
            store_8_at(at + k, MISSING_QUALITY)
    else:
        copy_at(at, qualities, old.bases)
    return at + old.bases


@njit_inlined
def _put_fields(at: Integer, old: OldRecord, change: _Change, sources: Sources) -> Integer:
    """Write the optional fields except a long CIGAR; return the end, or 0 if one is malformed.

    Fields that stay come first, in their order, then the new ones.
    """
    moves, texts = sources
    own, mate, text = change.own, change.mate, change.sa_text
    has_original = own != NOT_MOVED and _was_mapped(old, texts.contigs)
    dropped = _OF_ORIGINAL if has_original else 0
    dropped |= _OF_ALIGNMENT if own != NOT_MOVED else 0
    dropped |= _OF_MATE if mate != NOT_MOVED else 0
    dropped |= _OF_READ if text != NO_TEXT else 0
    at, has_mate_cigar = _put_kept_fields(at, old, dropped)
    if at == 0:
        return at
    if own != NOT_MOVED:
        at = _put_alignment(at, own, moves)
    if has_original:
        at = _put_original(at, old, texts)
    if has_mate_cigar:
        cigar = _row_of(moves.cigars, moves.cigar_offsets, mate, 4)
        at = close_text(put_cigar_text(open_text(at, _MC), cigar.at, cigar.size))
    if text != NO_TEXT:
        value = _row_of(texts.sa, texts.sa_offsets, text, 1)
        at = put_text_field(at, _SA, value.at, value.size)
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
def _put_kept_fields(at: Integer, old: OldRecord, dropped: Integer) -> tuple[Integer, bool]:
    """Write fields except of some sets; return the end, and whether there was MC to drop.

    The end is 0 if a field is malformed.
    """
    has_mate_cigar = False
    here = old.fields
    while here < old.end:
        size = field_bytes_at(0, here, old.end, old.limit)
        if size == 0:
            return np.int64(0), False
        of = _set_of(load_u16_at(here)) & dropped
        has_mate_cigar |= of == _OF_MATE
        if of == 0 and here != old.long_cigar:
            at = put_copy(at, here, size)
        here += size
    return at, has_mate_cigar


@njit_inlined
def _was_mapped(old: OldRecord, contigs: Integer) -> bool:
    return bool(
        not load_u16_at(old.at + 18) & _UNMAPPED
        and 0 <= load_i32_at(old.at + 4) < contigs
        and load_i32_at(old.at + 8) >= 0
    )


@njit_inlined
def _put_alignment(at: Integer, own: Integer, moves: MoveView) -> Integer:
    """Write AS, XS, NM and MD of a move."""
    at = put_integer_field(at, _AS, load_i32_at(moves.scores + 4 * own))
    second = load_i32_at(moves.second_scores + 4 * own)
    if second != NO_SCORE:
        at = put_integer_field(at, _XS, second)
    at = put_integer_field(at, _NM, load_i32_at(moves.edit_distances + 4 * own))
    text = _row_of(moves.mismatches, moves.mismatch_offsets, own, 1)
    return put_text_field(at, _MD, text.at, text.size)


@njit_inlined
def _put_original(at: Integer, old: OldRecord, texts: Texts) -> Integer:
    """Write OC, OP and OA: the old alignment, in OA after older ones."""
    position = load_i32_at(old.at + 8) + 1
    at = close_text(put_cigar_text(open_text(at, _OC), old.cigar, old.elements))
    at = open_text(put_integer_field(at, _OP, position), _OA)
    older = find_field_at(old.fields, old.end, old.limit, _OA)
    if older:
        at = put_copy(at, older + HEAD_BYTES, max(text_bytes(older, old.end, old.limit), 0))
    name = _row_of(texts.names, texts.name_offsets, load_i32_at(old.at + 4), 1)
    at = put_byte(put_copy(at, name.at, name.size), _COMMA)
    at = put_byte(put_number(at, position), _COMMA)
    at = put_byte(at, _MINUS if load_u16_at(old.at + 18) & _REVERSE else _PLUS)
    at = put_cigar_text(put_byte(at, _COMMA), old.cigar, old.elements)
    at = put_byte(put_number(put_byte(at, _COMMA), load_u8_at(old.at + 13)), _COMMA)
    distance = find_field_at(old.fields, old.end, old.limit, _NM)
    if distance:
        value, is_integer = integer_value(distance)
        if is_integer:
            at = put_number(at, value)
    return close_text(put_byte(at, _SEMICOLON))

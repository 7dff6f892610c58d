"""Bytes of a block of records of which some change."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes, load_i32, load_u16, store_32
from hapgpu.arrays.ragged_view import RaggedView
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
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes, find_field, name_number
from hapgpu.io.text.numbers import put_integer
from hapgpu.realign.moves.move_table import NOT_MOVED
from hapgpu.realign.moves.move_view import MoveView
from hapgpu.realign.records.fields import (
    MAX_ELEMENT_TEXT,
    MAX_INTEGER_FIELD,
    TEXT_FIELD,
    close_text,
    integer_value,
    is_text,
    put_cigar_text,
    put_elements,
    put_head,
    put_integer_field,
    put_text_field,
    put_text_of_elements,
)
from hapgpu.realign.rewriting.affected_records import cigar_span
from hapgpu.realign.rewriting.mates import MateFields
from hapgpu.realign.selection.by_score import NO_SCORE
from hapgpu.runtime.jit import njit, njit_inlined

UNCHANGED: Final = -1
"""Change of a record that keeps all bytes."""
NO_TEXT: Final = -1
"""Text of a record whose SA stays."""

_UNMAPPED, _REVERSE = 0x4, 0x10
_MAX_INTEGER_TEXT: Final = 11
_AS, _XS, _NM, _MD = (name_number(name) for name in ("AS", "XS", "NM", "MD"))
_OC, _OP, _OA = (name_number(name) for name in ("OC", "OP", "OA"))
_MC, _SA, _CG = (name_number(name) for name in ("MC", "SA", "CG"))
_LONG_CIGAR_HEAD: Final = 8
_NAMELESS, _COMMA, _SEMICOLON, _PLUS, _MINUS = b"*,;+-"
_TEXT: Final = ord("Z")
_OF_ALIGNMENT, _OF_ORIGINAL, _OF_MATE, _OF_READ = 1, 2, 4, 8  # sets of fields


class Records(NamedTuple):
    """Bytes and layout of a block, as in `RecordBlock`."""

    data: NDArray[np.uint8]
    layout: RecordLayout


class Texts(NamedTuple):
    """Texts of fields: names of contigs, by @SQ line, and new values of SA."""

    contig_names: RaggedView
    sa: RaggedView


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
    moves, texts
        The moves and the texts to which the columns refer.
    """

    rows: NDArray[np.int64]
    own: NDArray[np.int64]
    mates: NDArray[np.int64]
    sa_texts: NDArray[np.int64]
    fields: MateFields
    moves: MoveView
    texts: Texts


@njit
def max_growth(records: Records, changes: Changes) -> Integer:
    """Return at least the number of bytes by which changed records grow."""
    layout, moves, texts = records.layout, changes.moves, changes.texts
    total = np.int64(0)
    for k in range(changes.rows.size):
        row, own, mate = changes.rows[k], changes.own[k], changes.mates[k]
        total += 1  # for the name of a record without one
        if own != NOT_MOVED:
            old_text = MAX_ELEMENT_TEXT * np.int64(layout.cigar_lengths[row]) + 1
            contig = load_i32(records.data, layout.starts[row] + 4)
            names = texts.contig_names.offsets
            name_bytes = names[contig + 1] - names[contig] if contig >= 0 else 0
            elements = moves.cigars.offsets[own + 1] - moves.cigars.offsets[own]
            mismatches = moves.mismatches.offsets[own + 1] - moves.mismatches.offsets[own]
            total += 4 * elements + _LONG_CIGAR_HEAD + 8  # also of the placeholder
            total += 4 * MAX_INTEGER_FIELD + TEXT_FIELD + mismatches
            total += 2 * (TEXT_FIELD + old_text)
            total += name_bytes + 3 * _MAX_INTEGER_TEXT + 6  # position, quality, NM of OA
        if mate != NOT_MOVED:
            elements = moves.cigars.offsets[mate + 1] - moves.cigars.offsets[mate]
            total += TEXT_FIELD + MAX_ELEMENT_TEXT * elements + 1
        text = changes.sa_texts[k]
        if text != NO_TEXT:
            total += TEXT_FIELD + texts.sa.offsets[text + 1] - texts.sa.offsets[text]
    return total


@njit
def write_records(
    records: Records,
    order: NDArray[np.int64],
    change_of: NDArray[np.int32],
    changes: Changes,
    out: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> Integer:
    """Write the records of a block.

    Parameters
    ----------
    records
        n records.
    order
        int64[n]: the records in the order in which they are written.
    change_of
        int32[n]: the change of each record, or `UNCHANGED`.
    changes
        The changes.
    out, offsets
        Receive the records, and int64[n + 1] their offsets.

    Returns
    -------
    int
        -1, or the row of a record with malformed fields.
    """
    data, starts = records.data, records.layout.starts
    end = np.int64(0)
    pending, pending_end = np.int64(0), np.int64(0)  # bytes of unchanged records, copied at once
    offsets[0] = 0
    for k in range(order.size):
        row: Integer = order[k]
        at = starts[row]
        if change_of[row] == UNCHANGED:
            if at != pending_end:
                copy_bytes(data, pending, out, end, pending_end - pending)
                end += pending_end - pending
                pending = at
            pending_end = at + 4 + np.int64(load_i32(data, at))
            offsets[k + 1] = end + pending_end - pending
            continue
        copy_bytes(data, pending, out, end, pending_end - pending)
        end += pending_end - pending
        pending = pending_end = np.int64(0)
        size = _put_record(records, row, changes, change_of[row], out, end)
        if size < 0:
            return row
        end += size
        offsets[k + 1] = end
    copy_bytes(data, pending, out, end, pending_end - pending)
    return np.int64(-1)


@njit_inlined
def _put_record(
    records: Records,
    row: Integer,
    changes: Changes,
    change: Integer,
    out: NDArray[np.uint8],
    record: Integer,
) -> Integer:
    """Write one changed record; return its size, or -1 if its fields are malformed."""
    data, layout, moves = records.data, records.layout, changes.moves
    at = layout.starts[row]
    own = changes.own[change]
    name_length = np.int64(layout.name_lengths[row])
    end = record + FIXED_BYTES + name_length
    copy_bytes(data, at, out, record, FIXED_BYTES + name_length)
    if name_length == 0:
        out[end] = _NAMELESS
        end += 1
    out[end] = 0
    end += 1
    name_bytes = end - record - FIXED_BYTES
    bases = np.int64(layout.base_counts[row])
    if own == NOT_MOVED:
        operations = np.int64(layout.cigar_lengths[row])
        span = cigar_span(data, layout.cigar_starts[row], layout.cigar_lengths[row])
    else:
        first, last = moves.cigars.offsets[own], moves.cigars.offsets[own + 1]
        operations = last - first
        span = reference_span(moves.cigars.data.ctypes.data + 4 * first, last - first)
    is_long = operations > MAX_CIGAR_OPERATIONS
    if is_long:
        store_32(out, end, bases << 4 | SOFT_CLIP)
        store_32(out, end + 4, span << 4 | SKIP)
        end += 8
    else:
        end = _put_cigar(records, row, moves.cigars, own, out, end)
    end = _put_sequence(records, row, out, end)
    end = _put_fields(records, row, changes, change, out, end)
    if end < 0:
        return end
    if is_long:
        store_32(out, end, LONG_CIGAR_TAG)
        store_32(out, end + 4, operations)
        end = _put_cigar(records, row, moves.cigars, own, out, end + _LONG_CIGAR_HEAD)
    fields = changes.fields
    flag, position = np.int64(fields.flags[change]), np.int64(fields.positions[change])
    covered = 0 if flag & _UNMAPPED else span
    number = bin_of(position, position + max(covered, 1)) & 0xFFFF
    quality = np.int64(data[np.uint64(at + 13)])
    store_32(out, record, end - record - 4)
    store_32(out, record + 8, position)
    store_32(out, record + 12, name_bytes | quality << 8 | number << 16)
    store_32(out, record + 16, (2 if is_long else operations) | flag << 16)
    store_32(out, record + 28, fields.mate_positions[change])
    store_32(out, record + 32, fields.template_lengths[change])
    return end - record


@njit
def _put_cigar(
    records: Records,
    row: Integer,
    cigars: RaggedView,
    own: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write the CIGAR of a move, or of the record if it does not move, as bytes."""
    if own != NOT_MOVED:
        start, end = np.int64(cigars.offsets[own]), np.int64(cigars.offsets[own + 1])
        return put_elements(out, at, cigars.data, start, end)
    size = 4 * np.int64(records.layout.cigar_lengths[row])
    copy_bytes(records.data, records.layout.cigar_starts[row], out, at, size)
    return at + size


@njit_inlined
def _put_sequence(records: Records, row: Integer, out: NDArray[np.uint8], at: Integer) -> Integer:
    """Write bases and qualities; unused bits are 0, and qualities are all missing or none."""
    data, bases = records.data, np.int64(records.layout.base_counts[row])
    packed = (bases + 1) // 2
    qualities = records.layout.tag_starts[row] - bases
    copy_bytes(data, qualities - packed, out, at, packed)
    if bases % 2:
        out[at + packed - 1] &= np.uint8(0xF0)
    at += packed
    if bases and data[np.uint64(qualities)] == MISSING_QUALITY:
        for k in range(bases):
            out[at + k] = MISSING_QUALITY
    else:
        copy_bytes(data, qualities, out, at, bases)
    return at + bases


@njit_inlined
def _put_fields(
    records: Records,
    row: Integer,
    changes: Changes,
    change: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write the optional fields except a long CIGAR; return the end, or -1 if one is malformed.

    Fields that stay come first, in their order, then the new ones.
    """
    moves, texts = changes.moves, changes.texts
    own, mate, text = changes.own[change], changes.mates[change], changes.sa_texts[change]
    has_original = own != NOT_MOVED and _was_mapped(records, row, texts.contig_names)
    dropped = _OF_ORIGINAL if has_original else 0
    dropped |= _OF_ALIGNMENT if own != NOT_MOVED else 0
    dropped |= _OF_MATE if mate != NOT_MOVED else 0
    dropped |= _OF_READ if text != NO_TEXT else 0
    at, has_mate_cigar = _put_kept_fields(records, row, dropped, out, at)
    if at < 0:
        return at
    if own != NOT_MOVED:
        at = put_integer_field(out, at, _AS, moves.scores[own])
        if moves.second_scores[own] != NO_SCORE:
            at = put_integer_field(out, at, _XS, moves.second_scores[own])
        at = put_integer_field(out, at, _NM, moves.edit_distances[own])
        mismatches = moves.mismatches
        first, last = mismatches.offsets[own], mismatches.offsets[own + 1]
        at = put_text_field(out, at, _MD, mismatches.data, first, last)
    if has_original:
        at = _put_original(records, row, texts.contig_names, out, at)
    if has_mate_cigar:
        at = put_head(out, at, _MC, _TEXT)
        first, last = moves.cigars.offsets[mate], moves.cigars.offsets[mate + 1]
        at = close_text(out, put_text_of_elements(out, at, moves.cigars.data, first, last))
    if text != NO_TEXT:
        first, last = texts.sa.offsets[text], texts.sa.offsets[text + 1]
        at = put_text_field(out, at, _SA, texts.sa.data, first, last)
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
    records: Records, row: Integer, dropped: Integer, out: NDArray[np.uint8], at: Integer
) -> tuple[Integer, bool]:
    """Write fields except of some sets; return the end, and whether there was MC to drop."""
    data, layout = records.data, records.layout
    start = layout.starts[row]
    has_mate_cigar = False
    here, end = layout.tag_starts[row], start + 4 + load_i32(data, start)
    while here < end:
        size = field_bytes(data, here, end)
        if size == 0:
            return np.int64(-1), False
        of = _set_of(load_u16(data, here)) & dropped
        has_mate_cigar |= of == _OF_MATE
        if of == 0 and here != layout.long_cigars[row]:
            copy_bytes(data, here, out, at, size)
            at += size
        here += size
    return at, has_mate_cigar


@njit_inlined
def _was_mapped(records: Records, row: Integer, contig_names: RaggedView) -> bool:
    data, record = records.data, records.layout.starts[row]
    contig = load_i32(data, record + 4)
    return bool(
        not load_u16(data, record + 18) & _UNMAPPED
        and 0 <= contig < contig_names.offsets.size - 1
        and load_i32(data, record + 8) >= 0
    )


@njit
def _put_original(
    records: Records,
    row: Integer,
    contig_names: RaggedView,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write OC, OP and OA: the old alignment, in OA after older ones."""
    data, layout = records.data, records.layout
    start = layout.starts[row]
    tags, end = layout.tag_starts[row], start + 4 + load_i32(data, start)
    cigar, elements = layout.cigar_starts[row], layout.cigar_lengths[row]
    position = load_i32(data, start + 8) + 1
    at = put_head(out, at, _OC, _TEXT)
    at = close_text(out, put_cigar_text(out, at, data, cigar, elements))
    at = put_integer_field(out, at, _OP, position)
    at = put_head(out, at, _OA, _TEXT)
    older = find_field(data, tags, end, _OA)
    if older >= 0 and is_text(data, older):
        size = field_bytes(data, older, end) - HEAD_BYTES - 1
        copy_bytes(data, older + HEAD_BYTES, out, at, size)
        at += size
    contig = load_i32(data, start + 4)
    first, last = contig_names.offsets[contig], contig_names.offsets[contig + 1]
    copy_bytes(contig_names.data, first, out, at, last - first)
    at += last - first
    out[at] = _COMMA
    at = put_integer(out, at + 1, position)
    out[at] = _COMMA
    out[at + 1] = _MINUS if load_u16(data, start + 18) & _REVERSE else _PLUS
    out[at + 2] = _COMMA
    at = put_cigar_text(out, at + 3, data, cigar, elements)
    out[at] = _COMMA
    at = put_integer(out, at + 1, np.int64(data[np.uint64(start + 13)]))
    out[at] = _COMMA
    at += 1
    distance = find_field(data, tags, end, _NM)
    if distance >= 0:
        value, is_integer = integer_value(data, distance)
        if is_integer:
            at = put_integer(out, at, value)
    out[at] = _SEMICOLON
    return close_text(out, at + 1)

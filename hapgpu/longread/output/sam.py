"""Records of SAM for mappings with base alignments, as minimap2 2.30's `mm_write_sam3` writes them.

Bases and qualities are those of the file, or reverse-complemented.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.cigar.encoding import DELETION, HARD_CLIP, INSERTION, MATCH, SKIP, SOFT_CLIP
from hapgpu.io.text.at_addresses import (
    put_byte,
    put_copy,
    put_count_at,
    put_head,
    put_number_tag,
    put_two,
    tag_head,
)
from hapgpu.io.text.fields import NEWLINE, STAR, TAB, text_of
from hapgpu.longread.align.batches import Row
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.cigars import (
    Alignment,
    alignment_of,
    put_element,
    put_elements,
    put_operation,
    put_operations,
)
from hapgpu.longread.output.parts import (
    ALIGNED_BASES,
    MAPPED,
    RECORDS,
    SECONDARY,
    SUPPLEMENTARY,
    LineRange,
)
from hapgpu.longread.output.rows import LineForm, LineRows
from hapgpu.longread.output.tags import RL, edit_distance, put_comment, put_difference, put_tags
from hapgpu.runtime.jit import njit, njit_inlined

_REVERSE: Final = 0x10
_SECONDARY: Final = 0x100
_SUPPLEMENTARY: Final = 0x800
_MAX_BAM_OPERATIONS: Final = 65_535
_SA: Final = tag_head("SA", "Z")
_CG: Final = tag_head("CG", "B")
_COMMA, _SEMICOLON, _INT32 = b",;I"
_STRANDS: Final = text_of("+-")
_NO_MATE: Final = text_of("\t*\t0\t0\t")
_NO_POSITION: Final = text_of("\t4\t*\t0\t0\t*\t*\t0\t0\t")


class _SamOptions(NamedTuple):
    """Options for compiled code."""

    secondary: bool
    unmapped: bool
    difference: int
    moves_long_cigars: bool
    soft_clips_all: bool
    secondary_bases: bool


class _Parts(NamedTuple):
    """Parts of a read in a record.

    Attributes
    ----------
    flag
        FLAG.
    before, after, clip
        Bases clipped before and after the aligned ones, on the strand of the reference, and the
        operation for them.
    start, length
        Bases to write, on the forward strand of the read; length 0: none.
    """

    flag: Integer
    before: Integer
    after: Integer
    clip: Integer
    start: Integer
    length: Integer


@njit
def _parts_of(mapping: Row, read_length: Integer, options: _SamOptions) -> _Parts:
    """Return flag, clips and bases of the record of a mapping."""
    is_secondary = mapping.number != mapping.parent
    is_supplementary = not is_secondary and not mapping.is_first_primary
    flag = np.int64(_REVERSE if mapping.is_reverse else 0)
    flag |= np.int64(_SECONDARY if is_secondary else 0)
    flag |= np.int64(_SUPPLEMENTARY if is_supplementary else 0)
    before, after = np.int64(mapping.query_start), read_length - np.int64(mapping.query_end)
    clip = np.int64(SOFT_CLIP)
    start, length = np.int64(0), np.int64(read_length)
    if not options.soft_clips_all:
        if is_supplementary or (is_secondary and options.secondary_bases):
            clip = np.int64(HARD_CLIP)
            start, length = before, read_length - before - after
        elif is_secondary:
            length = np.int64(0)
    if mapping.is_reverse:
        before, after = after, before
    return _Parts(flag, before, after, clip, start, length)


@njit
def _put_sequence(
    text: NDArray[np.uint8], read: Row, parts: _Parts, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write SEQ, a tab and QUAL at `out[at]`; return the end."""
    is_reverse = parts.flag & _REVERSE
    if parts.length == 0:
        out[at], out[at + 1], out[at + 2] = STAR, TAB, STAR
        return at + 3
    at = put_bases(text, read.bases + parts.start, parts.length, is_reverse, out, at)
    out[at] = TAB
    at += 1
    if read.qualities < 0:
        out[at] = STAR
        return at + 1
    return put_qualities(text, read.qualities + parts.start, parts.length, is_reverse, out, at)


@njit_inlined
def _operations_of(alignment: Alignment, parts: _Parts) -> Integer:
    """Return the number of operations with clips."""
    clips = np.int64(parts.before > 0) + np.int64(parts.after > 0)
    return clips + alignment.operation_count


@njit
def _put_cigar(
    at: Integer, mapping: Row, alignment: Alignment, parts: _Parts, is_moved: Integer
) -> Integer:
    """Write CIGAR; one that is moved to the tag CG is replaced by its lengths."""
    if alignment.operation_count == 0:
        return put_byte(at, STAR)
    if is_moved:
        at = put_operation(at, parts.length, SOFT_CLIP)
        return put_operation(at, np.int64(mapping.target_end) - mapping.target_start, SKIP)
    if parts.before:
        at = put_operation(at, parts.before, parts.clip)
    at = put_operations(at, alignment.operations, alignment.operation_count)
    if parts.after:
        at = put_operation(at, parts.after, parts.clip)
    return at


@njit
def _put_moved_cigar(at: Integer, alignment: Alignment, parts: _Parts) -> Integer:
    """Write the tag CG."""
    at = put_byte(put_head(at, _CG), _INT32)
    if parts.before:
        at = put_element(at, parts.before << 4 | parts.clip)
    at = put_elements(at, alignment.operations, alignment.operation_count)
    if parts.after:
        at = put_element(at, parts.after << 4 | parts.clip)
    return at


@njit
def _put_place(at: Integer, mapping: Row, read_length: Integer, target: Row) -> Integer:
    """Write a mapping as an item of SA."""
    query_length = np.int64(mapping.query_end) - mapping.query_start
    target_length = np.int64(mapping.target_end) - mapping.target_start
    before, after = np.int64(mapping.query_start), read_length - mapping.query_end
    if mapping.is_reverse:
        before, after = after, before
    at = put_byte(put_copy(at, target.name, target.name_length), _COMMA)
    at = put_count_at(at, np.int64(mapping.target_start) + 1)
    at = put_byte(put_two(at, _COMMA, _STRANDS[mapping.is_reverse]), _COMMA)
    if before:
        at = put_operation(at, before, SOFT_CLIP)
    at = put_operation(at, min(query_length, target_length), MATCH)
    if query_length > target_length:
        at = put_operation(at, query_length - target_length, INSERTION)
    elif query_length < target_length:
        at = put_operation(at, target_length - query_length, DELETION)
    if after:
        at = put_operation(at, after, SOFT_CLIP)
    at = put_count_at(put_byte(at, _COMMA), np.int64(mapping.quality))
    at = put_count_at(put_byte(at, _COMMA), edit_distance(mapping))
    return put_byte(at, _SEMICOLON)


@njit
def _put_other_places(
    at: Integer,
    row: Integer,
    start: Integer,
    end: Integer,
    mappings: NDArray[np.void],
    read_length: Integer,
    targets: NDArray[np.void],
) -> Integer:
    """Write the tag SA: the mappings from `start` to `end`, except `row` and secondary ones."""
    head = at
    for k in range(start, end):
        mapping = mappings[k]
        if k == row or mapping.number != mapping.parent or mapping.operations == 0:
            continue
        if at == head:
            at = put_head(at, _SA)
        at = _put_place(at, mapping, read_length, targets[mapping.sequence])
    return at


@njit
def _put_place_columns(at: Integer, mapping: Row, target: Row, flag: Integer) -> Integer:
    """Write FLAG, RNAME, POS and MAPQ, each with a tab."""
    at = put_byte(put_count_at(put_byte(at, TAB), flag), TAB)
    at = put_byte(put_copy(at, target.name, target.name_length), TAB)
    at = put_byte(put_count_at(at, np.int64(mapping.target_start) + 1), TAB)
    return put_byte(put_count_at(at, np.int64(mapping.quality)), TAB)


@njit
def _put_records(
    text: NDArray[np.uint8],
    rows: LineRows,
    read_group: NDArray[np.uint8],
    options: _SamOptions,
    part: LineRange,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """Write the records of a part; return their size."""
    mappings, offsets, operations = rows.mappings, rows.offsets, rows.operations.ctypes.data
    group, group_size = read_group.ctypes.data, read_group.size
    no_mate, no_position = _NO_MATE.ctypes.data, _NO_POSITION.ctypes.data
    first = np.int64(out.ctypes.data)
    at: Integer = first
    targets = rows.targets
    for row in range(part.first_read, part.end_read):
        read = rows.reads[row]
        start, end = offsets[row], offsets[row + 1]
        if start == end and options.unmapped:
            at = put_copy(at, read.name, read.name_length)
            at = put_copy(at, no_position, _NO_POSITION.size)
            zero = np.int64(0)
            parts = _Parts(zero, zero, zero, zero, zero, read.length)
            at = first + _put_sequence(text, read, parts, out, at - first)
            at = put_number_tag(put_copy(at, group, group_size), RL, read.repeats)
            at = put_byte(put_comment(at, read), NEWLINE)
            counts[RECORDS] += 1
        counts[MAPPED] += end > start >= part.first_row
        for k in range(max(start, part.first_row), min(end, part.end_row)):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or options.secondary):
                continue
            target = targets[mapping.sequence]
            alignment = alignment_of(mapping, operations, read, target)
            parts = _parts_of(mapping, read.length, options)
            is_moved = np.int64(
                options.moves_long_cigars and _operations_of(alignment, parts) > _MAX_BAM_OPERATIONS
            )
            at = put_copy(at, read.name, read.name_length)
            at = _put_place_columns(at, mapping, target, parts.flag)
            at = _put_cigar(at, mapping, alignment, parts, is_moved)
            at = put_copy(at, no_mate, _NO_MATE.size)
            at = first + _put_sequence(text, read, parts, out, at - first)
            at = put_tags(put_copy(at, group, group_size), mapping)
            if is_primary and alignment.operation_count:
                at = _put_other_places(at, k, start, end, mappings, read.length, targets)
            at = put_difference(at, mapping, alignment, options.difference)
            if is_moved:
                at = _put_moved_cigar(at, alignment, parts)
            at = put_number_tag(at, RL, read.repeats)
            at = put_byte(put_comment(at, read), NEWLINE)
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
            counts[SUPPLEMENTARY] += (parts.flag & _SUPPLEMENTARY) != 0
            if is_primary:
                counts[ALIGNED_BASES] += np.int64(mapping.query_end) - mapping.query_start
    return at - first


@njit
def _count_bases(rows: LineRows, options: _SamOptions, base_counts: NDArray[np.int64]) -> None:
    """Set the number of bases in the record of each mapping."""
    mappings, offsets = rows.mappings, rows.offsets
    for row in range(rows.reads.size):
        for k in range(offsets[row], offsets[row + 1]):
            base_counts[k] = _parts_of(mappings[k], rows.reads[row].length, options).length


def sam_form(options: MappingOptions, line_options: LineOptions) -> LineForm:
    """Return the form of records of SAM.

    Bases have the case of the file, with T for U. A read without bases has `*`.
    """
    read_group = _read_group_text(line_options.read_group)
    sam_options = _SamOptions(
        options.prints_secondary,
        not line_options.mapped_only,
        line_options.difference.value,
        line_options.moves_long_cigars,
        line_options.soft_clips_all,
        line_options.secondary_bases,
    )

    def put(
        text: NDArray[np.uint8],
        rows: LineRows,
        part: LineRange,
        out: NDArray[np.uint8],
        counts: NDArray[np.int64],
    ) -> int:
        return int(_put_records(text, rows, read_group, sam_options, part, out, counts))

    def base_counts(rows: LineRows) -> NDArray[np.int64]:
        counts = np.empty(rows.mappings.size, dtype=np.int64)
        _count_bases(rows, sam_options, counts)
        return counts

    return LineForm(put, base_counts, read_group.size)


def _read_group_text(identifier: str | None) -> NDArray[np.uint8]:
    tag = "" if identifier is None else f"\tRG:Z:{identifier}"
    return np.frombuffer(tag.encode("utf-8", "surrogateescape"), dtype=np.uint8)


_LETTERS: Final = b"ACGTUKMRYBVDH"
_COMPLEMENTS: Final = b"TGCAAMKYRVBHD"
_COMPLEMENT: Final = np.frombuffer(
    bytes(range(256)).translate(
        bytes.maketrans(_LETTERS + _LETTERS.lower(), _COMPLEMENTS + _COMPLEMENTS.lower())
    ),
    dtype=np.uint8,
)
"""Complement of each IUPAC letter, in the same case; other bytes are unchanged."""
_UPPER, _U = np.uint8(0xDF), np.uint8(ord("U"))


@njit
def put_bases(
    text: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    is_reverse: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write bases of a text, U as T, or their reverse complement."""
    to = np.uint64(at)
    if is_reverse:
        last = np.uint64(start + length - 1)
        for k in range(np.uint64(length)):
            out[to + k] = _COMPLEMENT[text[last - k]]
    else:
        first = np.uint64(start)
        for k in range(np.uint64(length)):
            letter = text[first + k]
            out[to + k] = letter - np.uint8((letter & _UPPER) == _U)
    return at + length


@njit
def put_qualities(
    text: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    is_reverse: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write qualities of a text, or their reverse."""
    if is_reverse:
        to, last = np.uint64(at), np.uint64(start + length - 1)
        for k in range(np.uint64(length)):
            out[to + k] = text[last - k]
    else:
        copy_bytes(text, start, out, at, length)
    return at + length

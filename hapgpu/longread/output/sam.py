"""Records of SAM for mappings with base alignments, as minimap2 2.30's `mm_write_sam3` writes them.

Bases and qualities are those of the file, or reverse-complemented.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8, write_8
from hapgpu.cigar.encoding import DELETION, HARD_CLIP, INSERTION, MATCH, SKIP, SOFT_CLIP
from hapgpu.io.text.builder import (
    has_room,
    put_all,
    put_byte,
    put_bytes,
    put_count,
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
    alignment_memory,
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
    WrittenLines,
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
def _put_sequence(text: Memory, at: Integer, read: Row, source: Memory, parts: _Parts) -> Integer:
    """Write SEQ, a tab and QUAL; `source` is the text of the reads."""
    is_reverse = parts.flag & _REVERSE
    if parts.length == 0:
        return put_byte(text, put_two(text, at, STAR, TAB), STAR)
    at = put_bases(text, at, source, read.bases + parts.start, parts.length, is_reverse)
    at = put_byte(text, at, TAB)
    if read.qualities < 0:
        return put_byte(text, at, STAR)
    return put_qualities(text, at, source, read.qualities + parts.start, parts.length, is_reverse)


@njit_inlined
def _operations_of(alignment: Alignment, parts: _Parts) -> Integer:
    """Return the number of operations with clips."""
    clips = np.int64(parts.before > 0) + np.int64(parts.after > 0)
    return clips + alignment.operation_count


@njit
def _put_cigar(
    text: Memory, at: Integer, alignment: Alignment, parts: _Parts, is_moved: Integer
) -> Integer:
    """Write CIGAR; one that is moved to the tag CG is replaced by its lengths."""
    if alignment.operation_count == 0:
        return put_byte(text, at, STAR)
    if is_moved:
        at = put_operation(text, at, parts.length, SOFT_CLIP)
        return put_operation(text, at, alignment.target.size, SKIP)
    if parts.before:
        at = put_operation(text, at, parts.before, parts.clip)
    at = put_operations(text, at, alignment)
    if parts.after:
        at = put_operation(text, at, parts.after, parts.clip)
    return at


@njit
def _put_moved_cigar(text: Memory, at: Integer, alignment: Alignment, parts: _Parts) -> Integer:
    """Write the tag CG."""
    at = put_byte(text, put_head(text, at, _CG), _INT32)
    if parts.before:
        at = put_element(text, at, parts.before << 4 | parts.clip)
    at = put_elements(text, at, alignment)
    if parts.after:
        at = put_element(text, at, parts.after << 4 | parts.clip)
    return at


@njit
def _put_place(
    text: Memory, at: Integer, mapping: Row, read_length: Integer, target: Row, names: Memory
) -> Integer:
    """Write a mapping as an item of SA."""
    query_length = np.int64(mapping.query_end) - mapping.query_start
    target_length = np.int64(mapping.target_end) - mapping.target_start
    before, after = np.int64(mapping.query_start), read_length - mapping.query_end
    if mapping.is_reverse:
        before, after = after, before
    at = put_byte(text, put_bytes(text, at, names, target.name, target.name_length), _COMMA)
    at = put_count(text, at, np.int64(mapping.target_start) + 1)
    at = put_byte(text, put_two(text, at, _COMMA, _STRANDS[mapping.is_reverse]), _COMMA)
    if before:
        at = put_operation(text, at, before, SOFT_CLIP)
    at = put_operation(text, at, min(query_length, target_length), MATCH)
    if query_length > target_length:
        at = put_operation(text, at, query_length - target_length, INSERTION)
    elif query_length < target_length:
        at = put_operation(text, at, target_length - query_length, DELETION)
    if after:
        at = put_operation(text, at, after, SOFT_CLIP)
    at = put_count(text, put_byte(text, at, _COMMA), np.int64(mapping.quality))
    at = put_count(text, put_byte(text, at, _COMMA), edit_distance(mapping))
    return put_byte(text, at, _SEMICOLON)


@njit
def _put_other_places(
    text: Memory,
    at: Integer,
    row: Integer,
    start: Integer,
    end: Integer,
    mappings: NDArray[np.void],
    read_length: Integer,
    targets: NDArray[np.void],
    names: Memory,
) -> Integer:
    """Write the tag SA: the mappings from `start` to `end`, except `row` and secondary ones."""
    head = at
    for k in range(start, end):
        mapping = mappings[k]
        if k == row or mapping.number != mapping.parent or mapping.operations == 0:
            continue
        if at == head:
            at = put_head(text, at, _SA)
        at = _put_place(text, at, mapping, read_length, targets[mapping.sequence], names)
    return at


@njit
def _put_place_columns(
    text: Memory, at: Integer, mapping: Row, target: Row, names: Memory, flag: Integer
) -> Integer:
    """Write FLAG, RNAME, POS and MAPQ, each with a tab; `names` has the names of references."""
    at = put_byte(text, put_count(text, put_byte(text, at, TAB), flag), TAB)
    at = put_byte(text, put_bytes(text, at, names, target.name, target.name_length), TAB)
    at = put_byte(text, put_count(text, at, np.int64(mapping.target_start) + 1), TAB)
    return put_byte(text, put_count(text, at, np.int64(mapping.quality)), TAB)


@njit
def _put_unmapped(
    text: Memory, at: Integer, read: Row, source: Memory, read_group: Memory
) -> Integer:
    """Write the record of a read without mappings; `source` is the text of the reads."""
    at = put_bytes(text, at, source, read.name, read.name_length)
    at = put_all(text, at, memory_of(_NO_POSITION))
    zero = np.int64(0)
    parts = _Parts(zero, zero, zero, zero, zero, read.length)
    at = put_all(text, _put_sequence(text, at, read, source, parts), read_group)
    at = put_number_tag(text, at, RL, read.repeats)
    return put_byte(text, put_comment(text, at, read, source), NEWLINE)


@njit
def _put_records(
    rows: LineRows,
    read_group: NDArray[np.uint8],
    options: _SamOptions,
    first_read: Integer,
    first_row: Integer,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> WrittenLines:
    """Write records from a read and a row on, as far as there is room."""
    mappings, offsets, memory = rows.mappings, rows.offsets, alignment_memory(rows)
    text, source, names = memory_of(out), memory_of(rows.text), memory_of(rows.names)
    group, no_mate = memory_of(read_group), memory_of(_NO_MATE)
    at: Integer = np.int64(0)
    for row in range(first_read, rows.reads.size):
        read = rows.reads[row]
        start, end = offsets[row], offsets[row + 1]
        if start == end and options.unmapped:
            stop = _put_unmapped(text, at, read, source, group)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), start)
            at = stop
            counts[RECORDS] += 1
        for k in range(max(start, first_row), end):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or options.secondary):
                continue
            target = rows.targets[mapping.sequence]
            alignment = alignment_of(mapping, read, target, memory)
            parts = _parts_of(mapping, read.length, options)
            is_moved = np.int64(
                options.moves_long_cigars and _operations_of(alignment, parts) > _MAX_BAM_OPERATIONS
            )
            stop = put_bytes(text, at, source, read.name, read.name_length)
            stop = _put_place_columns(text, stop, mapping, target, names, parts.flag)
            stop = _put_cigar(text, stop, alignment, parts, is_moved)
            stop = _put_sequence(text, put_all(text, stop, no_mate), read, source, parts)
            stop = put_tags(text, put_all(text, stop, group), mapping)
            if is_primary and alignment.operation_count:
                stop = _put_other_places(
                    text, stop, k, start, end, mappings, read.length, rows.targets, names
                )
            stop = put_difference(text, stop, alignment, options.difference)
            if is_moved:
                stop = _put_moved_cigar(text, stop, alignment, parts)
            stop = put_number_tag(text, stop, RL, read.repeats)
            stop = put_byte(text, put_comment(text, stop, read, source), NEWLINE)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), k)
            at = stop
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
            counts[SUPPLEMENTARY] += (parts.flag & _SUPPLEMENTARY) != 0
            if is_primary:
                counts[ALIGNED_BASES] += np.int64(mapping.query_end) - mapping.query_start
        counts[MAPPED] += end > start
    return WrittenLines(at, np.int64(0), rows.reads.size, mappings.size)


def sam_form(options: MappingOptions, line_options: LineOptions) -> LineForm:
    """Return the form of records of SAM.

    Bases have the case of the file, with T for U. A read without bases has `*`.
    """
    read_group = read_group_text(line_options.read_group)
    sam_options = _SamOptions(
        options.prints_secondary,
        not line_options.mapped_only,
        line_options.difference.value,
        line_options.moves_long_cigars,
        line_options.soft_clips_all,
        line_options.secondary_bases,
    )
    return lambda rows, *place: _put_records(rows, read_group, sam_options, *place)


def read_group_text(identifier: str | None) -> NDArray[np.uint8]:
    """Return uint8: the tag RG with a tab before it; nothing without an identifier."""
    tag = "" if identifier is None else f"\tRG:Z:{identifier}"
    return np.frombuffer(tag.encode("utf-8", "surrogateescape"), dtype=np.uint8)


_LETTERS: Final = b"ACGTUKMRYBVDH"
_COMPLEMENTS: Final = b"TGCAAMKYRVBHD"
COMPLEMENTS: Final = np.frombuffer(
    bytes(range(256)).translate(
        bytes.maketrans(_LETTERS + _LETTERS.lower(), _COMPLEMENTS + _COMPLEMENTS.lower())
    ),
    dtype=np.uint8,
)
"""Complement of each IUPAC letter, in the same case; other bytes are unchanged."""
_UPPER, _U = np.int64(0xDF), np.int64(ord("U"))


@njit
def put_bases(
    text: Memory,
    at: Integer,
    source: Memory,
    start: Integer,
    length: Integer,
    is_reverse: Integer,
) -> Integer:
    """Write bases of another text, U as T, or their reverse complement."""
    end = at + length
    if not has_room(text, end):
        return end
    if is_reverse:
        last = start + length - 1
        for k in range(length):
            write_8(text, at + k, np.int64(COMPLEMENTS[read_u8(source, last - k)]))
    else:
        for k in range(length):
            letter = read_u8(source, start + k)
            write_8(text, at + k, letter - np.int64((letter & _UPPER) == _U))
    return end


@njit
def put_qualities(
    text: Memory,
    at: Integer,
    source: Memory,
    start: Integer,
    length: Integer,
    is_reverse: Integer,
) -> Integer:
    """Write qualities of another text, or their reverse."""
    end = at + length
    if not is_reverse:
        return put_bytes(text, at, source, start, length)
    if has_room(text, end):
        last = start + length - 1
        for k in range(length):
            write_8(text, at + k, read_u8(source, last - k))
    return end

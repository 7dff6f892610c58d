"""Lines of PAF with base alignments, as minimap2 2.30 writes them with -c or --cs.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
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
from hapgpu.io.text.fields import NEWLINE, TAB, text_of
from hapgpu.longread.align.batches import Row
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.cigars import Alignment, alignment_memory, alignment_of, put_operations
from hapgpu.longread.output.parts import ALIGNED_BASES, MAPPED, RECORDS, SECONDARY, WrittenLines
from hapgpu.longread.output.rows import LineForm, LineRows
from hapgpu.longread.output.tags import RL, put_comment, put_difference, put_tags
from hapgpu.runtime.jit import njit, njit_inlined

_CG: Final = tag_head("cg", "Z")
_UNMAPPED: Final = text_of("\t0\t0\t*\t*\t0\t0\t0\t0\t0\t0")
_STRANDS: Final = text_of("+-")


class _PafOptions(NamedTuple):
    """Options for compiled code."""

    secondary: bool
    unmapped: bool
    has_cigar: bool
    difference: int


@njit_inlined
def _put_column(text: Memory, at: Integer, value: Integer) -> Integer:
    """Write a tab and a number."""
    return put_count(text, put_byte(text, at, TAB), np.int64(value))


@njit
def put_columns(
    text: Memory,
    at: Integer,
    mapping: Row,
    read: Row,
    source: Memory,
    target: Row,
    names: Memory,
) -> Integer:
    """Write the twelve columns.

    Parameters
    ----------
    text, at
        Where to write.
    mapping
        The mapping.
    read, source
        Its read, and the text of the reads.
    target, names
        Its reference sequence, and the text of the names.
    """
    at = put_bytes(text, at, source, read.name, read.name_length)
    at = _put_column(text, at, read.length)
    at = _put_column(text, at, mapping.query_start)
    at = _put_column(text, at, mapping.query_end)
    at = put_two(text, at, TAB, _STRANDS[mapping.is_reverse])
    at = put_bytes(text, put_byte(text, at, TAB), names, target.name, target.name_length)
    at = _put_column(text, at, target.length)
    at = _put_column(text, at, mapping.target_start)
    at = _put_column(text, at, mapping.target_end)
    at = _put_column(text, at, mapping.matches)
    at = _put_column(text, at, mapping.length)
    return _put_column(text, at, mapping.quality)


@njit
def put_unmapped(text: Memory, at: Integer, read: Row, source: Memory) -> Integer:
    """Write the line of a read without mappings; `source` is the text of the reads."""
    at = put_bytes(text, at, source, read.name, read.name_length)
    at = put_all(text, _put_column(text, at, read.length), memory_of(_UNMAPPED))
    return put_byte(text, put_number_tag(text, at, RL, read.repeats), NEWLINE)


@njit_inlined
def _put_alignment(
    text: Memory, at: Integer, alignment: Alignment, options: _PafOptions
) -> Integer:
    """Write the tag cg and the tag of a `Difference`, as far as wanted."""
    if options.has_cigar and alignment.operation_count:
        at = put_operations(text, put_head(text, at, _CG), alignment)
    return put_difference(text, at, alignment, options.difference)


@njit
def _put_lines(
    rows: LineRows,
    options: _PafOptions,
    first_read: Integer,
    first_row: Integer,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> WrittenLines:
    """Write lines from a read and a row on, as far as there is room."""
    mappings, offsets, memory = rows.mappings, rows.offsets, alignment_memory(rows)
    text, source, names = memory_of(out), memory_of(rows.text), memory_of(rows.names)
    at: Integer = np.int64(0)
    for row in range(first_read, rows.reads.size):
        read = rows.reads[row]
        start, end = offsets[row], offsets[row + 1]
        if start == end and options.unmapped:
            stop = put_unmapped(text, at, read, source)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), start)
            at = stop
        for k in range(max(start, first_row), end):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or options.secondary):
                continue
            target = rows.targets[mapping.sequence]
            alignment = alignment_of(mapping, read, target, memory)
            stop = put_columns(text, at, mapping, read, source, target, names)
            stop = put_tags(text, stop, mapping)
            stop = put_number_tag(text, stop, RL, read.repeats)
            stop = _put_alignment(text, stop, alignment, options)
            stop = put_byte(text, put_comment(text, stop, read, source), NEWLINE)
            if not has_room(text, stop):
                return WrittenLines(at, stop, np.int64(row), k)
            at = stop
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
            if is_primary:
                counts[ALIGNED_BASES] += np.int64(mapping.query_end) - mapping.query_start
        counts[MAPPED] += end > start
    return WrittenLines(at, np.int64(0), rows.reads.size, mappings.size)


def paf_form(options: MappingOptions, line_options: LineOptions) -> LineForm:
    """Return the form of lines of PAF, with `*` for unmapped reads if asked for."""
    paf_options = _PafOptions(
        options.prints_secondary,
        options.prints_unmapped,
        line_options.has_cigar,
        line_options.difference.value,
    )
    return lambda rows, *place: _put_lines(rows, paf_options, *place)

"""Lines of PAF with base alignments, as minimap2 2.30 writes them with -c or --cs.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.text.at_addresses import (
    put_byte,
    put_copy,
    put_count_at,
    put_head,
    put_number_tag,
    put_two,
    tag_head,
)
from hapgpu.io.text.fields import NEWLINE, TAB, text_of
from hapgpu.longread.align.batches import Row
from hapgpu.longread.options import LineOptions, MappingOptions
from hapgpu.longread.output.cigars import alignment_of, put_operations
from hapgpu.longread.output.parts import ALIGNED_BASES, MAPPED, RECORDS, SECONDARY, LineRange
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
def _put_column(at: Integer, value: Integer) -> Integer:
    """Write a tab and a number."""
    return put_count_at(put_byte(at, TAB), np.int64(value))


@njit
def put_columns(at: Integer, mapping: Row, read: Row, target: Row) -> Integer:
    """Write the twelve columns."""
    at = put_copy(at, read.name, read.name_length)
    at = _put_column(at, read.length)
    at = _put_column(at, mapping.query_start)
    at = _put_column(at, mapping.query_end)
    at = put_two(at, TAB, _STRANDS[mapping.is_reverse])
    at = put_copy(put_byte(at, TAB), target.name, target.name_length)
    at = _put_column(at, target.length)
    at = _put_column(at, mapping.target_start)
    at = _put_column(at, mapping.target_end)
    at = _put_column(at, mapping.matches)
    at = _put_column(at, mapping.length)
    return _put_column(at, mapping.quality)


@njit
def put_unmapped(at: Integer, read: Row) -> Integer:
    """Write the line of a read without mappings."""
    at = _put_column(put_copy(at, read.name, read.name_length), read.length)
    at = put_copy(at, _UNMAPPED.ctypes.data, _UNMAPPED.size)
    return put_byte(put_number_tag(at, RL, read.repeats), NEWLINE)


@njit
def _put_lines(
    rows: LineRows,
    options: _PafOptions,
    part: LineRange,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """Write the lines of a part; return their size."""
    mappings, offsets, operations = rows.mappings, rows.offsets, rows.operations.ctypes.data
    first = out.ctypes.data
    at: Integer = np.int64(first)
    for row in range(part.first_read, part.end_read):
        read = rows.reads[row]
        start, end = offsets[row], offsets[row + 1]
        counts[MAPPED] += end > start >= part.first_row
        if start == end and options.unmapped:
            at = put_unmapped(at, read)
        for k in range(max(start, part.first_row), min(end, part.end_row)):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or options.secondary):
                continue
            target = rows.targets[mapping.sequence]
            alignment = alignment_of(mapping, operations, read, target)
            at = put_tags(put_columns(at, mapping, read, target), mapping)
            at = put_number_tag(at, RL, read.repeats)
            if options.has_cigar and alignment.operation_count:
                at = put_head(at, _CG)
                at = put_operations(at, alignment.operations, alignment.operation_count)
            at = put_difference(at, mapping, alignment, options.difference)
            at = put_byte(put_comment(at, read), NEWLINE)
            counts[RECORDS] += 1
            counts[SECONDARY] += not is_primary
            if is_primary:
                counts[ALIGNED_BASES] += np.int64(mapping.query_end) - mapping.query_start
    return at - first


def paf_form(options: MappingOptions, line_options: LineOptions) -> LineForm:
    """Return the form of lines of PAF, with `*` for unmapped reads if asked for."""
    paf_options = _PafOptions(
        options.prints_secondary,
        options.prints_unmapped,
        line_options.has_cigar,
        line_options.difference.value,
    )

    def put(
        _text: NDArray[np.uint8],
        rows: LineRows,
        part: LineRange,
        out: NDArray[np.uint8],
        counts: NDArray[np.int64],
    ) -> int:
        return int(_put_lines(rows, paf_options, part, out, counts))

    return LineForm(put, lambda rows: np.zeros(rows.mappings.size, dtype=np.int64), 0)

"""Lines of PAF with base alignments, as minimap2 2.30 writes them with -c or --cs.

The columns are those of https://lh3.github.io/minimap2/minimap2.html#10.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.batches import AlignedMappings, ReadCodes
from hapgpu.chaining.options import LineOptions, MappingOptions
from hapgpu.chaining.output.alignments.cigars import alignment_of, put_operations, split_matches
from hapgpu.chaining.output.alignments.rows import (
    ALIGNED_BASES,
    COUNT_NAMES,
    MAPPED,
    RECORDS,
    SECONDARY,
    Lines,
    LineTargets,
    MappingRows,
    aligned_line_parts,
    counts_of,
    read_rows,
)
from hapgpu.chaining.output.alignments.tags import RL, put_comment, put_difference, put_tags
from hapgpu.chaining.output.parts import PART_BYTES, LineRange
from hapgpu.io.fastx.spans import CommentSpans, ReadSpans
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
def _put_columns(at: Integer, mapping: Any, read: Any, target: Any) -> Integer:
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
def _put_lines(
    rows: MappingRows,
    reads: NDArray[np.void],
    targets: NDArray[np.void],
    options: _PafOptions,
    part: LineRange,
    out: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """Write the lines of a part; return their size."""
    mappings, offsets, operations = rows.mappings, rows.offsets, rows.operations.ctypes.data
    unmapped = _UNMAPPED.ctypes.data
    first = out.ctypes.data
    at: Integer = np.int64(first)
    for row in range(part.first_read, part.end_read):
        read = reads[row]
        start, end = offsets[row], offsets[row + 1]
        counts[MAPPED] += end > start >= part.first_row
        if start == end and options.unmapped:
            at = put_copy(at, read.name, read.name_length)
            at = put_copy(_put_column(at, read.length), unmapped, _UNMAPPED.size)
            at = put_byte(put_number_tag(at, RL, read.repeats), NEWLINE)
        for k in range(max(start, part.first_row), min(end, part.end_row)):
            mapping = mappings[k]
            is_primary = mapping.number == mapping.parent
            if not (is_primary or options.secondary):
                continue
            target = targets[mapping.sequence]
            alignment = alignment_of(mapping, operations, read, target)
            at = put_tags(_put_columns(at, mapping, read, target), mapping)
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


def aligned_paf_parts(
    text: NDArray[np.uint8],
    spans: ReadSpans,
    aligned: AlignedMappings,
    targets: LineTargets,
    codes: ReadCodes,
    repeat_lengths: NDArray[np.int32],
    options: MappingOptions,
    line_options: LineOptions,
    comments: CommentSpans | None = None,
    most: int = PART_BYTES,
) -> list[Callable[[], Lines]]:
    """Return functions that write the aligned mappings of reads as lines of PAF.

    Each writes a part of the lines, in the order of the reads and their mappings, with `*` for
    unmapped reads if asked for.

    Parameters
    ----------
    text, spans
        uint8 text of a block of n reads, and its spans.
    aligned
        Mappings of these reads, in the order of the lines.
    targets
        Reference sequences.
    codes
        Bases of the reads.
    repeat_lengths
        int32[n]: bases of each read in repetitive seeds, for the tag rl.
    options, line_options
        Options for mappings and for lines.
    comments
        Comments to append, in the same text; None for none.
    most
        Most bytes of a part of several lines.
    """
    reads = read_rows(text, spans, codes, repeat_lengths, comments)
    rows = MappingRows.of(aligned)
    if line_options.splits_matches:
        rows = split_matches(rows, reads, targets.rows)
    paf_options = _PafOptions(
        options.prints_secondary,
        options.prints_unmapped,
        line_options.has_cigar,
        line_options.difference.value,
    )

    def put(part: LineRange, _text: NDArray[np.uint8], _codes: ReadCodes) -> Lines:
        # The rows have addresses in the text and the codes.
        out = np.empty(part.size, dtype=np.uint8)
        counts = np.zeros(len(COUNT_NAMES), dtype=np.int64)
        used = _put_lines(rows, reads, targets.rows, paf_options, part, out, counts)
        return Lines(out[:used], counts_of(counts))

    no_bases = np.zeros(rows.mappings.size, dtype=np.int64)
    parts = aligned_line_parts(rows, reads, no_bases, targets.longest_name, 0, most)
    return [partial(put, part, text, codes) for part in parts]

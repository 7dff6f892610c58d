"""Hits written as SAM records on the CPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.io.fastx.read_block import ReadSpans, TextBlock
from hapgpu.io.text.fields import NEWLINE, TAB, put_count, put_tag, put_text, text_of
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.shortread.sam.fields import (
    HitPlacement,
    ReadText,
    placement_of,
    put_cigar,
    put_differences,
    put_name,
    put_no_sequence,
    put_position,
    put_sequence,
    reference_letter,
)
from hapgpu.shortread.sam.tables import (
    MAX_COUNTED,
    TWO_BEST,
    RecordCounts,
    RecordFilter,
    SamTables,
    sam_block,
)
from hapgpu.shortread.search.hits import INSERTION, MIN_READ_BASES, KeptHits

_REVERSE: Final = 16
_SECONDARY: Final = 256
_FIXED_TEXT: Final = 256
"""Maximum characters of a line, without names, bases, qualities and read group."""

_NO_MATE: Final = text_of("\t*\t0\t0\t")
_NO_POSITION: Final = text_of("4\t*\t0\t0\t*\t*\t0\t0\t")
_NH: Final = text_of("\tNH:i:")
_HI: Final = text_of("\tHI:i:")
_X0: Final = text_of("\tX0:i:")
_X1: Final = text_of("\tX1:i:")
_XL: Final = text_of("\tXL:i:")


class _SpanColumns(NamedTuple):
    """`ReadSpans` for compiled code."""

    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    base_starts: NDArray[np.int32]
    quality_starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    has_qualities: bool


class _HitCounts(NamedTuple):
    """Counts of the hits of one read.

    Attributes
    ----------
    best, second
        Hits with the fewest errors, and with one error more.
    hits, records
        Hits to report, and the records written for them.
    """

    best: Integer
    second: Integer
    hits: Integer
    records: Integer


class Place(NamedTuple):
    """A record of some reads: the row of the read, and the number of its record, from 0."""

    read: int
    record: int


_START: Final = Place(0, 0)


class _KeptColumns(NamedTuple):
    """`KeptHits` for compiled code."""

    offsets: NDArray[np.int64]
    hits: NDArray[np.uint64]
    exact: NDArray[np.int64]
    inexact: NDArray[np.int64]


@njit_inlined
def _count_hits(exact: Integer, inexact: Integer, record_filter: RecordFilter) -> _HitCounts:
    best: Integer = exact if exact > 0 else inexact
    second: Integer = inexact if exact > 0 else np.int64(0)
    count: Integer = best if record_filter.best else best + second
    return _HitCounts(best, second, count, min(count, np.int64(record_filter.max_hits)))


@njit_inlined
def _mapping_quality(qualities: NDArray[np.uint8], counts: _HitCounts) -> Integer:
    if counts.best == 1:
        return np.int64(qualities[min(counts.second, MAX_COUNTED)])
    return np.int64(TWO_BEST if counts.best == 2 else 0)


@njit_inlined
def _max_line_size(line: Integer, read: ReadText, has_sequence: Integer) -> Integer:
    """Return an upper bound of the characters of a line, given that of its other fields."""
    return line + read.name_length + (2 * read.length if has_sequence else np.int64(0))


@njit
def _max_text_sizes(
    tables: SamTables, spans: _SpanColumns, kept: _KeptColumns, start: Place, line: Integer
) -> tuple[Integer, Integer]:
    """Return upper bounds of the characters of all lines from `start` on, and of one line."""
    name_lengths, lengths = spans.name_lengths, spans.lengths
    exact, inexact = kept.exact, kept.inexact
    total, most = np.int64(0), np.int64(0)
    for read in range(start.read, exact.size):
        counts = _count_hits(exact[read], inexact[read], tables.record_filter)
        without_bases = line + np.int64(name_lengths[read])
        bases = 2 * np.int64(lengths[read])
        lines = max(counts.records, np.int64(1))
        total += lines * without_bases
        total += (lines if tables.record_filter.secondary_seq else np.int64(1)) * bases
        most = max(most, without_bases + bases)
    return total, most


@njit_inlined
def _put_unmapped(
    text: NDArray[np.uint8],
    read: ReadText,
    read_group: NDArray[np.uint8],
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write the record of a read without hits."""
    at = put_name(text, read, out, at)
    at = put_text(out, at, _NO_POSITION)
    at = put_sequence(text, read, 0, out, at)
    at = put_text(out, at, read_group)
    out[at] = NEWLINE
    return at + 1


@njit_inlined
def _put_alignment(
    hit: HitPlacement, length: Integer, quality: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write MAPQ, CIGAR and empty mate fields, with tabs around them."""
    out[at] = TAB
    at = put_count(out, at + 1, quality)
    out[at] = TAB
    at = put_cigar(hit, length, out, at + 1)
    return put_text(out, at, _NO_MATE)


@njit_inlined
def _put_counts(
    counts: _HitCounts, number: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write the tags that count the hits of a read; `number` is the record, from 1."""
    at = put_tag(out, at, _NH, counts.hits)
    at = put_tag(out, at, _HI, number)
    at = put_tag(out, at, _X0, counts.best)
    at = put_tag(out, at, _X1, counts.second)
    if counts.records < counts.hits:
        at = put_tag(out, at, _XL, counts.records)
    return at


@njit
def _put_reads(
    tables: SamTables,
    text: NDArray[np.uint8],
    spans: _SpanColumns,
    kept: _KeptColumns,
    first: Integer,
    start: Place,
    line: Integer,
    out: NDArray[np.uint8],
) -> tuple[Integer, Place]:
    """Write the records from `start` on, until `out` is full or a kept hit is missing.

    Returns the number of characters and the next record. `first` is the number of the first kept
    hit of the first read. `line` bounds the characters of a line, without the name, the bases and
    the qualities of the read.
    """
    # Taken out of their tuples once: within the loops, Numba would count references to them.
    contig_offsets, names, name_offsets = tables.contig_offsets, tables.names, tables.name_offsets
    planes, others = tables.planes, tables.others
    letter_positions, letters = tables.letter_positions, tables.letters
    mapping_qualities, read_group = tables.mapping_qualities, tables.read_group
    name_starts, name_lengths = spans.name_starts, spans.name_lengths
    base_starts, quality_starts, lengths = spans.base_starts, spans.quality_starts, spans.lengths
    offsets, hits, exact, inexact = kept.offsets, kept.hits, kept.exact, kept.inexact
    first_kept = np.int64(first)
    secondary_seq = np.int64(tables.record_filter.secondary_seq)

    at: Integer = np.int64(0)
    number: Integer = np.int64(start.record)
    for row in range(start.read, exact.size):
        read = ReadText(
            np.int64(name_starts[row]),
            np.int64(name_lengths[row]),
            np.int64(base_starts[row]),
            np.int64(quality_starts[row]),
            np.int64(lengths[row]),
            spans.has_qualities,
        )
        counts = _count_hits(exact[row], inexact[row], tables.record_filter)
        if counts.hits == 0:
            if tables.record_filter.unmapped:
                if at + _max_line_size(line, read, 1) > out.size:
                    return at, Place(row, 0)
                at = _put_unmapped(text, read, read_group, out, at)
            continue
        quality = _mapping_quality(mapping_qualities, counts)
        # Of the first read, the kept hits start with hit `first`.
        first_hit = offsets[row] - (first_kept if row == 0 else 0)
        end = min(counts.records, offsets[row + 1] - first_hit)
        for k in range(number, end):
            has_sequence = np.int64(k == 0) | secondary_seq
            if at + _max_line_size(line, read, has_sequence) > out.size:
                return at, Place(row, k)
            hit = placement_of(hits[first_hit + k])
            at = put_name(text, read, out, at)
            at = put_count(out, at, _REVERSE * hit.strand + _SECONDARY * np.int64(k > 0))
            out[at] = TAB
            at = put_position(contig_offsets, names, name_offsets, hit.start, out, at + 1)
            at = _put_alignment(hit, read.length, quality, out, at)
            if has_sequence:
                at = put_sequence(text, read, hit.strand, out, at)
            else:
                at = put_no_sequence(out, at)
            letter: Integer = np.int64(0)
            if hit.distance > 0 and hit.kind != INSERTION:
                error = hit.start + hit.error
                letter = reference_letter(planes, others, letter_positions, letters, error)
            at = put_differences(hit, read.length, letter, out, at)
            at = _put_counts(counts, k + 1, out, at)
            at = put_text(out, at, read_group)
            out[at] = NEWLINE
            at += 1
        if end < counts.records:
            return at, Place(row, end)
        number = np.int64(0)
    return at, Place(exact.size, 0)


@njit
def _count_records(
    record_filter: RecordFilter,
    lengths: NDArray[np.int32],
    kept: _KeptColumns,
    start: Place,
    end: Place,
) -> tuple[Integer, Integer, Integer, Integer, Integer, Integer]:
    """Count the reads whose first record is between two places, and the records there.

    Returns the number of reads, and `RecordCounts`.
    """
    exact, inexact = kept.exact, kept.inexact
    reads = mapped = hits = records = over_max = too_short = np.int64(0)
    for row in range(start.read, end.read + np.int64(end.record > 0)):
        counts = _count_hits(exact[row], inexact[row], record_filter)
        written: Integer = counts.records
        if counts.hits == 0:
            written = np.int64(record_filter.unmapped)
        first = start.record if row == start.read else 0
        records += (end.record if row == end.read else written) - first
        if first == 0:
            reads += 1
            mapped += np.int64(counts.hits > 0)
            hits += counts.hits
            over_max += np.int64(counts.records < counts.hits)
            too_short += np.int64(lengths[row] < MIN_READ_BASES)
    return reads, mapped, hits, records, over_max, too_short


def format_records(
    tables: SamTables,
    text: NDArray[np.uint8],
    spans: ReadSpans,
    kept: KeptHits,
    *,
    start: Place = _START,
    first: int = 0,
    max_size: int | None = None,
) -> tuple[TextBlock, Place]:
    """Write the hits of some reads as SAM records, until a size is reached.

    Parameters
    ----------
    tables
        The tables of the searched index and the options.
    text
        uint8, the text of the spans.
    spans
        The spans of n reads.
    kept
        The hits of the first k of these reads.
    start
        The first record to write.
    first
        The number, from 0, of the first kept hit of the first read.
    max_size
        Maximum characters; at least one line is written.

    Returns
    -------
    TextBlock
        The records of each read in the order of its hits, reads in input order. A read is counted
        with its first record.
    Place
        The next record to write; its read is k at the end. Its hit may be one that is not kept.
    """
    columns, hits = columns_of(_SpanColumns, spans), columns_of(_KeptColumns, kept)
    text = read_only(text)
    line = _FIXED_TEXT + tables.longest_name + tables.read_group.size
    total, longest = _max_text_sizes(tables, columns, hits, start, line)
    size = total if max_size is None else min(total, max(max_size, longest))
    out = np.empty(int(size), dtype=np.uint8)
    size, end = _put_reads(tables, text, columns, hits, first, start, line, out)
    numbers = _count_records(tables.record_filter, columns.lengths, hits, start, end)
    reads, *counts = map(int, numbers)
    return sam_block(out[:size], reads, RecordCounts(*counts)), Place(*map(int, end))

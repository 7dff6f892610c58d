"""Hits written as SAM records on the CPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.io.fastx.read_block import ReadSpans, TextBlock
from hapgpu.io.text.builder import (
    built_text,
    put_all,
    put_byte,
    put_count,
    put_head,
    tag_head,
)
from hapgpu.io.text.fields import NEWLINE, TAB, text_of
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
_LINE_BYTES: Final = 400
"""Expected characters of a line without its name, bases and qualities."""
_NO_LIMIT: Final = 2**62

_NO_MATE: Final = text_of("\t*\t0\t0\t")
_NO_POSITION: Final = text_of("4\t*\t0\t0\t*\t*\t0\t0\t")
_NH, _HI, _X0, _X1, _XL = (tag_head(name, "i") for name in ("NH", "HI", "X0", "X1", "XL"))


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


@njit
def _lines_from(record_filter: RecordFilter, kept: _KeptColumns, start: Place) -> Integer:
    """Return the number of records from `start` on, if all reads without hits have one."""
    exact, inexact = kept.exact, kept.inexact
    lines = np.int64(-start.record)
    for read in range(start.read, exact.size):
        counts = _count_hits(exact[read], inexact[read], record_filter)
        lines += max(counts.records, np.int64(1))
    return lines


@njit_inlined
def _put_unmapped(
    text: Memory, at: Integer, reads: Memory, read: ReadText, read_group: Memory
) -> Integer:
    """Write the record of a read without hits."""
    at = put_name(text, at, reads, read)
    at = put_all(text, at, memory_of(_NO_POSITION))
    at = put_sequence(text, at, reads, read, np.int64(0))
    return put_byte(text, put_all(text, at, read_group), NEWLINE)


@njit_inlined
def _put_alignment(
    text: Memory, at: Integer, hit: HitPlacement, length: Integer, quality: Integer
) -> Integer:
    """Write MAPQ, CIGAR and empty mate fields, with tabs around them."""
    at = put_count(text, put_byte(text, at, TAB), quality)
    at = put_cigar(text, put_byte(text, at, TAB), hit, length)
    return put_all(text, at, memory_of(_NO_MATE))


@njit_inlined
def _put_tag(text: Memory, at: Integer, head: Integer, count: Integer) -> Integer:
    return put_count(text, put_head(text, at, head), count)


@njit_inlined
def _put_counts(text: Memory, at: Integer, counts: _HitCounts, number: Integer) -> Integer:
    """Write the tags that count the hits of a read; `number` is the record, from 1."""
    at = _put_tag(text, at, _NH, counts.hits)
    at = _put_tag(text, at, _HI, number)
    at = _put_tag(text, at, _X0, counts.best)
    at = _put_tag(text, at, _X1, counts.second)
    return _put_tag(text, at, _XL, counts.records) if counts.records < counts.hits else at


@njit
def _put_reads(
    tables: SamTables,
    source: NDArray[np.uint8],
    spans: _SpanColumns,
    kept: _KeptColumns,
    first: Integer,
    start: Place,
    limit: int,
    out: NDArray[np.uint8],
) -> tuple[Integer, Place]:
    """Write the records from `start` on, up to a number of characters or a missing kept hit.

    Returns the number of characters and the next record. `first` is the number of the first kept
    hit of the first read.
    """
    # Taken out of their tuples once: within the loops, Numba would count references to them.
    contig_offsets, name_offsets = tables.contig_offsets, tables.name_offsets
    planes, others = tables.planes, tables.others
    letter_positions, letters = tables.letter_positions, tables.letters
    mapping_qualities = tables.mapping_qualities
    name_starts, name_lengths = spans.name_starts, spans.name_lengths
    base_starts, quality_starts, lengths = spans.base_starts, spans.quality_starts, spans.lengths
    offsets, hits, exact, inexact = kept.offsets, kept.hits, kept.exact, kept.inexact
    text, reads = memory_of(out), memory_of(source)
    names, read_group = memory_of(tables.names), memory_of(tables.read_group)
    first_kept = np.int64(first)
    secondary_seq = np.int64(tables.record_filter.secondary_seq)

    end: Integer = np.int64(0)
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
                at = _put_unmapped(text, end, reads, read, read_group)
                if at > limit and end > 0:
                    return end, Place(row, 0)
                end = at
            continue
        quality = _mapping_quality(mapping_qualities, counts)
        # Of the first read, the kept hits start with hit `first`.
        first_hit = offsets[row] - (first_kept if row == 0 else 0)
        last = min(counts.records, offsets[row + 1] - first_hit)
        for k in range(number, last):
            hit = placement_of(hits[first_hit + k])
            at = put_name(text, end, reads, read)
            at = put_count(text, at, _REVERSE * hit.strand + _SECONDARY * np.int64(k > 0))
            at = put_byte(text, at, TAB)
            at = put_position(text, at, contig_offsets, names, name_offsets, hit.start)
            at = _put_alignment(text, at, hit, read.length, quality)
            if np.int64(k == 0) | secondary_seq:
                at = put_sequence(text, at, reads, read, hit.strand)
            else:
                at = put_no_sequence(text, at)
            letter: Integer = np.int64(0)
            if hit.distance > 0 and hit.kind != INSERTION:
                error = hit.start + hit.error
                letter = reference_letter(planes, others, letter_positions, letters, error)
            at = put_differences(text, at, hit, read.length, letter)
            at = _put_counts(text, at, counts, k + 1)
            at = put_byte(text, put_all(text, at, read_group), NEWLINE)
            if at > limit and end > 0:
                return end, Place(row, k)
            end = at
        if last < counts.records:
            return end, Place(row, last)
        number = np.int64(0)
    return end, Place(exact.size, 0)


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
    limit = _NO_LIMIT if max_size is None else max_size
    end = start

    def write(out: NDArray[np.uint8]) -> int:
        nonlocal end
        size, end = _put_reads(tables, read_only(text), columns, hits, first, start, limit, out)
        return int(size)

    lines = int(_lines_from(tables.record_filter, hits, start))
    records = built_text(write, min(lines * _line_bytes(spans), limit))
    numbers = _count_records(tables.record_filter, columns.lengths, hits, start, end)
    reads, *counts = map(int, numbers)
    return sam_block(records, reads, RecordCounts(*counts)), Place(*map(int, end))


def _line_bytes(spans: ReadSpans) -> int:
    """Return the expected characters of the longest line.

    All lines are expected to be as long: memory that is not written takes none, but a text with
    too little memory is written twice.
    """
    name, bases = (int(sizes.max(initial=0)) for sizes in (spans.name_lengths, spans.lengths))
    return _LINE_BYTES + name + 2 * bases

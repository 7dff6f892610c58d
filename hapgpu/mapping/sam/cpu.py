"""Hits written as SAM records on the CPU."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.text.fields import NEWLINE, TAB, put_count, put_tag, put_text, text_of
from hapgpu.mapping.sam.hit_fields import (
    HitPlacement,
    distance_of,
    placement_of,
    put_cigar,
    put_differences,
    put_position,
    reference_letter,
)
from hapgpu.mapping.sam.mapping_quality import MAX_COUNTED, TWO_BEST
from hapgpu.mapping.sam.read_fields import ReadText, put_name, put_no_sequence, put_sequence
from hapgpu.mapping.sam.record_counts import RecordCounts, sam_block
from hapgpu.mapping.sam.tables import RecordFilter, SamTables
from hapgpu.mapping.search.hits import INSERTION, MIN_READ_BASES, HitBatch
from hapgpu.runtime.jit import njit, njit_inlined

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


class _Spans(NamedTuple):
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


class _Counts(NamedTuple):
    """As in `RecordCounts`, with the number of characters first."""

    size: Integer
    mapped: Integer
    hits: Integer
    records: Integer
    reads_over_max_hits: Integer
    too_short: Integer


@njit_inlined
def _end_of_stratum(
    hits: NDArray[np.uint64], start: Integer, end: Integer, distance: Integer
) -> Integer:
    """Return the index of the first hit of a read with a greater distance."""
    low, high = np.int64(start), np.int64(end)
    while low < high:
        middle = (low + high) >> 1
        if distance_of(hits[middle]) <= distance:
            low = middle + 1
        else:
            high = middle
    return low


@njit_inlined
def _count_hits(
    hits: NDArray[np.uint64], start: Integer, end: Integer, record_filter: RecordFilter
) -> _HitCounts:
    if start == end:
        return _HitCounts(np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    min_distance = distance_of(hits[start])
    end_of_best = _end_of_stratum(hits, start, end, min_distance)
    end_of_second = _end_of_stratum(hits, end_of_best, end, min_distance + 1)
    count = np.int64((end_of_best if record_filter.best else end) - start)
    records = min(count, np.int64(record_filter.max_hits))
    return _HitCounts(end_of_best - start, end_of_second - end_of_best, count, records)


@njit_inlined
def _mapping_quality(qualities: NDArray[np.uint8], counts: _HitCounts) -> Integer:
    if counts.best == 1:
        return np.int64(qualities[min(counts.second, MAX_COUNTED)])
    return np.int64(TWO_BEST if counts.best == 2 else 0)


@njit
def _max_text_size(
    tables: SamTables,
    spans: _Spans,
    offsets: NDArray[np.int64],
    hits: NDArray[np.uint64],
    longest_name: int,
) -> Integer:
    """Return an upper bound of the characters of all lines."""
    name_lengths, lengths = spans.name_lengths, spans.lengths
    line = _FIXED_TEXT + longest_name + tables.read_group.size
    size = np.int64(0)
    for read in range(lengths.size):
        start, end = offsets[read], offsets[read + 1]
        counts = _count_hits(hits, start, end, tables.record_filter)
        lines = max(counts.records, np.int64(1))
        size += lines * (line + np.int64(name_lengths[read])) + 2 * np.int64(lengths[read])
    return size


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
    spans: _Spans,
    offsets: NDArray[np.int64],
    hits: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> _Counts:
    """Write the records of all reads."""
    # Taken out of their tuples once: within the loops, Numba would count references to them.
    contig_offsets, names, name_offsets = tables.contig_offsets, tables.names, tables.name_offsets
    planes, others = tables.planes, tables.others
    letter_positions, letters = tables.letter_positions, tables.letters
    mapping_qualities, read_group = tables.mapping_qualities, tables.read_group
    name_starts, name_lengths = spans.name_starts, spans.name_lengths
    base_starts, quality_starts, lengths = spans.base_starts, spans.quality_starts, spans.lengths

    at: Integer = np.int64(0)
    mapped = hit_count = records = over_max = too_short = np.int64(0)
    for row in range(lengths.size):
        read = ReadText(
            np.int64(name_starts[row]),
            np.int64(name_lengths[row]),
            np.int64(base_starts[row]),
            np.int64(quality_starts[row]),
            np.int64(lengths[row]),
            spans.has_qualities,
        )
        too_short += np.int64(read.length < MIN_READ_BASES)
        start, end = offsets[row], offsets[row + 1]
        if start == end:
            if tables.record_filter.unmapped:
                at = _put_unmapped(text, read, read_group, out, at)
                records += 1
            continue
        counts = _count_hits(hits, start, end, tables.record_filter)
        quality = _mapping_quality(mapping_qualities, counts)
        mapped += 1
        hit_count += counts.hits
        records += counts.records
        over_max += np.int64(counts.records < counts.hits)
        for k in range(counts.records):
            hit = placement_of(hits[start + k])
            at = put_name(text, read, out, at)
            at = put_count(out, at, _REVERSE * hit.strand + _SECONDARY * np.int64(k > 0))
            out[at] = TAB
            at = put_position(contig_offsets, names, name_offsets, hit.start, out, at + 1)
            at = _put_alignment(hit, read.length, quality, out, at)
            at = put_no_sequence(out, at) if k else put_sequence(text, read, hit.strand, out, at)
            letter: Integer = np.int64(0)
            if hit.distance > 0 and hit.kind != INSERTION:
                error = hit.start + hit.error
                letter = reference_letter(planes, others, letter_positions, letters, error)
            at = put_differences(hit, read.length, letter, out, at)
            at = _put_counts(counts, k + 1, out, at)
            at = put_text(out, at, read_group)
            out[at] = NEWLINE
            at += 1
    return _Counts(at, mapped, hit_count, records, over_max, too_short)


def format_records(
    tables: SamTables, text: NDArray[np.uint8], spans: ReadSpans, hits: HitBatch
) -> TextBlock:
    """Write the hits of a block of reads as SAM records.

    Parameters
    ----------
    tables
        The tables of the searched index and the options.
    text
        uint8, the text of the spans.
    spans
        The spans of n reads.
    hits
        The hits of these reads.

    Returns
    -------
    TextBlock
        The records of each read in the order of its hits, reads in input order.
    """
    columns = _Spans(
        read_only(spans.name_starts),
        read_only(spans.name_lengths),
        read_only(spans.base_starts),
        read_only(spans.quality_starts),
        read_only(spans.lengths),
        spans.has_qualities,
    )
    text, offsets, words = read_only(text), read_only(hits.offsets), read_only(hits.hits)
    size = _max_text_size(tables, columns, offsets, words, tables.longest_name)
    out = np.empty(int(size), dtype=np.uint8)
    counts = _put_reads(tables, text, columns, offsets, words, out)
    numbers = RecordCounts(*(int(number) for number in counts[1:]))
    return sam_block(out[: counts.size], len(spans), numbers)

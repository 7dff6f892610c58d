"""Reads of active regions: clipped to their spans, in GATK's order."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of, part_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only, view_of
from hapgpu.calling.batches import ActiveRegions, RegionReads, SegmentReads, TrimmedRegions
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.clipping import (
    BaseRanges,
    bases_before,
    clipped_cigars,
    clipped_to_spans,
    has_mapped_mate,
    usable_ranges,
)
from hapgpu.calling.reads.read_order import (
    ReadFields,
    fields_memory_of,
    has_mate,
    slot_of,
    sorted_reads,
    table_size,
)
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.runtime.jit import njit, njit_inlined

_MAX_QUALITY: Final = 20
"""Of equal bases of both mates: half of the Phred quality of an error in PCR, 40."""

MIN_BASES: Final = 10
"""Shorter reads are dropped after trimming."""
_MIN_MAPPING_QUALITY: Final = 20
"""GATK's `--mapping-quality-threshold-for-genotyping`."""


def finalized_reads(
    segment: SegmentReads, regions: ActiveRegions, options: AssemblyOptions
) -> RegionReads:
    """Clip the reads of a segment to r active regions, in GATK's order.

    Each read whose alignment overlaps the padded span of an active region is clipped in this order:
    soft clips that are not used, ends of low quality, adaptor, bases outside of the padded span.
    Reads without bases on the reference are dropped. Where mates overlap, qualities are lowered.

    Parameters
    ----------
    segment
        Reads that passed `CallFilter`, with base qualities.
    regions
        Active regions whose padded spans are within the window of the segment.
    options
        Whether soft-clipped bases are used and overlaps lowered, and the lowest quality at the
        ends.
    """
    reads = segment.reads
    rows, counts = _overlapping(reads, regions)
    ranges = usable_ranges(reads, options)
    spans = np.repeat(regions.padded_starts, counts), np.repeat(regions.padded_ends, counts)
    clipped = clipped_to_spans(reads.cigars, ranges, rows, *spans)
    kept, offsets = sorted_reads(
        reads, rows, clipped.starts, clipped.lengths, offsets_of(counts), min_bases=1
    )
    rows, clipped = rows[kept], clipped.take(kept)
    starts = reads.qualities.offsets[rows] + clipped.base_starts
    found = RegionReads(
        offsets,
        rows,
        segment.samples[rows],
        clipped.base_starts,
        clipped.base_ends,
        clipped.starts,
        clipped.ends,
        clipped_cigars(reads.cigars, rows, clipped.base_starts, clipped.base_ends),
        Ragged.gather(reads.qualities.data, starts, clipped.lengths),
    )
    if options.lower_overlaps:
        lower_overlaps(found, segment)
    return found


def _overlapping(
    reads: ReadBatch, regions: ActiveRegions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the reads that overlap the padded span of each active region, and their numbers.

    int64[p], region by region, rows of reads ascending; and int64[r].
    """
    starts = reads.positions.astype(np.int64)
    ends = starts + reference_lengths(reads.cigars)
    firsts = np.searchsorted(np.maximum.accumulate(ends), regions.padded_starts, side="right")
    lasts = np.searchsorted(starts, regions.padded_ends)
    counts = np.zeros(len(regions), dtype=np.int64)
    intervals = read_only(firsts), read_only(lasts), read_only(regions.padded_starts)
    _find_overlaps(*intervals, read_only(ends), counts, np.empty(0, dtype=np.int64))
    rows = np.empty(int(counts.sum()), dtype=np.int64)
    _find_overlaps(*intervals, read_only(ends), counts, rows)
    return rows, counts


@njit
def _find_overlaps(
    firsts: NDArray[np.int64],
    lasts: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> None:
    """Write how many reads of the rows first to last of each span end in or after it, and which.

    With `rows` of size 0 they are only counted.
    """
    at = 0
    for k in range(starts.size):
        counts[k] = 0
        for row in range(firsts[k], lasts[k]):
            if ends[row] > starts[k]:
                counts[k] += 1
                if rows.size:
                    rows[at] = row
                    at += 1


def lower_overlaps(reads: RegionReads, segment: SegmentReads) -> None:
    """Lower the qualities of bases that two reads of one fragment share, in place.

    Of each name and sample, the second read of an active region pairs with the first, if the mates
    may overlap. Bases are compared one by one from the start of the overlap, whatever the indels.
    Equal bases get at most 20; others get 0.

    Parameters
    ----------
    reads
        m reads, in GATK's order.
    segment
        The reads of the segment.
    """
    records = segment.reads
    columns = _Columns(
        read_only(reads.offsets),
        read_only(reads.rows),
        read_only(reads.starts),
        read_only(reads.ends),
        read_only(reads.base_starts),
        read_only(reads.qualities.offsets),
    )
    fields = columns_of(ReadFields, records)
    samples, bases = read_only(segment.samples), view_of(records.bases)
    _lower(view_of(reads.cigars), columns, fields, samples, bases, reads.qualities.data)


class _Columns(NamedTuple):
    """Columns of the m reads; `qualities` are offsets of their first base."""

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    base_starts: NDArray[np.int64]
    qualities: NDArray[np.int64]


@njit
def _lower(
    cigars: RaggedView,
    reads: _Columns,
    fields: ReadFields,
    samples: NDArray[np.int32],
    bases: RaggedView,
    qualities: NDArray[np.uint8],
) -> None:
    """Find the pairs of all active regions, and lower their qualities."""
    all_fields, sample_memory = fields_memory_of(fields), memory_of(samples)
    size = table_size(_longest(reads.offsets))
    fragments = np.empty(size, dtype=np.int64)
    waiting = np.empty(size, dtype=np.int64)  # the read of each that waits for its mate, or -1
    for region in range(reads.offsets.size - 1):
        first, last = reads.offsets[region], reads.offsets[region + 1]
        size = table_size(last - first)
        fragments[:size] = -1
        table = part_of(memory_of(fragments), 0, 8 * size)
        for read in range(first, last):
            row = reads.rows[read]
            if not has_mate(all_fields, row) or fields.mate_positions[row] >= reads.ends[read]:
                continue
            slot = slot_of(table, all_fields.names, sample_memory, row)
            if fragments[slot] < 0 or waiting[slot] < 0:
                fragments[slot], waiting[slot] = row, read
                continue
            other = waiting[slot]
            waiting[slot] = -1
            if reads.starts[other] < reads.starts[read]:
                _lower_pair(cigars, reads, other, read, bases, qualities)
            else:
                _lower_pair(cigars, reads, read, other, bases, qualities)


@njit_inlined
def _longest(offsets: NDArray[np.int64]) -> Integer:
    """Return the number of reads of the active region with the most."""
    longest = np.int64(0)
    for region in range(offsets.size - 1):
        longest = max(longest, offsets[region + 1] - offsets[region])
    return longest


@njit
def _lower_pair(
    cigars: RaggedView,
    reads: _Columns,
    one: Integer,
    other: Integer,
    bases: RaggedView,
    qualities: NDArray[np.uint8],
) -> None:
    """Lower the qualities of two reads; `one` does not start after the other."""
    start, one_start = reads.starts[other], reads.starts[one]
    one_end, other_end = reads.ends[one], reads.ends[other]
    if one_end <= start:
        return
    one_first = bases_before(cigars, one, one_start, start, 0)
    other_first = bases_before(cigars, other, start, start, 0)
    one_count = bases_before(cigars, one, one_start, one_end - 1, 1) - one_first
    other_count = bases_before(cigars, other, start, other_end - 1, 1) - other_first
    here, there = reads.qualities[one] + one_first, reads.qualities[other] + other_first
    one_first += bases.offsets[reads.rows[one]] + reads.base_starts[one]
    other_first += bases.offsets[reads.rows[other]] + reads.base_starts[other]
    for k in range(min(one_count, other_count)):
        is_equal = bases.data[one_first + k] == bases.data[other_first + k]
        limit = np.uint8(_MAX_QUALITY if is_equal else 0)
        qualities[here + k] = min(qualities[here + k], limit)
        qualities[there + k] = min(qualities[there + k], limit)


def reclipped_reads(
    reads: RegionReads, segment: SegmentReads, trimmed: TrimmedRegions
) -> RegionReads:
    """Clip reads to the trimmed padded spans of t active regions, in GATK's order.

    Reads with fewer than `MIN_BASES` bases left are dropped.

    Parameters
    ----------
    reads
        Reads of r active regions, of the segment.
    segment
        The reads of the segment.
    trimmed
        t of these active regions.
    """
    return reads_in_spans(reads, segment, trimmed.kept, trimmed.regions)


def reads_in_spans(
    reads: RegionReads, segment: SegmentReads, kept: NDArray[np.int64], spans: ActiveRegions
) -> RegionReads:
    """Clip reads to the padded spans of t parts of active regions, as `reclipped_reads`.

    Parameters
    ----------
    reads
        Reads of r active regions, of the segment.
    segment
        The reads of the segment.
    kept
        int64[t]: the active region of each part.
    spans
        The t parts.
    """
    rows, counts = _rows_of(reads.offsets, kept)
    ranges = BaseRanges(reads.starts, np.zeros(len(reads), np.int64), reads.qualities.lengths)
    ends = np.repeat(spans.padded_starts, counts), np.repeat(spans.padded_ends, counts)
    clipped = clipped_to_spans(reads.cigars, ranges, rows, *ends)
    records, lengths = reads.rows[rows], clipped.lengths
    chosen, offsets = sorted_reads(
        segment.reads, records, clipped.starts, lengths, offsets_of(counts), min_bases=MIN_BASES
    )
    rows, clipped = rows[chosen], clipped.take(chosen)
    base_starts = reads.base_starts[rows]
    starts = reads.qualities.offsets[rows] + clipped.base_starts
    return RegionReads(
        offsets,
        records[chosen],
        reads.samples[rows],
        base_starts + clipped.base_starts,
        base_starts + clipped.base_ends,
        clipped.starts,
        clipped.ends,
        clipped_cigars(reads.cigars, rows, clipped.base_starts, clipped.base_ends),
        Ragged.gather(reads.qualities.data, starts, clipped.lengths),
    )


def passing(reads: RegionReads, segment: SegmentReads) -> NDArray[np.bool_]:
    """Return bool[m]: which reads are genotyped; the others only count in depths.

    Genotyped reads have at least `MIN_BASES` bases, MAPQ of at least 20, and no mate on another
    contig.
    """
    records, rows = segment.reads, reads.rows
    is_apart = records.mate_reference_ids != records.reference_ids
    is_usable = records.mapping_qualities >= _MIN_MAPPING_QUALITY
    is_usable &= ~(has_mapped_mate(records) & is_apart)
    kept: NDArray[np.bool_] = is_usable[rows] & (reads.base_ends - reads.base_starts >= MIN_BASES)
    return kept


def _rows_of(
    offsets: NDArray[np.int64], kept: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of some active regions, in order, and how many rows each has."""
    counts = offsets[kept + 1] - offsets[kept]
    firsts = np.cumsum(counts) - counts
    shifts = np.repeat(offsets[kept] - firsts, counts)
    return np.arange(shifts.size) + shifts, counts

"""Reads of active regions: clipped to their spans, in GATK's order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import ActiveRegions, RegionReads, SegmentReads, TrimmedRegions
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.clipping import (
    REVERSE,
    BaseRanges,
    ClippedAlignments,
    bases_before,
    clipped_to_spans,
    has_mapped_mate,
    usable_ranges,
)
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.runtime.jit import njit

_MAX_QUALITY: Final = 20
"""Of equal bases of both mates: half of the Phred quality of an error in PCR, 40."""
_NOWHERE: Final = np.iinfo(np.int32).max

MIN_BASES: Final = 10
"""Shorter reads are dropped after trimming."""
_MIN_MAPPING_QUALITY: Final = 20
"""GATK's `--mapping-quality-threshold-for-genotyping`."""

_WORD = 8


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
        Whether soft-clipped bases are used, and the lowest quality at the ends.
    """
    reads = segment.reads
    rows, owners = _overlapping(reads, regions)
    ranges = usable_ranges(reads, options)
    spans = regions.padded_starts[owners], regions.padded_ends[owners]
    clipped = clipped_to_spans(reads.cigars, ranges, rows, *spans)
    order = order_of(reads, segment.samples, rows)
    kept = sorted_rows(clipped, owners, order.ranks[rows], min_bases=1)
    rows, lengths = rows[kept], clipped.lengths[kept]
    starts = reads.qualities.offsets[rows] + clipped.base_starts[kept]
    found = RegionReads(
        np.searchsorted(owners[kept], np.arange(len(regions) + 1)),
        rows,
        segment.samples[rows],
        clipped.base_starts[kept],
        clipped.base_ends[kept],
        clipped.starts[kept],
        clipped.ends[kept],
        clipped.cigars.take(kept),
        Ragged.gather(reads.qualities.data, starts, lengths),
    )
    lower_overlaps(found, reads, order.fragments)
    return found


def _overlapping(
    reads: ReadBatch, regions: ActiveRegions
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the reads that overlap the padded span of each active region, and the active region.

    Both int64[p], region by region, rows of reads ascending.
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
    return rows, np.repeat(np.arange(len(regions)), counts)


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


def lower_overlaps(reads: RegionReads, records: ReadBatch, fragments: NDArray[np.int64]) -> None:
    """Lower the qualities of bases that two reads of one fragment share, in place.

    Of each name, the second read of an active region pairs with the first, if the mates may
    overlap. Bases are compared one by one from the start of the overlap, whatever the indels. Equal
    bases get at most 20; others get 0.

    Parameters
    ----------
    reads
        m reads, in GATK's order.
    records
        The reads of the segment.
    fragments
        int64: a number for each name and sample, for each record.
    """
    mate_positions = np.where(has_mapped_mate(records), records.mate_positions, _NOWHERE)
    columns = _Columns(
        read_only(reads.offsets),
        read_only(reads.starts),
        read_only(reads.ends),
        read_only(fragments[reads.rows]),
        read_only(mate_positions[reads.rows]),
        read_only(records.bases.offsets[reads.rows] + reads.base_starts),
        read_only(reads.qualities.offsets),
    )
    pending = np.full(int(fragments.max(initial=0)) + 1, -1, dtype=np.int64)
    bases = read_only(records.bases.data)
    _lower(view_of(reads.cigars), columns, bases, pending, reads.qualities.data)


class _Columns(NamedTuple):
    """Columns of the m reads; `bases` and `qualities` are offsets of their first base."""

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    fragments: NDArray[np.int64]
    mate_positions: NDArray[np.int32]
    bases: NDArray[np.int64]
    qualities: NDArray[np.int64]


@njit
def _lower(
    cigars: RaggedView,
    reads: _Columns,
    bases: NDArray[np.uint8],
    pending: NDArray[np.int64],
    qualities: NDArray[np.uint8],
) -> None:
    """Find the pairs of all active regions, and lower their qualities.

    `pending` has the last read of each fragment that waits for its mate; -1 for none.
    """
    for region in range(reads.offsets.size - 1):
        for row in range(reads.offsets[region], reads.offsets[region + 1]):
            if reads.mate_positions[row] < reads.ends[row]:
                fragment = reads.fragments[row]
                other = pending[fragment]
                # A read of an earlier active region waits for nothing.
                if other < reads.offsets[region]:
                    pending[fragment] = row
                else:
                    pending[fragment] = -1
                    if reads.starts[other] < reads.starts[row]:
                        _lower_pair(cigars, reads, other, row, bases, qualities)
                    else:
                        _lower_pair(cigars, reads, row, other, bases, qualities)


@njit
def _lower_pair(
    cigars: RaggedView,
    reads: _Columns,
    one: Integer,
    other: Integer,
    bases: NDArray[np.uint8],
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
    for k in range(min(one_count, other_count)):
        here, there = reads.qualities[one] + one_first, reads.qualities[other] + other_first
        is_equal = (
            bases[reads.bases[one] + one_first + k] == (bases[reads.bases[other] + other_first + k])
        )
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
    rows, owners = _rows_of(reads.offsets, kept)
    ranges = BaseRanges(reads.starts, np.zeros(len(reads), np.int64), reads.qualities.lengths)
    ends = spans.padded_starts[owners], spans.padded_ends[owners]
    clipped = clipped_to_spans(reads.cigars, ranges, rows, *ends)
    records = reads.rows[rows]
    order = order_of(segment.reads, segment.samples, records)
    chosen = sorted_rows(clipped, owners, order.ranks[records], min_bases=MIN_BASES)
    rows = rows[chosen]
    base_starts = reads.base_starts[rows] + clipped.base_starts[chosen]
    starts = reads.qualities.offsets[rows] + clipped.base_starts[chosen]
    return RegionReads(
        np.searchsorted(owners[chosen], np.arange(kept.size + 1)),
        reads.rows[rows],
        reads.samples[rows],
        base_starts,
        base_starts + clipped.lengths[chosen],
        clipped.starts[chosen],
        clipped.ends[chosen],
        clipped.cigars.take(chosen),
        Ragged.gather(reads.qualities.data, starts, clipped.lengths[chosen]),
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
    """Return the rows of some active regions, in order, and which of these each belongs to."""
    counts = offsets[kept + 1] - offsets[kept]
    owners = np.repeat(np.arange(kept.size), counts)
    firsts = np.cumsum(counts) - counts
    return np.arange(owners.size) + (offsets[kept] - firsts)[owners], owners


@dataclass(frozen=True, slots=True)
class ReadOrder:
    """Order and names of some of n reads.

    Attributes
    ----------
    ranks
        int64[n]: the rank of each read among reads with one start, all different; 0 for reads that
        were not asked for.
    fragments
        int64[n]: a number for each name and sample; 0 for reads that were not asked for.
    """

    ranks: NDArray[np.int64]
    fragments: NDArray[np.int64]


def order_of(reads: ReadBatch, samples: NDArray[np.int32], rows: NDArray[np.int64]) -> ReadOrder:
    """Order reads as GATK's ReadCoordinateComparator does at one position.

    Forward before reverse reads, then by name (bytes), flags, MAPQ, mate and template length.
    Records that are equal keep their order.

    Parameters
    ----------
    reads, samples
        n reads, and int32[n], the sample of each.
    rows
        int64[r]: the reads to order, in any order, perhaps several times.
    """
    is_asked = np.zeros(len(reads), dtype=np.bool_)
    is_asked[rows] = True
    rows = np.flatnonzero(is_asked)
    names = _words_of(reads.names.take(rows))
    flags = reads.flags[rows]
    has_mate = has_mapped_mate(reads)[rows]
    # From the last to the first key; reads of equal flags are all paired, or none is.
    keys = [
        reads.template_lengths[rows],
        np.where(has_mate, reads.mate_positions[rows], -1),
        np.where(has_mate, reads.mate_reference_ids[rows], -1),
        reads.mapping_qualities[rows],
        flags,
    ]
    is_reverse = flags & REVERSE
    order = np.lexsort([*keys, *names[::-1], is_reverse])
    ranks = np.zeros(len(reads), dtype=np.int64)
    ranks[rows[order]] = np.arange(rows.size)
    return ReadOrder(ranks, _fragments(names, samples[rows], rows, len(reads)))


def sorted_rows(
    clipped: ClippedAlignments,
    owners: NDArray[np.int64],
    ranks: NDArray[np.int64],
    min_bases: int,
) -> NDArray[np.int64]:
    """Return int64[k]: alignments of at least `min_bases` bases, by region, start and rank.

    Parameters
    ----------
    clipped
        p alignments.
    owners, ranks
        int64[p]: the active region of each, and the rank of its read.
    min_bases
        At least 1.
    """
    kept = np.flatnonzero(clipped.lengths >= min_bases)
    order = np.lexsort((ranks[kept], clipped.starts[kept], owners[kept]))
    sorted_: NDArray[np.int64] = kept[order]
    return sorted_


def _fragments(
    names: list[NDArray[np.uint64]],
    samples: NDArray[np.int32],
    rows: NDArray[np.int64],
    count: int,
) -> NDArray[np.int64]:
    """Return int64[count]: a number for each name and sample; 0 for other rows."""
    keys: list[NDArray[Any]] = [samples, *names]
    order = np.lexsort(keys)
    is_new = np.zeros(rows.size, dtype=np.bool_)
    for key in keys:
        sorted_key = key[order]
        is_new[1:] |= sorted_key[1:] != sorted_key[:-1]
    fragments = np.zeros(count, dtype=np.int64)
    fragments[rows[order]] = np.cumsum(is_new)
    return fragments


def _words_of(names: Ragged) -> list[NDArray[np.uint64]]:
    """Return names as columns of big-endian words, whose order is that of the bytes.

    Words that are the same in all names, as the names of instruments are, are left out.
    """
    lengths = names.lengths
    width = int(lengths.max(initial=0)) // _WORD + 1
    words = np.zeros((width, len(names)), dtype=np.uint64)
    _pack(view_of(names), words)
    return [column for column in words if column.size and (column != column[0]).any()]


@njit
def _pack(names: RaggedView, words: NDArray[np.uint64]) -> None:
    """Write names as words, followed by zeros."""
    for row in range(words.shape[1]):
        start = names.offsets[row]
        for k in range(names.offsets[row + 1] - start):
            shift = np.uint64(56 - 8 * (k & 7))
            words[k >> 3, row] |= np.uint64(names.data[start + k]) << shift

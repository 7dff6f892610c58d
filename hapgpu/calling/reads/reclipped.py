"""Reads of active regions, clipped again to the trimmed spans."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.batches import ActiveRegions, RegionReads, SegmentReads, TrimmedRegions
from hapgpu.calling.reads.clipping import BaseRanges, clipped_to_spans
from hapgpu.calling.reads.fragments import has_mapped_mate
from hapgpu.calling.reads.order import order_of, sorted_rows

MIN_BASES: Final = 10
"""Shorter reads are dropped after trimming."""

_MIN_MAPPING_QUALITY: Final = 20
"""GATK's `--mapping-quality-threshold-for-genotyping`."""


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

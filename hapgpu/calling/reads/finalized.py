"""Reads of active regions, clipped and sorted as GATK HaplotypeCaller finalizes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.batches import ActiveRegions, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.clipping import clipped_to_spans
from hapgpu.calling.reads.fragments import usable_ranges
from hapgpu.calling.reads.mates import lower_overlaps
from hapgpu.calling.reads.order import order_of, sorted_rows
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.runtime.jit import njit


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

"""Confidence of all positions of the active and inactive regions of a segment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.batches import PADDING, ActiveRegions, RegionReads, SegmentReads
from hapgpu.calling.gvcf.confidence import reference_confidence
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.reads.reclipped import passing, reads_in_spans


@dataclass(frozen=True, slots=True)
class ReferencePositions:
    """Consecutive positions, as if none had a variant.

    Attributes
    ----------
    start
        The first, 0-based.
    bases
        uint8 text[p]: REF.
    depths
        int32[p]: DP.
    phreds
        int32[p, 2]: PL of 0/1 and 1/1; PL of 0/0 is 0.
    """

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    phreds: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class CalledRegions:
    """c active regions with a genotype.

    Attributes
    ----------
    kept
        int64[c], ascending: rows of the active regions.
    spans
        Their variant spans, and the trimmed padded spans.
    reads
        Their realigned reads.
    """

    kept: NDArray[np.int64]
    spans: ActiveRegions
    reads: RegionReads


def reference_positions(
    segment: SegmentReads,
    inactive: ActiveRegions,
    active: ActiveRegions,
    reads: RegionReads,
    called: CalledRegions,
    options: AssemblyOptions,
) -> ReferencePositions:
    """Compute the confidence of each position of the regions that start in a segment.

    Positions of variant spans are computed from realigned reads; others from the reads of their
    region, clipped to the span between region and variant span with its padding.

    Parameters
    ----------
    segment
        Reads of the segment.
    inactive
        The inactive regions; they and the active ones are consecutive.
    active
        Active regions; those that start before the segment are left out.
    reads
        Finalized reads of the active regions.
    called
        Active regions with a genotype.
    options
        Options of finalized reads.
    """
    own = active.starts >= segment.segment.start
    starts = np.concatenate([inactive.starts, active.starts[own]])
    ends = np.concatenate([inactive.ends, active.ends[own]])
    start, end = int(starts.min(initial=segment.segment.end)), int(ends.max(initial=0))
    size = max(end - start, 0)
    first = start - segment.reference.start
    found = ReferencePositions(
        start,
        segment.reference.bases[first : first + size],
        np.zeros(size, dtype=np.int32),
        np.zeros((size, 2), dtype=np.int32),
    )
    _put(found, segment, inactive, finalized_reads(segment, inactive, options))
    kept, spans = _flanks(active, called, own)
    _put(found, segment, spans, reads_in_spans(reads, segment, kept, spans))
    is_own = own[called.kept]
    rows = np.flatnonzero(is_own)
    _put(found, segment, called.spans.take(rows), called.reads.of_regions(is_own))
    return found


def _put(
    out: ReferencePositions, segment: SegmentReads, spans: ActiveRegions, reads: RegionReads
) -> None:
    """Write the positions of some spans."""
    reads = reads.take(passing(reads, segment))
    found = reference_confidence(reads, segment.reads, spans, segment.reference)
    counts = spans.ends - spans.starts
    rows = np.arange(found.depths.size) + np.repeat(
        spans.starts - out.start - found.offsets[:-1], counts
    )
    out.depths[rows], out.phreds[rows] = found.depths, found.phreds


def _flanks(
    active: ActiveRegions, called: CalledRegions, own: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], ActiveRegions]:
    """Return the spans of active regions without variant spans, and the row of each region."""
    lefts, rights = active.ends.copy(), active.ends.copy()
    lefts[called.kept], rights[called.kept] = called.spans.starts, called.spans.ends
    rows = np.repeat(np.flatnonzero(own), 2)
    starts = np.column_stack([active.starts, rights])[own].ravel()
    ends = np.column_stack([lefts, active.ends])[own].ravel()
    is_span = starts < ends
    rows, starts, ends = rows[is_span], starts[is_span], ends[is_span]
    return rows, ActiveRegions(
        starts,
        ends,
        np.maximum(starts - PADDING, active.padded_starts[rows]),
        np.minimum(ends + PADDING, active.padded_ends[rows]),
    )

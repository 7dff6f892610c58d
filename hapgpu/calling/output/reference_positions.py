"""Confidence of all positions of a segment, from the reads of their regions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.batches import PADDING, ActiveRegions, RegionReads, SegmentReads
from hapgpu.calling.options import AssemblyOptions
from hapgpu.calling.output.reference_confidence import reference_confidence
from hapgpu.calling.ploidies import DIPLOID_EVERYWHERE, Ploidies
from hapgpu.calling.reads.finalized import finalized_reads, passing, reads_in_spans


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
    alternate_depths
        int32[p]: of these, the reads that differ from REF.
    ploidies
        int32[p]: copies of the sample.
    phreds
        int32[p, k]: PL of 1 to `ploidies` copies of ALT; PL of no copy is 0. k is the highest
        ploidy of the run; the columns above that of a position are not defined.
    """

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    alternate_depths: NDArray[np.int32]
    ploidies: NDArray[np.int32]
    phreds: NDArray[np.int32]

    def first(self, size: int) -> ReferencePositions:
        """Return the first positions."""
        return ReferencePositions(
            self.start,
            self.bases[:size],
            self.depths[:size],
            self.alternate_depths[:size],
            self.ploidies[:size],
            self.phreds[:size],
        )


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
    *,
    ploidies: Ploidies = DIPLOID_EVERYWHERE,
) -> ReferencePositions:
    """Compute the confidence of each position of the regions that start in a segment.

    Positions of variant spans are computed from realigned reads; others from the reads of their
    region, clipped to the span between region and variant span with its padding. A span has one
    ploidy, a variant span that of its whole active region, as in GATK's HaplotypeCallerEngine.

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
    ploidies
        Copies of the sample.
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
        np.zeros(size, dtype=np.int32),
        np.zeros(size, dtype=np.int32),
        np.zeros((size, ploidies.highest), dtype=np.int32),
    )
    put, contig = _Filler(found, segment), segment.segment.contig
    copies = ploidies.at(contig, inactive.starts, inactive.ends)
    put(inactive, finalized_reads(segment, inactive, options), copies)
    kept, spans = _flanks(active, called, own)
    copies = ploidies.at(contig, spans.starts, spans.ends)
    put(spans, reads_in_spans(reads, segment, kept, spans), copies)
    is_own = own[called.kept]
    rows = np.flatnonzero(is_own)
    regions = called.kept[rows]
    copies = ploidies.at(contig, active.starts[regions], active.ends[regions])
    put(called.spans.take(rows), called.reads.of_regions(is_own), copies)
    return found


class _Filler:
    """Function that writes the positions of spans."""

    def __init__(self, out: ReferencePositions, segment: SegmentReads) -> None:
        self._out = out
        self._segment = segment

    def __call__(
        self, spans: ActiveRegions, reads: RegionReads, ploidies: NDArray[np.int64]
    ) -> None:
        """Write the positions of s spans, whose ploidies are int64[s]."""
        kinds = np.unique(ploidies).tolist()
        for ploidy in kinds:
            if len(kinds) == 1:  # the usual case: nothing is selected
                self._put(spans, reads, ploidy)
                continue
            is_chosen = ploidies == ploidy
            self._put(spans.take(np.flatnonzero(is_chosen)), reads.of_regions(is_chosen), ploidy)

    def _put(self, spans: ActiveRegions, reads: RegionReads, ploidy: int) -> None:
        out, segment = self._out, self._segment
        is_used = passing(reads, segment)
        found = reference_confidence(
            reads, segment.reads, spans, segment.reference, is_used, ploidy
        )
        counts = spans.ends - spans.starts
        rows = np.arange(found.depths.size) + np.repeat(
            spans.starts - out.start - found.offsets[:-1], counts
        )
        out.depths[rows], out.alternate_depths[rows] = found.depths, found.alternate_depths
        out.ploidies[rows] = ploidy
        out.phreds[:, :ploidy][rows] = found.phreds


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

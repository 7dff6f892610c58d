"""Span requirements: the reference interval that a fragment has to cover at a site."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import FragmentEvidence
from hapgpu.haplotypes.batches import LocusBatch, ShiftRanges
from hapgpu.runtime.jit import njit, njit_inlined

_MIN_SPANNING_FRACTION: Final = 0.1


class SpanRequirements(NamedTuple):
    """Requirements for fragments, n rows: one per site, or one per site and sample.

    A fragment is used if one of its clipped reads starts at `latest_starts` or before and ends at
    `earliest_ends` or after, int64[n] each.
    """

    latest_starts: NDArray[np.int64]
    earliest_ends: NDArray[np.int64]


def span_requirements_of(
    evidence: FragmentEvidence, batch: LocusBatch, samples: int
) -> SpanRequirements:
    """Return the span requirements that select the fragments used at each site.

    A read that ends within a repeat does not show how long the repeat is: it fits a wrong allele as
    well as the right one, and better if no haplotype carries the right one. So a fragment is used
    if it spans the site: one of its clipped reads covers the joined shift range, which is the shift
    range of the site and all shift ranges of the locus that overlap it, directly or in a chain. If
    longer than a base, the joined shift range also includes a base on either side, as far as the
    contig has one. In long repeats, if fewer than a tenth of the fragments of a sample that overlap
    the shift range span the site, all fragments that overlap it are used.

    Parameters
    ----------
    evidence
        Fragments ordered by locus and sample.
    batch
        l loci with s sites. Their haplotypes have at least a base of the contig on either side.
    samples
        Number of samples, m.

    Returns
    -------
    SpanRequirements
        s * m rows, site by site and sample by sample.
    """
    rows = len(batch.sites) * samples
    requirements = SpanRequirements(np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64))
    _choose(
        read_only(evidence.loci),
        read_only(evidence.samples),
        view_of(evidence.cover),
        read_only(batch.loci.site_offsets),
        samples,
        spanning_fragments(batch),
        SpanRequirements(batch.shift_ranges.ends - 1, batch.shift_ranges.starts + 1),
        requirements,
    )
    return requirements


def spanning_fragments(batch: LocusBatch) -> SpanRequirements:
    """Require the joined shift range of each site, with a base on either side of a long one."""
    loci = np.repeat(np.arange(len(batch.loci)), np.diff(batch.loci.site_offsets))
    joined = _joined(batch.shift_ranges, loci)
    margins = joined.ends - joined.starts > 1
    # Haplotypes end that near only at an end of the contig.
    return SpanRequirements(
        np.maximum(joined.starts - margins, batch.haplotypes.starts[loci]),
        np.minimum(joined.ends + margins, batch.haplotypes.ends[loci]),
    )


def _joined(shift_ranges: ShiftRanges, loci: NDArray[np.int64]) -> ShiftRanges:
    """Widen each shift range to the union of all that overlap it in its locus, in a chain."""
    order = np.lexsort((shift_ranges.starts, loci))
    # Loci are shifted so that none overlaps the next.
    shifts = loci[order] * (shift_ranges.ends.max(initial=0) + 1)
    starts = shift_ranges.starts[order] + shifts
    max_ends = np.maximum.accumulate(shift_ranges.ends[order] + shifts)
    is_first, is_last = np.ones((2, order.size), dtype=np.bool_)
    is_first[1:] = is_last[:-1] = starts[1:] >= max_ends[:-1]
    unions = np.cumsum(is_first) - 1
    joined = ShiftRanges(np.empty_like(shift_ranges.starts), np.empty_like(shift_ranges.ends))
    joined.starts[order] = starts[is_first][unions] - shifts
    joined.ends[order] = max_ends[is_last][unions] - shifts
    return joined


@njit
def _choose(
    loci: NDArray[np.int64],
    fragment_samples: NDArray[np.int32],
    cover: RaggedView,
    site_offsets: NDArray[np.int64],
    samples: int,
    spanning: SpanRequirements,
    overlapping: SpanRequirements,
    requirements: SpanRequirements,
) -> None:
    """Require spanning fragments, or overlapping ones if too few span the site."""
    end = np.int64(0)
    for locus in range(site_offsets.size - 1):
        for sample in range(samples):
            start = end
            while end < loci.size and loci[end] == locus and fragment_samples[end] == sample:
                end += 1
            for site in range(site_offsets[locus], site_offsets[locus + 1]):
                spans = _count(cover, start, end, spanning, site)
                overlaps = _count(cover, start, end, overlapping, site)
                is_enough = spans >= _MIN_SPANNING_FRACTION * overlaps
                chosen = spanning if is_enough else overlapping
                row = site * samples + sample
                requirements.latest_starts[row] = chosen.latest_starts[site]
                requirements.earliest_ends[row] = chosen.earliest_ends[site]


@njit
def _count(
    cover: RaggedView, first: Integer, last: Integer, requirements: SpanRequirements, site: Integer
) -> int:
    latest_start, earliest_end = requirements.latest_starts[site], requirements.earliest_ends[site]
    count = 0
    for fragment in range(first, last):
        count += fulfils(cover, fragment, latest_start, earliest_end)
    return count


@njit_inlined
def fulfils(
    cover: RaggedView, fragment: Integer, latest_start: Integer, earliest_end: Integer
) -> bool:
    """Return whether a clipped read of a fragment fulfils a requirement.

    `cover` is int64, a row per fragment: start and end of the interval of each clipped read.
    """
    data, offsets = cover.data, cover.offsets
    for k in range(offsets[fragment], offsets[fragment + 1], 2):
        if data[k] <= latest_start and data[k + 1] >= earliest_end:
            return True
    return False

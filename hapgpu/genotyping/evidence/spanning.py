"""How far a fragment has to reach to tell something of a site."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import Evidence
from hapgpu.haplotypes.batches import LocusBatch, ShiftRanges
from hapgpu.runtime.jit import njit, njit_inlined

_MIN_SHARE_ACROSS: Final = 0.1


class SpanRequirements(NamedTuple):
    """What fragments have to cover to count, n rows: a site each, or a site and a sample.

    A fragment counts if one of its parts starts no later than `latest_starts` and stops no
    earlier than `earliest_stops`, int64[n] both.
    """

    latest_starts: NDArray[np.int64]
    earliest_stops: NDArray[np.int64]


def span_requirements_of(evidence: Evidence, batch: LocusBatch, samples: int) -> SpanRequirements:
    """Find out which fragments are to count at each site.

    A read that ends within a repeat does not tell how long that is; it fits a wrong allele as
    well as the right one, and better where the right one is no candidate. So a fragment counts if
    it reaches across: if one of its parts covers all of the stretch of the site, which is its
    shift range together with those of its locus that overlap it, and theirs; one longer than a base
    with a base on either side, where the contig has one. Where repeats are so long that fewer than
    a tenth of the fragments of a sample that cover some of the shift range reach across, all of
    those count.

    Parameters
    ----------
    evidence
        Fragments in the order of locus and sample.
    batch
        l loci with s sites. Their haplotypes show at least a base of the contig on either side.
    samples
        Their number, m.

    Returns
    -------
    SpanRequirements
        s * m rows, site by site and sample by sample.
    """
    rows = len(batch.sites) * samples
    reaches = SpanRequirements(np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int64))
    _choose(
        read_only(evidence.loci),
        read_only(evidence.samples),
        view_of(evidence.cover),
        read_only(batch.loci.site_offsets),
        samples,
        _across(batch),
        SpanRequirements(batch.shift_ranges.ends - 1, batch.shift_ranges.starts + 1),
        reaches,
    )
    return reaches


def _across(batch: LocusBatch) -> SpanRequirements:
    """Ask for all of the stretch of each site, and for a base on either side of a long one."""
    loci = np.repeat(np.arange(len(batch.loci)), np.diff(batch.loci.site_offsets))
    stretches = _stretches(batch.shift_ranges, loci)
    margins = stretches.ends - stretches.starts > 1
    # Haplotypes end that near only where the contig does.
    return SpanRequirements(
        np.maximum(stretches.starts - margins, batch.haplotypes.starts[loci]),
        np.minimum(stretches.ends + margins, batch.haplotypes.ends[loci]),
    )


def _stretches(shift_ranges: ShiftRanges, loci: NDArray[np.int64]) -> ShiftRanges:
    """Widen each shift range to the union of those of its locus that overlap, in a chain."""
    order = np.lexsort((shift_ranges.starts, loci))
    # Loci are moved apart, so that none overlaps the next.
    moved = loci[order] * (shift_ranges.ends.max(initial=0) + 1)
    starts = shift_ranges.starts[order] + moved
    reach = np.maximum.accumulate(shift_ranges.ends[order] + moved)
    is_first, is_last = np.ones((2, order.size), dtype=np.bool_)
    is_first[1:] = is_last[:-1] = starts[1:] >= reach[:-1]
    of_shift_range = np.cumsum(is_first) - 1
    stretches = ShiftRanges(np.empty_like(shift_ranges.starts), np.empty_like(shift_ranges.ends))
    stretches.starts[order] = starts[is_first][of_shift_range] - moved
    stretches.ends[order] = reach[is_last][of_shift_range] - moved
    return stretches


@njit
def _choose(  # noqa: PLR0917  (compiled code takes no keywords)
    loci: NDArray[np.int64],
    owners: NDArray[np.int32],
    cover: RaggedView,
    site_offsets: NDArray[np.int64],
    samples: int,
    across: SpanRequirements,
    touching: SpanRequirements,
    reaches: SpanRequirements,
) -> None:
    """Ask for all of the stretch, or only for some of the shift range where too few have it all."""
    stop = np.int64(0)
    for locus in range(site_offsets.size - 1):
        for sample in range(samples):
            first = stop
            while stop < loci.size and loci[stop] == locus and owners[stop] == sample:
                stop += 1
            for site in range(site_offsets[locus], site_offsets[locus + 1]):
                wholly = _count(cover, first, stop, across, site)
                partly = _count(cover, first, stop, touching, site)
                asked = across if wholly >= _MIN_SHARE_ACROSS * partly else touching
                row = site * samples + sample
                reaches.latest_starts[row] = asked.latest_starts[site]
                reaches.earliest_stops[row] = asked.earliest_stops[site]


@njit
def _count(
    cover: RaggedView, first: Integer, last: Integer, asked: SpanRequirements, site: Integer
) -> int:
    latest_start, earliest_stop = asked.latest_starts[site], asked.earliest_stops[site]
    count = 0
    for fragment in range(first, last):
        count += has_reach(cover, fragment, latest_start, earliest_stop)
    return count


@njit_inlined
def has_reach(
    cover: RaggedView, fragment: Integer, latest_start: Integer, earliest_stop: Integer
) -> bool:
    """Tell whether a part of a fragment starts so early and stops so late."""
    data, offsets = cover.data, cover.offsets
    for k in range(offsets[fragment], offsets[fragment + 1], 2):
        if data[k] <= latest_start and data[k + 1] >= earliest_stop:
            return True
    return False

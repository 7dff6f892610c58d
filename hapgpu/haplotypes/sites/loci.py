"""Neighbouring sites put together to loci."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.haplotypes.batches import Loci, ShiftRanges
from hapgpu.runtime.jit import njit

OVERLAPPING_FACTOR: Final = 4
"""How many times as many combinations a locus may have that cannot be cut but within a repeat."""


def loci_of(
    shift_ranges: ShiftRanges,
    option_counts: NDArray[np.int64],
    distance: int,
    max_combinations: int,
) -> Loci:
    """Put neighbouring sites together.

    A site joins the locus before it if its shift range starts no more than `distance` after the
    largest end of a shift range in there. A locus with too many combinations is cut at the widest
    gap between a shift range and those before it (gaps of shift ranges that overlap are negative,
    and count), of equal ones at the gap nearest to the middle, then at the first; and its parts
    likewise. Where that gap is negative, there may be `OVERLAPPING_FACTOR` times as many
    combinations: sites of one repeat that are genotyped apart lead each other astray.

    Parameters
    ----------
    shift_ranges
        Of s sites of one contig, in the order of their positions.
    option_counts
        int64[s], at least 1: what each site multiplies the combinations of its locus by.
    distance
        In bases, at least 0.
    max_combinations
        A locus has no more, but where shift ranges overlap, and unless it is a single site.
    """
    offsets, starts, ends = _grouped(
        read_only(shift_ranges.starts),
        read_only(shift_ranges.ends),
        read_only(option_counts),
        distance,
        max_combinations,
    )
    return Loci(offsets, starts, ends)


@njit
def _grouped(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    option_counts: NDArray[np.int64],
    distance: int,
    most: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    sites = starts.size
    offsets = np.zeros(sites + 1, np.int64)
    locus_starts, locus_ends = np.empty(sites, np.int64), np.empty(sites, np.int64)
    loci = first = 0
    stops = np.empty(sites + 1, np.int64)  # where the parts of a neighbourhood stop, last first
    while first < sites:
        stops[0], waiting = _neighbourhood(starts, ends, first, distance), 1
        while waiting:
            stop = stops[waiting - 1]
            if stop - first > 1 and not _fits(option_counts, first, stop, most):
                site, gap = _widest_gap(starts, ends, first, stop)
                allowed = most if gap >= 0 else OVERLAPPING_FACTOR * most
                if not _fits(option_counts, first, stop, allowed):
                    stops[waiting] = site
                    waiting += 1
                    continue
            locus_starts[loci], locus_ends[loci] = starts[first], ends[first]
            for k in range(first + 1, stop):
                locus_starts[loci] = min(locus_starts[loci], starts[k])
                locus_ends[loci] = max(locus_ends[loci], ends[k])
            loci += 1
            offsets[loci] = first = stop
            waiting -= 1
    return offsets[: loci + 1].copy(), locus_starts[:loci].copy(), locus_ends[:loci].copy()


@njit
def _neighbourhood(
    starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, distance: int
) -> int:
    """Return where the sites stop that are joined to the first."""
    reach, site = ends[first], first + 1
    while site < starts.size and starts[site] - reach <= distance:
        reach = max(reach, ends[site])
        site += 1
    return site


@njit
def _fits(option_counts: NDArray[np.int64], first: int, stop: int, most: int) -> bool:
    combinations = 1
    for site in range(first, stop):
        combinations *= option_counts[site]
        if combinations > most:
            return False
    return True


@njit
def _widest_gap(
    starts: NDArray[np.int64], ends: NDArray[np.int64], first: int, stop: int
) -> tuple[int, int]:
    """Return the site, of at least two, before which the widest gap lies, and the gap."""
    reach, widest, best = ends[first], starts[first + 1] - ends[first], first + 1
    for site in range(first + 1, stop):
        gap = starts[site] - reach
        is_nearer = abs(2 * site - first - stop) < abs(2 * best - first - stop)
        if gap > widest or (gap == widest and is_nearer):
            widest, best = gap, site
        reach = max(reach, ends[site])
    return best, widest

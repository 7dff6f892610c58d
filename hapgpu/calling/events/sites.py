"""Alleles at one position: the events there, and the haplotypes that have them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.events.views import EventsView
from hapgpu.runtime.jit import njit, njit_inlined

REFERENCE_ALLELE: Final = -1
"""Stands for the reference among the events of a site."""

SPANNING_DELETION: Final = -2
"""Stands for all events that start before a site."""


class SiteAlleles(NamedTuple):
    """Alleles of s sites, and the haplotypes that have them.

    Attributes
    ----------
    ends
        int64[s]: the end of the longest REF.
    alleles, offsets
        The alleles of site i are `alleles[offsets[i]:offsets[i + 1]]`: `REFERENCE_ALLELE`, then
        rows of events and perhaps `SPANNING_DELETION`.
    haplotype_alleles
        int16: for each site, and each haplotype of its region, the number of its allele.
    """

    ends: NDArray[np.int64]
    alleles: NDArray[np.int64]
    offsets: NDArray[np.int64]
    haplotype_alleles: NDArray[np.int16]


@njit
def gather_alleles(
    events: EventsView,
    haplotype_offsets: NDArray[np.int64],
    regions: NDArray[np.int64],
    positions: NDArray[np.int64],
    out: SiteAlleles,
) -> None:
    """Find the alleles at s positions, in the order in which the haplotypes have them.

    An event overlaps a position by its REF. If an insertion of a haplotype starts at the position,
    its deletions that end there do not overlap. An event that starts earlier is the allele `*`, the
    allele of its haplotype even if another event of the haplotype starts at the position.

    Parameters
    ----------
    events, haplotype_offsets
        Events of haplotypes; those of region k are rows `haplotype_offsets[k]` to
        `haplotype_offsets[k + 1]`.
    regions, positions
        int64[s]: an event of a haplotype of the region starts at each position.
    out
        Written; `alleles` has room for two more per site than its region has events.
    """
    count = at = np.int64(0)
    for site in range(positions.size):
        position, region = positions[site], regions[site]
        first, end = count, position + 1
        out.alleles[count] = REFERENCE_ALLELE
        count += 1
        for haplotype in range(haplotype_offsets[region], haplotype_offsets[region + 1]):
            number, is_spanned = np.int64(0), False
            is_insertion = _has_insertion(events, haplotype, position)
            for row in range(events.offsets[haplotype], events.offsets[haplotype + 1]):
                if not _overlaps(events, row, position) or (
                    is_insertion and _is_deletion_until(events, row, position + 1)
                ):
                    continue
                key = row
                if events.starts[row] < position:
                    key = SPANNING_DELETION
                else:
                    end = max(end, events.ends[row])
                allele = _find(events, out.alleles, first, count, key)
                if allele == count:
                    out.alleles[count] = key
                    count += 1
                if not is_spanned:
                    number = allele - first
                    is_spanned = key == SPANNING_DELETION
            out.haplotype_alleles[at] = number
            at += 1
        out.ends[site] = end
        out.offsets[site + 1] = count


@njit_inlined
def _overlaps(events: EventsView, row: Integer, position: Integer) -> bool:
    return bool(events.starts[row] <= position < events.ends[row])


@njit_inlined
def _is_deletion_until(events: EventsView, row: Integer, end: Integer) -> bool:
    """Tell whether an event is a simple deletion with this end: ALT is one base, REF is longer."""
    offsets = events.alternates.offsets
    is_deletion = offsets[row + 1] - offsets[row] == 1 and end - events.starts[row] > 1
    return bool(is_deletion and events.ends[row] == end)


@njit
def _has_insertion(events: EventsView, haplotype: Integer, position: Integer) -> bool:
    """Tell whether a simple insertion of a haplotype is at a position: REF is one base."""
    offsets = events.alternates.offsets
    for row in range(events.offsets[haplotype], events.offsets[haplotype + 1]):
        if events.starts[row] == position:
            is_longer = offsets[row + 1] - offsets[row] > 1
            return bool(is_longer and events.ends[row] == position + 1)
    return False


@njit
def _find(
    events: EventsView,
    alleles: NDArray[np.int64],
    first: Integer,
    count: Integer,
    key: Integer,
) -> Integer:
    """Return where an allele is among alleles `first` to `count`; `count` if it is not there."""
    for k in range(first + 1, count):
        if alleles[k] == key or (alleles[k] >= 0 and key >= 0 and _equal(events, alleles[k], key)):
            return k
    return count


@njit
def _equal(events: EventsView, row: Integer, other: Integer) -> bool:
    """Tell whether two events of one start are equal."""
    text, offsets = events.alternates
    start, other_start = offsets[row], offsets[other]
    length = offsets[row + 1] - start
    if events.ends[row] != events.ends[other] or length != offsets[other + 1] - other_start:
        return False
    k = 0
    while k < length and text[start + k] == text[other_start + k]:
        k += 1
    return bool(k == length)

"""Sites of active regions: positions with events, their alleles, and the haplotypes of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.calling.batches import CallSites, Events, RegionHaplotypes, TrimmedRegions
from hapgpu.calling.events.events import EventsView, ReferenceView
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit, njit_inlined

REFERENCE_ALLELE: Final = -1
"""Stands for the reference among the events of a site."""
SPANNING_DELETION: Final = -2
"""Stands for all events that start before a site."""

MAX_ALLELES: Final = 44
"""GATK's default, 1024 genotypes at most, for diploid samples."""

_STAR: Final = ord("*")
_POSITION_BITS: Final = 40


def call_sites(
    trimmed: TrimmedRegions,
    reference: ReferenceSlice,
    max_alleles: int | NDArray[np.int64] = MAX_ALLELES,
    *,
    has_spanning_alleles: bool = True,
) -> CallSites:
    """Return the positions at which events start in the variant spans, with their alleles.

    REF is as long as the longest of the events there; ALTs with a shorter REF get its other bases.
    ALTs are in the order in which the haplotypes have them. Of each site, `max_alleles` are kept at
    most; a haplotype with another allele has -1 in `haplotype_alleles`.

    Parameters
    ----------
    trimmed
        Trimmed active regions, with the events of their haplotypes.
    reference
        Holds the padded spans.
    max_alleles
        At least 1, REF included; of all sites, or int64[t] of each active region.
    has_spanning_alleles
        Whether an event that starts before a position is its allele `*`, else it counts as REF.
    """
    regions, starts = _positions_of(trimmed)
    haplotypes = trimmed.haplotypes
    number_offsets = offsets_of(lengths_of(haplotypes.offsets)[regions])
    events_per_site = lengths_of(trimmed.events.offsets[haplotypes.offsets])[regions]
    found = SiteAlleles(
        np.empty(starts.size, dtype=np.int64),
        np.empty(int((events_per_site + 2).sum()), dtype=np.int64),
        np.zeros(starts.size + 1, dtype=np.int64),
        np.empty(int(number_offsets[-1]), dtype=np.int16),
    )
    gather_alleles(
        columns_of(EventsView, trimmed.events),
        read_only(haplotypes.offsets),
        read_only(regions),
        read_only(starts),
        found,
        has_spanning_alleles,
    )
    texts = _texts_of(found, starts, trimmed.events, reference)
    numbers = Ragged(found.haplotype_alleles, number_offsets)
    sites = CallSites(regions, starts, found.ends, found.offsets, texts, numbers)
    of_sites = max_alleles if isinstance(max_alleles, int) else max_alleles[regions]
    return limited(sites, haplotypes, of_sites)


def _positions_of(trimmed: TrimmedRegions) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return int64[s] each: region and position of the event starts in the variant spans."""
    event_regions = np.repeat(trimmed.haplotypes.regions, lengths_of(trimmed.events.offsets))
    starts = trimmed.events.starts
    is_inside = (starts >= trimmed.regions.starts[event_regions]) & (
        starts < trimmed.regions.ends[event_regions]
    )
    keys = np.unique(event_regions[is_inside] << _POSITION_BITS | starts[is_inside])
    return keys >> _POSITION_BITS, keys & ((1 << _POSITION_BITS) - 1)


def _texts_of(
    found: SiteAlleles, starts: NDArray[np.int64], events: Events, reference: ReferenceSlice
) -> Ragged:
    """Return the bases of alleles; those with a shorter REF are extended."""
    counts = lengths_of(found.offsets)
    alleles = found.alleles[: found.offsets[-1]]
    # The bases of the reference from `firsts` on follow ALT; REF has only these.
    firsts, ends = np.repeat(starts, counts), np.repeat(found.ends, counts)
    is_event = alleles >= 0
    rows = alleles[is_event]
    firsts[is_event] = events.ends[rows]
    lengths = ends - firsts
    lengths[is_event] += events.alternates.lengths_of(rows)
    lengths[alleles == SPANNING_DELETION] = 1
    offsets = offsets_of(lengths)
    text = np.empty(int(offsets[-1]), dtype=np.uint8)
    _write_texts(
        columns_of(EventsView, events),
        read_only(alleles),
        read_only(firsts),
        columns_of(ReferenceView, reference),
        text,
        offsets,
    )
    return Ragged(text, offsets)


@njit
def _write_texts(
    events: EventsView,
    alleles: NDArray[np.int64],
    firsts: NDArray[np.int64],
    reference: ReferenceView,
    text: NDArray[np.uint8],
    offsets: NDArray[np.int64],
) -> None:
    """Write ALT of the event of each allele, and the reference from `firsts` on."""
    for k in range(alleles.size):
        at = offsets[k]
        if alleles[k] == SPANNING_DELETION:
            text[at] = _STAR
            continue
        if alleles[k] != REFERENCE_ALLELE:
            source = events.alternates.offsets[alleles[k]]
            for i in range(source, events.alternates.offsets[alleles[k] + 1]):
                text[at] = events.alternates.data[i]
                at += 1
        base = firsts[k] - reference.start
        while at < offsets[k + 1]:
            text[at] = reference.bases[base]
            base += 1
            at += 1


class SiteAlleles(NamedTuple):
    """Alleles of s sites, and the haplotypes that have them.

    Attributes
    ----------
    ends
        int64[s]: the end of the longest REF.
    alleles, offsets
        int64, int64[s + 1]: the alleles of site i are `alleles[offsets[i]:offsets[i + 1]]`:
        `REFERENCE_ALLELE`, then rows of events and perhaps `SPANNING_DELETION`.
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
    has_spanning: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
) -> None:
    """Find the alleles at s positions, in the order in which the haplotypes have them.

    An event overlaps a position by its REF. If an insertion of a haplotype starts at the position,
    its deletions that end there do not overlap. An event that starts earlier is the allele `*`, the
    allele of its haplotype even if another event of the haplotype starts at the position.

    Parameters
    ----------
    events, haplotype_offsets
        Events of haplotypes, and int64[r + 1]: the haplotypes of region k are rows
        `haplotype_offsets[k]` to `haplotype_offsets[k + 1]`.
    regions, positions
        int64[s]: an event of a haplotype of the region starts at each position.
    out
        Written; `alleles` has room for two more per site than its region has events.
    has_spanning
        Whether there is the allele `*`; else, a haplotype has REF instead.
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
                    if not has_spanning:
                        is_spanned = True
                        continue
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


def limited(
    sites: CallSites,
    haplotypes: RegionHaplotypes,
    max_alleles: int | NDArray[np.int64] = MAX_ALLELES,
) -> CallSites:
    """Keep at most `max_alleles` alleles per site, with REF, by the scores of their haplotypes.

    An allele precedes another by the best score of its haplotypes, then by the second best, then by
    its bases; a missing score is the worst. The order of those that are kept does not change.
    Haplotypes with an allele that is not kept have -1 in `haplotype_alleles`.

    Parameters
    ----------
    sites
        s sites.
    haplotypes
        Haplotypes of the regions of the sites.
    max_alleles
        At least 1; of all sites, or int64[s] of each.
    """
    counts = lengths_of(sites.allele_offsets)
    most = np.broadcast_to(max_alleles, counts.shape)
    too_many = np.flatnonzero(counts > most)
    if not too_many.size:
        return sites
    is_kept = np.ones(len(sites.alleles), dtype=np.bool_)
    for site in too_many:  # hardly any site has so many alleles
        first = sites.allele_offsets[site]
        ranks = _ranks_of(sites, int(site), haplotypes)
        is_kept[first : first + counts[site]] = ranks < most[site]
    before = offsets_of(is_kept)
    allele_offsets = before[sites.allele_offsets]
    new_numbers = before[:-1] - np.repeat(allele_offsets[:-1], counts)
    new_numbers[~is_kept] = -1
    per_site = sites.haplotype_alleles.lengths
    old = sites.haplotype_alleles.data + np.repeat(sites.allele_offsets[:-1], per_site)
    return replace(
        sites,
        allele_offsets=allele_offsets,
        alleles=sites.alleles.take(is_kept),
        haplotype_alleles=Ragged(
            new_numbers[old].astype(np.int16), sites.haplotype_alleles.offsets
        ),
    )


def _ranks_of(sites: CallSites, site: int, haplotypes: RegionHaplotypes) -> NDArray[np.int64]:
    """Return int64[a]: the rank of each allele of a site, from 0; REF has 0."""
    first, last = sites.allele_offsets[[site, site + 1]]
    start, end = haplotypes.offsets[sites.regions[site] + np.array([0, 1])]
    scores = haplotypes.scores[start:end]
    numbers = sites.haplotype_alleles[site]
    keys = []
    for allele in range(last - first):
        own = sorted(scores[(numbers == allele) & ~np.isnan(scores)], reverse=True)
        best, second = [*own, -np.inf, -np.inf][:2]
        keys.append((allele > 0, -best, -second, sites.alleles[first + allele].tobytes()))
    ranks = np.empty(last - first, dtype=np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks

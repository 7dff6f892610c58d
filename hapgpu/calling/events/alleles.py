"""Sites of active regions: positions with events, their alleles, and the haplotypes of each."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.batches import CallSites, Events, TrimmedRegions
from hapgpu.calling.events.allele_limit import limited
from hapgpu.calling.events.sites import (
    REFERENCE_ALLELE,
    SPANNING_DELETION,
    SiteAlleles,
    gather_alleles,
)
from hapgpu.calling.events.views import EventsView, ReferenceView
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.runtime.jit import njit

_STAR: Final = ord("*")
_POSITION_BITS: Final = 40


def call_sites(trimmed: TrimmedRegions, reference: ReferenceSlice) -> CallSites:
    """Return the positions at which events start in the variant spans, with their alleles.

    REF is as long as the longest of the events there; ALTs with a shorter REF get its other bases.
    ALTs are in the order in which the haplotypes have them. At most 44 alleles of a site are kept;
    a haplotype with another allele has -1 in `haplotype_alleles`.

    Parameters
    ----------
    trimmed
        Trimmed active regions, with the events of their haplotypes.
    reference
        Holds the padded spans.
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
        EventsView.of(trimmed.events),
        read_only(haplotypes.offsets),
        read_only(regions),
        read_only(starts),
        found,
    )
    texts = _texts_of(found, starts, trimmed.events, reference)
    numbers = Ragged(found.haplotype_alleles, number_offsets)
    sites = CallSites(regions, starts, found.ends, found.offsets, texts, numbers)
    return limited(sites, haplotypes)


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
        EventsView.of(events),
        read_only(alleles),
        read_only(firsts),
        ReferenceView.of(reference),
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

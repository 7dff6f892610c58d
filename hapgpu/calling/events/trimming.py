"""Active regions trimmed to their variants."""

from __future__ import annotations

import numpy as np

from hapgpu.arrays.ragged import Ragged, lengths_of, offsets_of
from hapgpu.calling.batches import ActiveRegions, RegionHaplotypes, TrimmedRegions
from hapgpu.calling.events.cutting import cut_haplotypes
from hapgpu.calling.events.events import events_of
from hapgpu.calling.events.ordering import distinct_haplotypes
from hapgpu.calling.events.spans import ANY_UNIT, variant_spans
from hapgpu.haplotypes.batches import ReferenceSlice


def trimmed_to_variants(
    haplotypes: RegionHaplotypes,
    regions: ActiveRegions,
    reference: ReferenceSlice,
    longest_unit: int = ANY_UNIT,
) -> TrimmedRegions:
    """Trim active regions and their haplotypes to the variants, as GATK's AssemblyRegionTrimmer.

    Active regions without an event in the active span, and those of which only the reference is
    left, are not kept. Haplotypes that end in a deletion after the cut are excluded.

    Parameters
    ----------
    haplotypes
        Haplotypes of r active regions.
    regions
        The r active regions.
    reference
        Holds the padded spans, and the base before each unless a contig starts there.
    longest_unit
        As for `variant_spans`.
    """
    padded_starts = regions.padded_starts[haplotypes.regions]
    events = events_of(haplotypes, padded_starts, reference)
    spans = variant_spans(events, haplotypes.offsets, regions, reference, longest_unit)
    cut = cut_haplotypes(
        haplotypes.cigars,
        spans.padded_starts[haplotypes.regions] - padded_starts,
        spans.padded_ends[haplotypes.regions] - padded_starts,
    )
    order, offsets = distinct_haplotypes(haplotypes, cut)
    counts = lengths_of(offsets)
    is_kept = counts > 1
    rows = order[np.repeat(is_kept, counts)]
    kept = np.flatnonzero(is_kept)
    trimmed_regions = spans.take(kept)
    trimmed = RegionHaplotypes(
        offsets_of(counts[kept]),
        Ragged.gather(
            haplotypes.bases.data,
            haplotypes.bases.offsets[rows] + cut.base_starts[rows],
            cut.base_ends[rows] - cut.base_starts[rows],
        ),
        cut.cigars.take(rows),
        haplotypes.is_reference[rows],
        haplotypes.scores[rows],
    )
    events = events_of(trimmed, trimmed_regions.padded_starts[trimmed.regions], reference)
    return TrimmedRegions(kept, trimmed_regions, trimmed, events)

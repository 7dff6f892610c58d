"""VCF records within regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import Region, RegionChoice, contig_hint, merge_regions
from hapgpu.io.vcf.batches import VcfBatch


def within(
    batches: Iterable[VcfBatch], choice: RegionChoice, contigs: Mapping[str, int]
) -> Iterator[VcfBatch]:
    """Return the records whose REF overlaps the regions, in batches of at least one.

    Raises
    ------
    UsageError
        The contig of a region is not in `contigs`.
    """
    if choice.regions is None:
        return iter(batches)
    merged: dict[str, list[Region]] = {}
    for region in merge_regions(choice.regions):
        if region.contig not in contigs:
            hint = contig_hint(region.contig, contigs)
            raise UsageError(f"region {region}: no contig '{region.contig}' in the reference{hint}")
        merged.setdefault(region.contig, []).append(region)
    return _overlapping(batches, merged)


def _overlapping(
    batches: Iterable[VcfBatch], merged: Mapping[str, Sequence[Region]]
) -> Iterator[VcfBatch]:
    """Yield the records that overlap regions; these are disjoint and sorted on each contig."""
    ends = {contig: np.array([region.end for region in rows]) for contig, rows in merged.items()}
    # After the last region there is one that no record overlaps.
    starts = {
        contig: np.array([*(region.start for region in rows), np.iinfo(np.int64).max])
        for contig, rows in merged.items()
    }
    for batch in batches:
        if batch.contig in merged:
            nearest = np.searchsorted(ends[batch.contig], batch.starts, side="right")
            record_ends = batch.starts + batch.reference_lengths
            kept = batch.take(starts[batch.contig][nearest] < record_ends)
            if len(kept):
                yield kept

"""VCF records within regions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import Region, RegionChoice, contig_hint, merge_regions
from hapgpu.io.vcf.batches import VcfBatch
from hapgpu.runtime.inputs import expect, note_position

REGIONS: Final = "regions"
"""The regions as an input of `fraction_read`, measured by their bases."""


def within(
    batches: Iterable[VcfBatch], choice: RegionChoice, contigs: Mapping[str, int]
) -> Iterator[VcfBatch]:
    """Return the records whose REF overlaps the regions, in batches of at least one.

    Raises
    ------
    UsageError
        The contig of a region is not in `contigs`, or a text is not a region.
    """
    sets = [_merged(regions, contigs) for regions in choice.sets(contigs)]
    records = _noted(batches, sets[0], contigs) if sets else iter(batches)
    for merged in sets:
        records = _overlapping(records, merged)
    return records


def _merged(regions: Iterable[Region], contigs: Mapping[str, int]) -> dict[str, list[Region]]:
    """Return merged regions by their contigs."""
    merged: dict[str, list[Region]] = {}
    for region in merge_regions(regions):
        if region.contig not in contigs:
            hint = contig_hint(region.contig, contigs)
            raise UsageError(f"region {region}: no contig '{region.contig}' in the reference{hint}")
        merged.setdefault(region.contig, []).append(region)
    return merged


def _noted(
    batches: Iterable[VcfBatch], merged: Mapping[str, Sequence[Region]], contigs: Mapping[str, int]
) -> Iterator[VcfBatch]:
    """Yield batches; note the bases of the regions before the last record of each."""
    starts, lengths = {}, {}
    for contig, regions in merged.items():
        starts[contig] = np.array([region.start for region in regions], dtype=np.int64)
        ends = [min(region.end, contigs[contig]) for region in regions]
        lengths[contig] = np.maximum(np.array(ends) - starts[contig], 0)
    expect(REGIONS, int(sum(bases.sum() for bases in lengths.values())))
    finished, contig = 0, ""
    for batch in batches:
        if batch.contig in merged:
            if batch.contig != contig:
                finished += int(lengths[contig].sum()) if contig else 0
                contig = batch.contig
            before = np.clip(batch.starts[-1] - starts[contig], 0, lengths[contig])
            note_position(REGIONS, finished + int(before.sum()))
        yield batch


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

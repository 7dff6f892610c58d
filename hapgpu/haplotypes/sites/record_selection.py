"""VCF records within regions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import Region, RegionChoice, contig_hint, merge_regions
from hapgpu.io.vcf.records import VcfRecord


def within(
    records: Iterable[VcfRecord], choice: RegionChoice, contigs: Mapping[str, int]
) -> Iterator[VcfRecord]:
    """Return the records whose REF overlaps the regions.

    Raises
    ------
    UsageError
        The contig of a region is not in `contigs`.
    """
    if choice.regions is None:
        return iter(records)
    merged: dict[str, list[Region]] = {}
    for region in merge_regions(choice.regions):
        if region.contig not in contigs:
            hint = contig_hint(region.contig, contigs)
            raise UsageError(f"region {region}: no contig '{region.contig}' in the reference{hint}")
        merged.setdefault(region.contig, []).append(region)
    return _overlapping(records, merged)


def _overlapping(
    records: Iterable[VcfRecord], merged: Mapping[str, Sequence[Region]]
) -> Iterator[VcfRecord]:
    """Yield the records that overlap regions; these are disjoint and sorted on each contig."""
    ends = {contig: [region.end for region in regions] for contig, regions in merged.items()}
    for record in records:
        regions = merged.get(record.contig)
        if regions:
            nearest = bisect_right(ends[record.contig], record.start)
            end = record.start + len(record.reference)
            if nearest < len(regions) and regions[nearest].start < end:
                yield record

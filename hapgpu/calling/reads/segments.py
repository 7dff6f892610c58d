"""Segments: calling intervals, cut into parts that one worker computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hapgpu.calling.batches import Segment
from hapgpu.errors import UsageError
from hapgpu.io.genome.regions import Region, RegionChoice, contig_hint, merge_regions

_MAX_BASES: Final = 200_000
"""About 100 MB per worker at 30x; in smaller segments, workers wait for each other's Python."""
_MIN_BASES: Final = 20_000
"""Below it, the bases beside a segment that are read with it cost too much."""
_SEGMENTS_PER_WORKER: Final = 4


def calling_intervals(choice: RegionChoice, lengths: Mapping[str, int]) -> list[Region]:
    """Return the calling intervals: the regions of the user, merged, else whole contigs.

    Parameters
    ----------
    choice
        The regions.
    lengths
        Length of each contig that can be called; the intervals follow their order.

    Raises
    ------
    UsageError
        A region has another contig, or starts after its contig.
    """
    if choice.regions is None:
        return [Region(contig, 0, length) for contig, length in lengths.items() if length]
    order = {contig: number for number, contig in enumerate(lengths)}
    merged = merge_regions(_within_contig(region, lengths) for region in choice.regions)
    return sorted(merged, key=lambda region: (order[region.contig], region.start))


def _within_contig(region: Region, lengths: Mapping[str, int]) -> Region:
    contig = region.contig
    if contig not in lengths:
        hint = contig_hint(contig, lengths)
        raise UsageError(f"region {region}: no contig '{contig}' in the reference{hint}")
    length = lengths[contig]
    if region.start >= length:
        raise UsageError(f"region '{region}': {contig} has only {length:,} bases; correct it")
    return Region(contig, region.start, min(region.end, length))


def segment_bases(intervals: Sequence[Region], workers: int) -> int:
    """Return the bases of a segment, at most, that keep all workers busy."""
    total = sum(interval.end - interval.start for interval in intervals)
    return max(min(total // (_SEGMENTS_PER_WORKER * workers), _MAX_BASES), _MIN_BASES)


def segments_of(
    intervals: Sequence[Region], lengths: Mapping[str, int], max_bases: int
) -> Iterator[Segment]:
    """Cut calling intervals into segments of at most so many bases, of equal size per interval."""
    for interval in intervals:
        start, bases = interval.start, interval.end - interval.start
        parts = -(-bases // max_bases)
        for part in range(parts):
            yield Segment(
                interval.contig,
                lengths[interval.contig],
                start + bases * part // parts,
                start + bases * (part + 1) // parts,
                interval.start,
                interval.end,
            )

"""Primary and secondary regions of a read, and which of them are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hapgpu.chaining.mappings.reference import Interval, Region
from hapgpu.chaining.options import ChainOptions, RegionOptions

_STRAND_SHARE: Final = 0.8
"""Share of the largest gap that a region on the other strand than its parent has to score."""


def set_parents(regions: Sequence[Region], mask_level: float) -> None:
    """Set parents: the first better primary that covers most of a region (`mm_set_parent`).

    Parameters
    ----------
    regions
        Of a read, the best first.
    mask_level
        Share of the shorter one that has to be covered, beyond what is under no primary at all.
    """
    primaries: list[Region] = []
    for region in regions:
        uncovered = _uncovered(region.query, [primary.query for primary in primaries])
        for primary in primaries:
            if _is_masked(region.query, primary.query, uncovered, mask_level):
                region.parent = primary.number
                primary.second_score = max(primary.second_score, region.score)
                primary.rivals += region.count >= primary.count
                break
        else:
            region.parent = region.number
            primaries.append(region)


def _is_masked(own: Interval, other: Interval, uncovered: int, mask_level: float) -> bool:
    overlap = _overlap(own, other)
    if overlap <= 0:
        return False
    shorter, longer = sorted((own.end - own.start, other.end - other.start))
    share = np.float32(overlap) / np.float32(shorter) - np.float32(uncovered) / np.float32(longer)
    return bool(share > np.float32(mask_level))


def _overlap(a: Interval, b: Interval) -> int:
    return min(a.end, b.end) - max(a.start, b.start)


def _uncovered(own: Interval, others: Sequence[Interval]) -> int:
    """Count the bases of an interval that are in none of the others."""
    uncovered = 0
    behind = own.start
    for other in sorted(others):
        if _overlap(own, other) > 0:
            uncovered += max(other.start - behind, 0)
            behind = max(behind, other.end)
    return uncovered + max(own.end - behind, 0)


def select(
    regions: Sequence[Region], k: int, chain_options: ChainOptions, options: RegionOptions
) -> list[Region]:
    """Keep the primaries and the best of the others, and number them anew (`mm_select_sub`).

    minimap2 2.30 moves what is kept up within its array and looks a parent up at its place, where
    another region may be by then. This list is treated like that array.
    """
    if options.score_ratio <= 0:
        return list(regions)
    array = list(regions)
    kept = secondary = 0
    for region in regions:
        if not region.is_primary:
            parent = array[region.parent]
            if secondary >= options.most_secondary:
                continue
            if _scores_near(region, parent, k, options.score_ratio):
                if _place(region) == _place(parent):
                    continue
            elif (
                region.score > int(_STRAND_SHARE * chain_options.max_gap)
                and region.is_reverse != parent.is_reverse
            ):
                region.is_retained = True
            else:
                continue
            secondary += 1
        array[kept] = region
        kept += 1
    return _renumbered(array[:kept])


def _scores_near(region: Region, parent: Region, k: int, ratio: float) -> bool:
    least = np.float32(parent.score) * np.float32(ratio)
    return bool(np.float32(region.score) >= least) or region.score + 2 * k >= parent.score


def _place(region: Region) -> tuple[Interval, int, Interval]:
    return region.query, region.sequence, region.target


def _renumbered(regions: list[Region]) -> list[Region]:
    """Count regions from 0 again; no parent is missing, as primaries are always kept."""
    numbers = {region.number: number for number, region in enumerate(regions)}
    for number, region in enumerate(regions):
        region.number, region.parent = number, numbers[region.parent]
    return regions

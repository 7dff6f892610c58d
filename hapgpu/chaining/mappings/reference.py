"""Regions: where chains lie, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.chains.reference import Chain
from hapgpu.chaining.options import ChainOptions, RegionOptions
from hapgpu.chaining.sketch.reference import mix
from hapgpu.chaining.sort.reference import sort_ascending

NO_PARENT: Final = -1
_SEED: Final = 11
_LOW_HALF: Final = 2**32 - 1
_STRAND_SHARE: Final = 0.8
"""Share of the largest gap that a region on the other strand than its parent has to score."""


class Interval(NamedTuple):
    """Bases from `start` to `end`, which is not one of them."""

    start: int
    end: int


@dataclass(slots=True)
class Region:
    """A chain and what there is to say of it.

    Attributes
    ----------
    chain
        The chain.
    sequence, is_reverse
        Where it lies.
    query, target
        Bases of the read on its forward strand, and of the reference sequence.
    number, parent
        Place among the regions of its read, and that of the region it is secondary to: its own if
        it is primary, `NO_PARENT` where there is neither.
    second_score, rivals
        The highest score of the regions that are secondary to this one, and how many of these have
        at least as many anchors.
    is_retained
        It is kept only because it lies on the other strand than its parent.
    divergence, quality
        Estimated share of bases that differ, and mapping quality.
    """

    chain: Chain
    sequence: int
    is_reverse: bool
    query: Interval
    target: Interval
    number: int = 0
    parent: int = NO_PARENT
    second_score: int = 0
    rivals: int = 0
    is_retained: bool = False
    divergence: np.float32 = np.float32(0)  # noqa: RUF009  (immutable)
    quality: int = 0

    @property
    def score(self) -> int:
        """Of the chain."""
        return self.chain.score

    @property
    def count(self) -> int:
        """Anchors of the chain."""
        return len(self.chain.anchors)

    @property
    def is_primary(self) -> bool:
        """Whether no other region is its parent."""
        return self.parent == self.number


def regions_of(chains: Sequence[Chain], length: int, name_hash: int) -> list[Region]:
    """Make regions of the chains of a read, the best first (minimap2's `mm_gen_regs`).

    A hash of the first anchor and the read decides between equal scores.

    Parameters
    ----------
    length
        Bases of the read.
    name_hash
        As `hash_of_read` gives it.
    """

    def rank(chain: Chain) -> int:
        first = chain.anchors[0]
        drawn = mix((mix(first.x, 64) + mix(first.y, 64)) % 2**64 ^ name_hash, 64) & _LOW_HALF
        return (chain.score << 32 | len(chain.anchors)) ^ drawn

    best_first = reversed(sort_ascending(chains, key=rank))
    regions = [_located(chain, length) for chain in best_first]
    for number, region in enumerate(regions):
        region.number = number
    return regions


def _located(chain: Chain, length: int) -> Region:
    """Tell where a chain lies: from the first base of its first k-mer to the last of its last."""
    first, last = chain.anchors[0], chain.anchors[-1]
    start, end = first.query + 1 - first.span, last.query + 1
    return Region(
        chain=chain,
        sequence=first.sequence,
        is_reverse=first.is_reverse,
        query=Interval(length - end, length - start) if first.is_reverse else Interval(start, end),
        target=Interval(max(first.target + 1 - first.span, 0), last.target + 1),
    )


def hash_of_read(name: bytes, length: int, *, uses_names: bool) -> int:
    """Hash the name, of ASCII, unless it is not to be used, and the number of bases of a read."""
    hashed = 0
    for letter in name if uses_names else b"":
        hashed = 31 * hashed + letter & _LOW_HALF
    return _mix32(hashed ^ (_mix32(length) + _mix32(_SEED)) & _LOW_HALF)


def _mix32(value: int) -> int:
    """Mix the bits of a number of 32 bits (T. Wang's hash)."""
    value = value + ~(value << 15) & _LOW_HALF
    value ^= value >> 10
    value = value + (value << 3) & _LOW_HALF
    value ^= value >> 6
    value = value + ~(value << 11) & _LOW_HALF
    return value ^ value >> 16


def matches_and_length(chain: Chain) -> tuple[int, int]:
    """Estimate columns 10 and 11 of PAF: bases that match, and bases of the alignment."""
    matches = length = chain.anchors[0].span
    for before, after in zip(chain.anchors, chain.anchors[1:], strict=False):
        target, query = after.target - before.target, after.query - before.query
        length += max(target, query)
        matches += min(target, query, after.span)
    return matches, length


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

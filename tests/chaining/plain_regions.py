"""Chains to regions and qualities in plain Python, written from minimap2's description."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hapgpu.chaining.batches import REVERSE, Chains, Seeds

MASK64 = 2**64 - 1
HALF = 2**32 - 1


class PlainChain(NamedTuple):
    """A chain of one read: its score and (x, y) of its anchors."""

    score: int
    anchors: list[tuple[int, int]]


class PlainSeed(NamedTuple):
    """A seed of one read: where its k-mer ends, and its span."""

    position: int
    span: int


@dataclass
class PlainRegion:
    """A region, with the names of minimap2's PAF documentation."""

    chain: PlainChain
    number: int
    sequence: int
    is_reverse: bool
    query: tuple[int, int]
    target: tuple[int, int]
    parent: int = -1
    second_score: int = 0
    rivals: int = 0
    is_retained: bool = False
    divergence: np.float32 = field(default_factory=np.float32)
    quality: int = 0

    @property
    def score(self) -> int:
        return self.chain.score

    @property
    def count(self) -> int:
        return len(self.chain.anchors)


def mix64(key: int) -> int:
    key = (~key + (key << 21)) & MASK64
    key ^= key >> 24
    key = (key + (key << 3) + (key << 8)) & MASK64
    key ^= key >> 14
    key = (key + (key << 2) + (key << 4)) & MASK64
    key ^= key >> 28
    return (key + (key << 31)) & MASK64


def mix32(key: int) -> int:
    key = (key + ~(key << 15)) & HALF
    key ^= key >> 10
    key = (key + (key << 3)) & HALF
    key ^= key >> 6
    key = (key + ~(key << 11)) & HALF
    return key ^ (key >> 16)


def plain_hash(name: bytes, length: int) -> int:
    hashed = 0
    for letter in name:
        hashed = (31 * hashed + letter) & HALF
    return mix32(hashed ^ ((mix32(length) + mix32(11)) & HALF))


def located(chain: PlainChain, length: int, number: int) -> PlainRegion:
    (x, y), (last_x, last_y) = chain.anchors[0], chain.anchors[-1]
    span = y >> 32 & 255
    start, end = (y & HALF) + 1 - span, (last_y & HALF) + 1
    is_reverse = bool(x & REVERSE)
    return PlainRegion(
        chain=chain,
        number=number,
        sequence=(x & ~REVERSE) >> 32,
        is_reverse=is_reverse,
        query=(length - end, length - start) if is_reverse else (start, end),
        target=(max(0, (x & HALF) + 1 - span), (last_x & HALF) + 1),
    )


def sorted_regions(chains: list[PlainChain], length: int, hashed: int) -> list[PlainRegion]:
    """Only for chains whose keys differ."""

    def key(chain: PlainChain) -> int:
        x, y = chain.anchors[0]
        drawn = mix64(((mix64(x) + mix64(y)) & MASK64) ^ hashed) & HALF
        return (chain.score << 32 | len(chain.anchors)) ^ drawn

    ordered = sorted(chains, key=key, reverse=True)
    return [located(chain, length, number) for number, chain in enumerate(ordered)]


def set_parents(regions: list[PlainRegion], mask_level: float) -> None:
    primaries: list[PlainRegion] = []
    for region in regions:
        start, end = region.query
        bases = set(range(start, end))
        covered = {
            base for p in primaries for base in range(max(start, p.query[0]), min(end, p.query[1]))
        }
        uncovered = len(bases - covered)
        region.parent = region.number
        for primary in primaries:
            overlap = min(end, primary.query[1]) - max(start, primary.query[0])
            if overlap <= 0:
                continue
            sizes = sorted((end - start, primary.query[1] - primary.query[0]))
            share = np.float32(overlap) / np.float32(sizes[0])
            if share - np.float32(uncovered) / np.float32(sizes[1]) > np.float32(mask_level):
                region.parent = primary.number
                primary.second_score = max(primary.second_score, region.score)
                primary.rivals += region.count >= primary.count
                break
        if region.parent == region.number:
            primaries.append(region)


def select(
    regions: list[PlainRegion], ratio: float, most: int, k: int, max_gap: int
) -> list[PlainRegion]:
    """As minimap2 2.30: within one array, in which what is kept moves up."""
    slots = list(regions)
    kept = 0
    secondary = 0
    for place, region in enumerate(regions):
        if region.parent != place:
            parent = slots[region.parent]
            near = np.float32(region.score) >= np.float32(parent.score) * np.float32(ratio)
            near |= region.score + 2 * k >= parent.score
            if secondary >= most:
                continue
            if near:
                same = (region.query, region.sequence, region.target)
                if same == (parent.query, parent.sequence, parent.target):
                    continue
            elif region.score > int(max_gap * 0.8) and region.is_reverse != parent.is_reverse:
                region.is_retained = True
            else:
                continue
            secondary += 1
        slots[kept] = region
        kept += 1
    chosen = slots[:kept]
    numbers = {region.number: number for number, region in enumerate(chosen)}
    for number, region in enumerate(chosen):
        region.number, region.parent = number, numbers[region.parent]
    return chosen


def lengths_of(chain: PlainChain) -> tuple[int, int]:
    """Columns 10 and 11."""
    matches = length = chain.anchors[0][1] >> 32 & 255
    for (x, y), (next_x, next_y) in zip(chain.anchors, chain.anchors[1:], strict=False):
        target, query = (next_x & HALF) - (x & HALF), (next_y & HALF) - (y & HALF)
        span = next_y >> 32 & 255
        length += max(target, query)
        matches += span if target > span and query > span else min(target, query)
    return matches, length


def seed_counts(
    region: PlainRegion, seeds: list[PlainSeed], length: int, target_length: int
) -> tuple[int, int]:
    def position(y: int) -> int:
        place, span = y & HALF, y >> 32 & 255
        return length - 1 - (place + 1 - span) if region.is_reverse else place

    mean = np.float32(sum(seed.span for seed in seeds)) / np.float32(len(seeds))
    positions = sorted(position(y) for _, y in region.chain.anchors)
    under = [seed for seed in seeds if positions[0] <= seed.position <= positions[-1]]
    expected = len(under)
    expected += region.query[0] > mean and region.target[0] > mean
    expected += length - region.query[0] > mean and target_length - region.target[1] > mean
    return len(positions), expected


def divergence(matched: int, expected: int, seeds: list[PlainSeed]) -> np.float32:
    mean = np.float32(sum(seed.span for seed in seeds)) / np.float32(len(seeds))
    if matched >= expected:
        return np.float32(0)
    return np.float32(1.0 - math.pow(matched / expected, 1.0 / float(mean)))


def batch_of(reads: list[tuple[list[PlainChain], list[PlainSeed]]]) -> tuple[Chains, Seeds]:
    """Put reads into the arrays of a batch."""
    chains = [chain for read, _ in reads for chain in read]
    anchors = [anchor for chain in chains for anchor in chain.anchors]
    seeds = [seed for _, of_read in reads for seed in of_read]

    def offsets(counts: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    return Chains(
        x=np.array([x for x, _ in anchors], dtype=np.uint64),
        y=np.array([y for _, y in anchors], dtype=np.uint64),
        anchor_offsets=offsets([len(chain.anchors) for chain in chains]),
        scores=np.array([chain.score for chain in chains], dtype=np.int32),
        offsets=offsets([len(read) for read, _ in reads]),
    ), Seeds(
        places=np.array([2 * seed.position for seed in seeds], dtype=np.uint32),
        spans=np.array([seed.span for seed in seeds], dtype=np.uint8),
        is_tandem=np.zeros(len(seeds), dtype=np.uint8),
        first_hits=np.zeros(len(seeds), dtype=np.int64),
        hit_counts=np.ones(len(seeds), dtype=np.int32),
        offsets=offsets([len(of_read) for _, of_read in reads]),
        repeat_lengths=np.arange(len(reads), dtype=np.int32),
    )

"""Regions: where chains lie, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.chains.reference import Chain
from hapgpu.chaining.sketch.reference import mix
from hapgpu.chaining.sort.reference import sort_ascending

NO_PARENT: Final = -1
_SEED: Final = 11
_LOW_HALF: Final = 2**32 - 1


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

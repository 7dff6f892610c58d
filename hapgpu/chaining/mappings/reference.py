"""Mappings: where chains lie, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.chains.reference import Chain
from hapgpu.chaining.options import ChainOptions, MappingOptions
from hapgpu.chaining.sketch.reference import mix
from hapgpu.chaining.sort.reference import sort_ascending

NO_PARENT: Final = -1
_SEED: Final = 11
_LOW_HALF: Final = 2**32 - 1
_STRAND_SHARE: Final = 0.8
"""Share of the largest gap that a mapping on the other strand than its parent has to score."""


class Interval(NamedTuple):
    """Bases from `start` to `end`, which is not one of them."""

    start: int
    end: int


@dataclass(slots=True)
class Mapping:
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
        Place among the mappings of its read, and that of the mapping it is secondary to: its own if
        it is primary, `NO_PARENT` where there is neither.
    second_score, rivals
        The highest score of the mappings that are secondary to this one, and how many of these have
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
        """Whether no other mapping is its parent."""
        return self.parent == self.number


def mappings_of(chains: Sequence[Chain], length: int, name_hash: int) -> list[Mapping]:
    """Make mappings of the chains of a read, the best first (minimap2's `mm_gen_regs`).

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
    mappings = [_located(chain, length) for chain in best_first]
    for number, mapping in enumerate(mappings):
        mapping.number = number
    return mappings


def _located(chain: Chain, length: int) -> Mapping:
    """Tell where a chain lies: from the first base of its first k-mer to the last of its last."""
    first, last = chain.anchors[0], chain.anchors[-1]
    start, end = first.query + 1 - first.span, last.query + 1
    return Mapping(
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


def set_parents(mappings: Sequence[Mapping], mask_level: float) -> None:
    """Set parents: the first better primary that covers most of a mapping (`mm_set_parent`).

    Parameters
    ----------
    mappings
        Of a read, the best first.
    mask_level
        Share of the shorter one that has to be covered, beyond what is under no primary at all.
    """
    primaries: list[Mapping] = []
    for mapping in mappings:
        uncovered = _uncovered(mapping.query, [primary.query for primary in primaries])
        for primary in primaries:
            if _is_masked(mapping.query, primary.query, uncovered, mask_level):
                mapping.parent = primary.number
                primary.second_score = max(primary.second_score, mapping.score)
                primary.rivals += mapping.count >= primary.count
                break
        else:
            mapping.parent = mapping.number
            primaries.append(mapping)


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
    mappings: Sequence[Mapping], k: int, chain_options: ChainOptions, options: MappingOptions
) -> list[Mapping]:
    """Keep the primaries and the best of the others, and number them anew (`mm_select_sub`).

    minimap2 2.30 moves what is kept up within its array and looks a parent up at its place, where
    another mapping may be by then. This list is treated like that array.
    """
    if options.score_ratio <= 0:
        return list(mappings)
    array = list(mappings)
    kept = secondary = 0
    for mapping in mappings:
        if not mapping.is_primary:
            parent = array[mapping.parent]
            if secondary >= options.max_secondary:
                continue
            if _scores_near(mapping, parent, k, options.score_ratio):
                if _place(mapping) == _place(parent):
                    continue
            elif (
                mapping.score > int(_STRAND_SHARE * chain_options.max_gap)
                and mapping.is_reverse != parent.is_reverse
            ):
                mapping.is_retained = True
            else:
                continue
            secondary += 1
        array[kept] = mapping
        kept += 1
    return _renumbered(array[:kept])


def _scores_near(mapping: Mapping, parent: Mapping, k: int, ratio: float) -> bool:
    least = np.float32(parent.score) * np.float32(ratio)
    return bool(np.float32(mapping.score) >= least) or mapping.score + 2 * k >= parent.score


def _place(mapping: Mapping) -> tuple[Interval, int, Interval]:
    return mapping.query, mapping.sequence, mapping.target


def _renumbered(mappings: list[Mapping]) -> list[Mapping]:
    """Count mappings from 0 again; no parent is missing, as primaries are always kept."""
    numbers = {mapping.number: number for number, mapping in enumerate(mappings)}
    for number, mapping in enumerate(mappings):
        mapping.number, mapping.parent = number, numbers[mapping.parent]
    return mappings

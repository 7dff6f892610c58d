"""Reference implementation of mappings: coordinates, parents and selection of chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from hapgpu.longread.options import ChainOptions, MappingOptions
from tests.longread.chains.reference import Chain
from tests.longread.sketch.reference import mix
from tests.longread.sort.reference import sort_ascending

NO_PARENT: Final = -1
_SEED: Final = 11
_LOW_HALF: Final = 2**32 - 1
_STRAND_FRACTION: Final = 0.8
"""A mapping on another strand than its parent must score more than this times `max_gap`."""


class Interval(NamedTuple):
    """Half-open range of bases."""

    start: int
    end: int


@dataclass(slots=True)
class Mapping:
    """A chain with coordinates, parent and estimates.

    Attributes
    ----------
    chain
        The chain.
    sequence, is_reverse
        Reference sequence and strand.
    query, target
        Range in the read, on its forward strand, and in the reference sequence.
    number, parent
        Number of the mapping within its read, and number of its parent: its own number if it is
        primary, `NO_PARENT` with `all_chains`.
    second_score, n_sub
        Highest score of the secondaries, and number of secondaries with at least as many anchors.
    is_retained
        The mapping is kept only because its strand differs from its parent's.
    divergence, quality
        Estimated fraction of bases that differ, and mapping quality.
    """

    chain: Chain
    sequence: int
    is_reverse: bool
    query: Interval
    target: Interval
    number: int = 0
    parent: int = NO_PARENT
    second_score: int = 0
    n_sub: int = 0
    is_retained: bool = False
    divergence: np.float32 = np.float32(0)  # noqa: RUF009  (immutable)
    quality: int = 0

    @property
    def score(self) -> int:
        """Score of the chain."""
        return self.chain.score

    @property
    def count(self) -> int:
        """Number of anchors of the chain."""
        return len(self.chain.anchors)

    @property
    def is_primary(self) -> bool:
        """True if no other mapping is the parent."""
        return self.parent == self.number


def mappings_of(chains: Sequence[Chain], length: int, name_hash: int) -> list[Mapping]:
    """Return mappings of the chains of a read, the best first (minimap2's `mm_gen_regs`).

    A hash of the first anchor and the read breaks ties between scores.

    Parameters
    ----------
    length
        Length of the read in bases.
    name_hash
        Result of `hash_of_read`.
    """

    def rank(chain: Chain) -> int:
        first = chain.anchors[0]
        tie_breaker = mix((mix(first.x, 64) + mix(first.y, 64)) % 2**64 ^ name_hash, 64) & _LOW_HALF
        return (chain.score << 32 | len(chain.anchors)) ^ tie_breaker

    best_first = reversed(sort_ascending(chains, key=rank))
    mappings = [_located(chain, length) for chain in best_first]
    for number, mapping in enumerate(mappings):
        mapping.number = number
    return mappings


def _located(chain: Chain, length: int) -> Mapping:
    """Return a mapping from the first base of the first k-mer to the last base of the last."""
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
    """Hash the length of a read and, with `uses_names`, its ASCII name."""
    hashed = 0
    for letter in name if uses_names else b"":
        hashed = 31 * hashed + letter & _LOW_HALF
    return _mix32(hashed ^ (_mix32(length) + _mix32(_SEED)) & _LOW_HALF)


def _mix32(value: int) -> int:
    """Mix a 32-bit number (T. Wang's hash)."""
    value = value + ~(value << 15) & _LOW_HALF
    value ^= value >> 10
    value = value + (value << 3) & _LOW_HALF
    value ^= value >> 6
    value = value + ~(value << 11) & _LOW_HALF
    return value ^ value >> 16


def matches_and_length(chain: Chain) -> tuple[int, int]:
    """Estimate columns 10 and 11 of PAF: matching bases and alignment length."""
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
        Mappings of a read, the best first.
    mask_level
        Fraction of the shorter mapping that must overlap, beyond the uncovered fraction.
    """
    primaries: list[Mapping] = []
    for mapping in mappings:
        found = masking_primary(mapping.query, [each.query for each in primaries], mask_level)
        if found is None:
            mapping.parent = mapping.number
            primaries.append(mapping)
        else:
            primary = primaries[found]
            mapping.parent = primary.number
            primary.second_score = max(primary.second_score, mapping.score)
            primary.n_sub += mapping.count >= primary.count


def masking_primary(own: Interval, primaries: Sequence[Interval], mask_level: float) -> int | None:
    """Return the index of the first primary mapping that covers most of a mapping, if any."""
    uncovered = _uncovered(own, primaries)
    for index, primary in enumerate(primaries):
        if _is_masked(own, primary, uncovered, mask_level):
            return index
    return None


def _is_masked(own: Interval, other: Interval, uncovered: int, mask_level: float) -> bool:
    shared = overlap(own, other)
    if shared <= 0:
        return False
    shorter, longer = sorted((own.end - own.start, other.end - other.start))
    fraction = np.float32(shared) / np.float32(shorter) - np.float32(uncovered) / np.float32(longer)
    return bool(fraction > np.float32(mask_level))


def overlap(a: Interval, b: Interval) -> int:
    """Return the number of shared bases; below 0 for intervals apart."""
    return min(a.end, b.end) - max(a.start, b.start)


def _uncovered(own: Interval, others: Sequence[Interval]) -> int:
    """Count the bases of an interval outside all others."""
    uncovered = 0
    covered_end = own.start
    for other in sorted(others):
        if overlap(own, other) > 0:
            uncovered += max(other.start - covered_end, 0)
            covered_end = max(covered_end, other.end)
    return uncovered + max(own.end - covered_end, 0)


def select(
    mappings: Sequence[Mapping], k: int, chain_options: ChainOptions, options: MappingOptions
) -> list[Mapping]:
    """Keep the primaries and the best of the others, and renumber them (`mm_select_sub`).

    minimap2 2.30 moves kept mappings up within its array and looks a parent up at its old row,
    which may contain another mapping by then. This list reproduces that array.
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
            if scores_near(mapping.score, parent.score, k, options.score_ratio):
                if _coordinates(mapping) == _coordinates(parent):
                    continue
            elif (
                mapping.score > int(_STRAND_FRACTION * chain_options.max_gap)
                and mapping.is_reverse != parent.is_reverse
            ):
                mapping.is_retained = True
            else:
                continue
            secondary += 1
        array[kept] = mapping
        kept += 1
    return _renumbered(array[:kept])


def scores_near(score: int, best: int, k: int, ratio: float) -> bool:
    """Return True if a score is nearly as high as the parent's."""
    min_score = np.float32(best) * np.float32(ratio)
    return bool(np.float32(score) >= min_score) or score + 2 * k >= best


def _coordinates(mapping: Mapping) -> tuple[Interval, int, Interval]:
    return mapping.query, mapping.sequence, mapping.target


def _renumbered(mappings: list[Mapping]) -> list[Mapping]:
    """Renumber mappings from 0; all parents exist, as primaries are always kept."""
    numbers = {mapping.number: number for number, mapping in enumerate(mappings)}
    for number, mapping in enumerate(mappings):
        mapping.number, mapping.parent = number, numbers[mapping.parent]
    return mappings

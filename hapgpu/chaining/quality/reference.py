"""How far mappings diverge from the reference, and how sure it is that they are the right ones."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from hapgpu.chaining.anchors.reference import Anchor
from hapgpu.chaining.mappings.reference import Mapping
from hapgpu.chaining.seeds.reference import Seed

HIGHEST: Final = 60
_RETAINED_RATIO: Final = np.float32(5)
_RETAINED_LEAST: Final = np.float32(0.01)


class SeedCounts(NamedTuple):
    """How many seeds of the read are in the chain of a mapping, and how many could be."""

    matched: int
    expected: int


def mean_span(seeds: Sequence[Seed]) -> np.float32:
    """Return the mean bases of the seeds of a read."""
    total = sum(seed.minimizer.span for seed in seeds)
    return np.float32(total) / np.float32(max(len(seeds), 1))


def count_seeds(
    mapping: Mapping, seeds: Sequence[Seed], length: int, target_length: int
) -> SeedCounts:
    """Count the seeds that a mapping has, and those that it could have.

    These are the seeds from its first to its last one, and another before and behind where read
    and reference go on for the length of one (`mm_est_err`, which at the end compares the start of
    the mapping in the read).

    Parameters
    ----------
    seeds
        Of the read, those kept.
    length, target_length
        Bases of the read, and of the reference sequence.
    """
    positions = [seed.minimizer.position for seed in seeds]
    of_anchors = [_position_on_forward_strand(each, length) for each in mapping.chain.anchors]
    if mapping.is_reverse:
        of_anchors.reverse()
    first = last = bisect_left(positions, of_anchors[0])
    matched = 1
    for place in range(first + 1, len(positions)):
        if matched < len(of_anchors) and positions[place] == of_anchors[matched]:
            last = place
            matched += 1
    mean = mean_span(seeds)
    expected = last - first + 1
    expected += bool(mapping.query.start > mean and mapping.target.start > mean)
    left = length - mapping.query.start, target_length - mapping.target.end
    expected += bool(left[0] > mean and left[1] > mean)
    return SeedCounts(matched, expected)


def _position_on_forward_strand(anchor: Anchor, length: int) -> int:
    """Return where the k-mer of an anchor ends in the read as it was given."""
    if not anchor.is_reverse:
        return anchor.query
    first_base = anchor.query + 1 - anchor.span
    return length - 1 - first_base


def divergence_of(counts: SeedCounts, mean: np.float32) -> np.float32:
    """Estimate the share of bases that differ: a seed is missing if any of its bases does.

    Parameters
    ----------
    mean
        Mean bases of the seeds.
    """
    if counts.matched >= counts.expected:
        return np.float32(0)
    return np.float32(1 - (counts.matched / counts.expected) ** (1 / float(mean)))


def drop_divergent(mappings: Sequence[Mapping]) -> list[Mapping]:
    """Drop mappings on the other strand that diverge far more than their parents.

    (`mm_filter_strand_retained`.) Numbers stay; as in `select`, mappings move up in place, and a
    parent is looked up at its old place.
    """
    array = list(mappings)
    kept = 0
    for mapping in mappings:
        if mapping.is_retained:
            most = array[mapping.parent].divergence * _RETAINED_RATIO
            if mapping.divergence >= max(most, _RETAINED_LEAST):
                continue
        array[kept] = mapping
        kept += 1
    return array[:kept]


def set_qualities(mappings: Sequence[Mapping], repeat_length: int, min_score: int) -> None:
    """Set the mapping qualities of the primary mappings of a read (`mm_set_mapq2`; Li 2018).

    Parameters
    ----------
    repeat_length
        Bases of the read under dropped seeds.
    min_score
        Least score of a chain.
    """
    total = sum(mapping.score for mapping in mappings if mapping.is_primary)
    if total == 0:
        return
    unique_share = np.float32(total) / np.float32(total + repeat_length)
    for mapping in mappings:
        if mapping.is_primary:
            mapping.quality = _quality(mapping, unique_share, min_score)


def _quality(mapping: Mapping, unique_share: np.float32, min_score: int) -> int:
    """Return the mapping quality, in single precision, each operation rounded."""
    single = np.float32
    by_score = (
        single(1) if mapping.score > 100 else single(0.01) * single(mapping.score)
    ) * unique_share
    by_count = single(1) if mapping.count > 10 else single(0.1) * single(mapping.count)
    second = single(max(mapping.second_score, min_score)) / single(mapping.score)
    quality = int(
        min(by_score, by_count) * single(40) * (single(1) - second) * _logarithm(mapping.score)
    )
    quality -= int(single(4.343) * _logarithm(mapping.rivals + 1) + single(0.499))
    return min(max(quality, 0), HIGHEST)


def _logarithm(value: int) -> np.float32:
    return np.float32(math.log(value))

"""Reference implementation of divergence and mapping quality."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tests.longread.anchors.reference import Anchor
from tests.longread.mappings.reference import Mapping
from tests.longread.seeds.reference import Seed

MAX_QUALITY: Final = 60
_RETAINED_RATIO: Final = np.float32(5)
_MIN_RETAINED: Final = np.float32(0.01)


class SeedCounts(NamedTuple):
    """Number of seeds in the chain of a mapping, and number of seeds that could be in it."""

    matched: int
    expected: int


def mean_span(seeds: Sequence[Seed]) -> np.float32:
    """Return the mean span of the seeds of a read."""
    total = sum(seed.minimizer.span for seed in seeds)
    return np.float32(total) / np.float32(max(len(seeds), 1))


def count_seeds(
    mapping: Mapping, seeds: Sequence[Seed], length: int, target_length: int
) -> SeedCounts:
    """Count the seeds in the chain of a mapping, and the seeds that could be in it.

    The latter are the seeds from its first to its last, plus one before and one after if read and
    reference have enough bases there (`mm_est_err`, which compares the start of the mapping in the
    read at both ends).

    Parameters
    ----------
    seeds
        Kept seeds of the read.
    length, target_length
        Lengths of the read and of the reference sequence in bases.
    """
    positions = [seed.minimizer.position for seed in seeds]
    of_anchors = [_position_on_forward_strand(each, length) for each in mapping.chain.anchors]
    if mapping.is_reverse:
        of_anchors.reverse()
    first = last = bisect_left(positions, of_anchors[0])
    matched = 1
    for seed in range(first + 1, len(positions)):
        if matched < len(of_anchors) and positions[seed] == of_anchors[matched]:
            last = seed
            matched += 1
    mean = mean_span(seeds)
    expected = last - first + 1
    expected += bool(mapping.query.start > mean and mapping.target.start > mean)
    rest = length - mapping.query.start, target_length - mapping.target.end
    expected += bool(rest[0] > mean and rest[1] > mean)
    return SeedCounts(matched, expected)


def _position_on_forward_strand(anchor: Anchor, length: int) -> int:
    """Return the position of an anchor in the read on its forward strand."""
    if not anchor.is_reverse:
        return anchor.query
    first_base = anchor.query + 1 - anchor.span
    return length - 1 - first_base


def divergence_of(counts: SeedCounts, mean: np.float32) -> np.float32:
    """Estimate the fraction of bases that differ: a seed is missing if any of its bases differs.

    Parameters
    ----------
    mean
        Mean span of the seeds.
    """
    if counts.matched >= counts.expected:
        return np.float32(0)
    return np.float32(1 - (counts.matched / counts.expected) ** (1 / float(mean)))


def drop_divergent(mappings: Sequence[Mapping]) -> list[Mapping]:
    """Drop retained mappings that diverge far more than their parents.

    As minimap2's `mm_filter_strand_retained`; numbers stay the same. As in `select`,
    mappings move up in place, and a parent is looked up at its old row.
    """
    array = list(mappings)
    kept = 0
    for mapping in mappings:
        if mapping.is_retained:
            max_divergence = array[mapping.parent].divergence * _RETAINED_RATIO
            if mapping.divergence >= max(max_divergence, _MIN_RETAINED):
                continue
        array[kept] = mapping
        kept += 1
    return array[:kept]


def set_qualities(mappings: Sequence[Mapping], repeat_length: int, min_score: int) -> None:
    """Set the mapping qualities of the primary mappings of a read (`mm_set_mapq2`; Li 2018).

    Parameters
    ----------
    repeat_length
        Number of bases that dropped seeds cover.
    min_score
        Lowest score of a chain.
    """
    total = sum(mapping.score for mapping in mappings if mapping.is_primary)
    for mapping in mappings:
        if mapping.is_primary:
            weight = weight_of(mapping.score, mapping.count, total, repeat_length)
            mapping.quality = _quality(mapping, weight, min_score)


def weight_of(score: int, count: int, total: int, repeat_length: int) -> np.float32:
    """Return the weight of a chain: less for a low score, few anchors and repeats.

    Parameters
    ----------
    total
        Sum of the scores of the primary mappings, above 0.
    """
    single = np.float32
    unique_fraction = single(total) / single(total + repeat_length)
    by_score = single(1) if score > 100 else single(0.01) * single(score)
    by_count = single(1) if count > 10 else single(0.1) * single(count)
    return min(by_score * unique_fraction, by_count)


def _quality(mapping: Mapping, weight: np.float32, min_score: int) -> int:
    """Return the mapping quality, in single precision, each operation rounded."""
    single = np.float32
    second = single(max(mapping.second_score, min_score)) / single(mapping.score)
    quality = int(weight * single(40) * (single(1) - second) * logarithm(mapping.score))
    return limited(quality - cost_of_secondaries(mapping.n_sub))


def cost_of_secondaries(n_sub: int) -> int:
    """Return the quality that a mapping loses if other mappings are as good."""
    return int(np.float32(4.343) * logarithm(n_sub + 1) + np.float32(0.499))


def limited(quality: int) -> int:
    """Return a quality within 0 and `MAX_QUALITY`."""
    return min(max(quality, 0), MAX_QUALITY)


def logarithm(value: float) -> np.float32:
    """Return the natural logarithm in single precision."""
    return np.float32(math.log(value))

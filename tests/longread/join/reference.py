"""Reference implementation of the long join: anchors of chains are chained once more (Li 2021).

Consecutive anchors may be as far apart as `long_bandwidth`. Of all predecessors within that
distance, only one is scored: the one that would score highest if a gap cost nothing but its length.
Predecessors within a short distance are visited as in chaining.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

import numpy as np

from hapgpu.longread.parameters import JoinParameters
from tests.longread.anchors.reference import Anchor
from tests.longread.chains.reference import Chain, chains_of
from tests.longread.scores.reference import Scores, Search, first_in_reach, gain, gap_between
from tests.longread.sort.reference import sort_ascending

_MIN_UNCHAINED: Final = 1000
_MIN_FRACTION: Final = np.float32(0.1)


def joined(chains: Sequence[Chain], length: int, parameters: JoinParameters, k: int) -> list[Chain]:
    """Chain the anchors of all chains of a read once more; return the given chains if not needed.

    Parameters
    ----------
    length
        Length of the read in bases.
    parameters
        Penalties are not used; they follow from `k`.
    """
    if len(chains) < 2:
        return list(chains)
    first = chains[0].anchors
    covered = first[-1].query - first[0].query
    is_short = np.float32(covered) <= np.float32(length) * _MIN_FRACTION
    if length - covered <= _MIN_UNCHAINED and is_short:
        return list(chains)
    anchors = [anchor for chain in chains for anchor in chain.anchors]
    anchors = sort_ascending(anchors, key=lambda anchor: anchor.x)
    return chains_of(anchors, join_scores(anchors, parameters, k), parameters)


def join_scores(anchors: Sequence[Anchor], parameters: JoinParameters, k: int) -> Scores:
    """Score the sorted anchors of a read (minimap2's `mg_lchain_rmq`)."""
    scores: list[int] = []
    predecessors: list[int] = []
    priorities: list[float] = []
    half_slope = 0.5 * float(np.float32(float(np.float32(0.8)) * 0.01 * k))
    order = [anchor.x for anchor in anchors]
    for anchor in anchors:
        search = Search(anchor.span, parameters.max_skip)
        far = _far_candidates(order, anchors, anchor, parameters)
        if far:
            j = max(far, key=priorities.__getitem__)
            if gap_between(anchors[j], anchor) <= parameters.bandwidth:
                search.improve(j, scores[j] + gain(anchors[j], anchor, k))
            if not _continues(anchors[j], anchor):
                for j in _near_candidates(order, anchors, anchor, parameters):
                    if gap_between(anchors[j], anchor) > parameters.bandwidth:
                        continue
                    score = scores[j] + gain(anchors[j], anchor, k)
                    if search.stops(j, score, predecessors[j]):
                        break
        scores.append(search.best)
        predecessors.append(search.predecessor)
        priorities.append(search.best + half_slope * (anchor.target + anchor.query))
    return Scores(scores, predecessors)


def _far_candidates(
    order: Sequence[int], anchors: Sequence[Anchor], anchor: Anchor, parameters: JoinParameters
) -> list[int]:
    """Return the anchors within the long distance; in the read, within less than that distance.

    In minimap2's search tree, anchor 0 of a read is a candidate even if it has the same position
    in the read as this anchor.
    """
    query = anchor.query
    return [
        j
        for j in _candidates(order, anchor, parameters.max_distance, parameters.max_candidates)
        if query - parameters.max_distance < anchors[j].query < query + (j == 0)
    ]


def _near_candidates(
    order: Sequence[int], anchors: Sequence[Anchor], anchor: Anchor, parameters: JoinParameters
) -> list[int]:
    """Return the anchors within the short distance, the nearest in the read first."""
    query = anchor.query
    near = [
        j
        for j in _candidates(order, anchor, parameters.inner_distance, parameters.max_candidates)
        if query - parameters.inner_distance <= anchors[j].query < query
    ]
    return sorted(near, key=lambda j: (anchors[j].query, j), reverse=True)


def _candidates(order: Sequence[int], anchor: Anchor, distance: int, max_count: int) -> range:
    """Return at most `max_count` nearest anchors before this one on the reference.

    Anchors at the same position of the reference are not before each other.
    """
    end = bisect_left(order, anchor.x)
    return range(max(first_in_reach(order, anchor, distance), end - max_count), end)


def _continues(before: Anchor, after: Anchor) -> bool:
    """Return True if two k-mers overlap or touch on one diagonal: nothing can score better."""
    return gap_between(before, after) == 0 and after.query - before.query <= before.span

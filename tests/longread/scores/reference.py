"""Reference implementation of chain scores: the best chain that ends at each anchor (Li 2018).

From an anchor to the next, a chain gains the number of new matching bases, minus the cost of the
gap between their diagonals:

    f(i) = max(span(i), max over j of f(j) + min(span(j), steps of target and query) - cost(gap))
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from hapgpu.longread.parameters import ChainParameters
from tests.longread.anchors.reference import Anchor

NONE: Final = -1
"""Predecessor of an anchor at which a chain starts."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Score of the best chain that ends at each anchor of a read, and the previous anchor in it.

    A predecessor is the number of an anchor, or `NONE`.
    """

    scores: list[int]
    predecessors: list[int]


def chain_scores(anchors: Sequence[Anchor], parameters: ChainParameters, k: int) -> Scores:
    """Score the sorted anchors of a read (minimap2's `mg_lchain_dp`).

    Predecessors are visited from the nearest to the farthest, so the nearest of ties is chosen. The
    search may stop early (`Search`); then the anchor of the highest score within reach is visited
    as well.

    Parameters
    ----------
    parameters
        Penalties are not used; they follow from `k`.
    k
        K-mer length, which scales the gap costs.
    """
    scores: list[int] = []
    predecessors: list[int] = []
    peak = NONE
    order = [anchor.x for anchor in anchors]
    for i, anchor in enumerate(anchors):
        search = Search(anchor.span, parameters.max_skip)
        first = first_in_reach(order, anchor, parameters.max_distance_x)
        end = max(first, i - parameters.max_iterations) - 1
        nearest_first = range(i - 1, end, -1)
        for j in nearest_first:
            if not _can_precede(anchors[j], anchor, parameters):
                continue
            if search.stops(j, scores[j] + gain(anchors[j], anchor, k), predecessors[j]):
                end = j
                break
        if peak < first:
            peak = max(nearest_first, key=scores.__getitem__, default=NONE)
        if NONE < peak < end and _can_precede(anchors[peak], anchor, parameters):
            search.improve(peak, scores[peak] + gain(anchors[peak], anchor, k))
        scores.append(search.best)
        predecessors.append(search.predecessor)
        if peak == NONE or scores[i] > scores[peak]:
            peak = i
    return Scores(scores, predecessors)


class Search:
    """Search for the best predecessor of one anchor, which may stop early.

    Predecessors of visited anchors are likely to score lower than these. Each one that is visited
    without an improvement adds 1 to a count, each improvement takes 1 away; the search stops when
    the count exceeds `max_skip`.

    Parameters
    ----------
    span_score
        Score of the chain of this anchor alone; a predecessor must give a higher score.
    """

    def __init__(self, span_score: int, max_skip: int) -> None:
        self.best = span_score
        self.predecessor = NONE
        self._max_skip = max_skip
        self._skipped = 0
        self._marked: set[int] = set()

    def improve(self, j: int, score: int) -> bool:
        """Choose anchor j if its score is the highest so far; return True if so."""
        if score <= self.best:
            return False
        self.best, self.predecessor = score, j
        return True

    def stops(self, j: int, score: int, before_j: int) -> bool:
        """Visit anchor j, whose predecessor is `before_j`; return True if the search stops."""
        if self.improve(j, score):
            self._skipped = max(self._skipped - 1, 0)
        elif j in self._marked:
            self._skipped += 1
            if self._skipped > self._max_skip:
                return True
        self._marked.add(before_j)
        return False


def first_in_reach(order: Sequence[int], anchor: Anchor, distance: int) -> int:
    """Return the first anchor on the same strand and sequence, at most `distance` before `anchor`.

    Parameters
    ----------
    order
        `Anchor.x` of all anchors, ascending.
    """
    return bisect_left(order, anchor.x - min(distance, anchor.target))


def _can_precede(before: Anchor, after: Anchor, parameters: ChainParameters) -> bool:
    """Return True if a chain may contain an anchor right before another within reach."""
    return (
        before.target < after.target
        and 0 < after.query - before.query <= parameters.max_distance_y
        and gap_between(before, after) <= parameters.bandwidth
    )


def gap_between(before: Anchor, after: Anchor) -> int:
    """Return the difference between the diagonals of two anchors."""
    return abs((after.target - before.target) - (after.query - before.query))


def gain(before: Anchor, after: Anchor, k: int) -> int:
    """Return the change of score from one anchor of a chain to the next."""
    step = min(after.target - before.target, after.query - before.query)
    return min(before.span, step) - gap_cost(gap_between(before, after), k)


@cache
def gap_cost(gap: int, k: int) -> int:
    """Return the cost of a gap between diagonals: 0.008 k gap + log2(gap + 1) / 2, rounded down.

    Computed in single precision, each operation rounded, with minimap2's `mg_log2`, a parabola in
    the mantissa.
    """
    if gap == 0:
        return 0
    single = np.float32
    slope = single(float(single(0.8)) * 0.01 * k)
    fraction, exponent = math.frexp(gap + 1)
    mantissa = single(2 * fraction)  # 1 <= mantissa < 2
    parabola = (single(-0.34484843) * mantissa + single(2.02466578)) * mantissa
    logarithm = single(exponent - 2) + (parabola - single(0.67487759))
    return int(slope * single(gap) + single(0.5) * logarithm)

"""Chain scores: of all chains that end at an anchor, the score of the best (Li 2018).

A chain gains, from an anchor to the next, the bases that are new and match, and pays for the gap
between their diagonals:

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

from hapgpu.chaining.anchors.reference import Anchor
from hapgpu.chaining.parameters import ChainParameters

NONE: Final = -1
"""The predecessor of an anchor with which a chain begins."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Of each anchor of a read, the score of the best chain that ends at it, and the anchor before.

    A predecessor is the number of an anchor, or `NONE`.
    """

    scores: list[int]
    predecessors: list[int]


def chain_scores(anchors: Sequence[Anchor], parameters: ChainParameters, k: int) -> Scores:
    """Score the sorted anchors of a read (minimap2's `mg_lchain_dp`).

    Predecessors are visited from the nearest to the farthest, so that the nearest of equally good
    ones counts. The visit may be given up (`Search`); then the anchor of the highest score among
    those in reach is tried besides.

    Parameters
    ----------
    parameters
        All but its penalties, which follow from `k`.
    k
        Bases of the minimizers; gaps cost the more the longer they are.
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
            if not _may_precede(anchors[j], anchor, parameters):
                continue
            if search.gives_up(j, scores[j] + gain(anchors[j], anchor, k), predecessors[j]):
                end = j
                break
        if peak < first:
            peak = max(nearest_first, key=scores.__getitem__, default=NONE)
        if NONE < peak < end and _may_precede(anchors[peak], anchor, parameters):
            search.try_one(peak, scores[peak] + gain(anchors[peak], anchor, k))
        scores.append(search.best)
        predecessors.append(search.predecessor)
        if peak == NONE or scores[i] > scores[peak]:
            peak = i
    return Scores(scores, predecessors)


class Search:
    """A search for the best predecessor of one anchor, which may be given up.

    Anchors that are predecessors of visited ones are likely to be worse than these. For each of
    them that is visited and no improvement, one is added to a count, for each improvement one is
    taken away; where the count gets higher than `max_skip`, the search is given up.

    Parameters
    ----------
    least
        Score of the chain of this anchor alone; a predecessor has to give a higher one.
    """

    def __init__(self, least: int, max_skip: int) -> None:
        self.best = least
        self.predecessor = NONE
        self._max_skip = max_skip
        self._skipped = 0
        self._passed: set[int] = set()

    def try_one(self, j: int, score: int) -> bool:
        """Take anchor j if the score over it is the highest so far, and tell whether it is."""
        if score <= self.best:
            return False
        self.best, self.predecessor = score, j
        return True

    def gives_up(self, j: int, score: int, before_j: int) -> bool:
        """Visit anchor j, whose predecessor is `before_j`, and tell whether to give up."""
        if self.try_one(j, score):
            self._skipped = max(self._skipped - 1, 0)
        elif j in self._passed:
            self._skipped += 1
            if self._skipped > self._max_skip:
                return True
        self._passed.add(before_j)
        return False


def first_in_reach(order: Sequence[int], anchor: Anchor, distance: int) -> int:
    """Return the first anchor on the same strand and sequence, at most a distance before this one.

    Parameters
    ----------
    order
        `Anchor.x` of all anchors, ascending.
    """
    return bisect_left(order, anchor.x - min(distance, anchor.target))


def _may_precede(before: Anchor, after: Anchor, parameters: ChainParameters) -> bool:
    """Tell whether a chain may go from an anchor in reach to another."""
    return (
        before.target < after.target
        and 0 < after.query - before.query <= parameters.max_distance_y
        and gap_between(before, after) <= parameters.bandwidth
    )


def gap_between(before: Anchor, after: Anchor) -> int:
    """Return how far apart the diagonals of two anchors are."""
    return abs((after.target - before.target) - (after.query - before.query))


def gain(before: Anchor, after: Anchor, k: int) -> int:
    """Return by how much a step from one anchor to another raises the score."""
    step = min(after.target - before.target, after.query - before.query)
    return min(before.span, step) - gap_cost(gap_between(before, after), k)


@cache
def gap_cost(gap: int, k: int) -> int:
    """Return what a gap between diagonals costs: 0.008 k gap + log2(gap + 1) / 2, rounded down.

    In single precision, each operation rounded, and with minimap2's `mg_log2`, a parabola in the
    mantissa.
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

"""Reference implementation of chains, traced back from their last anchors (minimap2 since 2.24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hapgpu.longread.parameters import ChainParameters, JoinParameters
from tests.longread.anchors.reference import Anchor
from tests.longread.scores.reference import NONE, Scores
from tests.longread.sort.reference import sort_ascending


class Chain(NamedTuple):
    """Score and anchors of a chain; the anchors ascend on the reference and in the read."""

    score: int
    anchors: list[Anchor]


def chains_of(
    anchors: Sequence[Anchor], scores: Scores, parameters: ChainParameters | JoinParameters
) -> list[Chain]:
    """Trace the chains of a read, and sort them by their first anchors.

    An anchor belongs to the first chain that takes it (minimap2's `mg_chain_backtrack`). The
    anchors of a chain stay taken even if it has too few anchors or scores too low.

    Parameters
    ----------
    parameters
        Lowest score and fewest anchors of a chain; its score may drop by the bandwidth on the way.
    """
    ends = [(score, i) for i, score in enumerate(scores.scores) if score >= parameters.min_score]
    is_taken = [False] * len(anchors)
    chains = []
    for _, end in reversed(sort_ascending(ends, key=lambda pair: pair[0])):
        if is_taken[end]:
            continue
        path, score = _trace_back(end, scores, is_taken, max_drop=parameters.bandwidth)
        for i in path:
            is_taken[i] = True
        if score >= parameters.min_score and len(path) >= max(parameters.min_count, 1):
            chains.append(Chain(score, [anchors[i] for i in reversed(path)]))
    return sort_ascending(chains, key=lambda chain: chain.anchors[0].x)


def _trace_back(
    end: int, scores: Scores, is_taken: Sequence[bool], max_drop: int
) -> tuple[list[int], int]:
    """Return the anchors of a chain from its end back to its highest score, and that score.

    The score of a chain is the score of its last anchor minus the score of the anchor before its
    first. The search stops at a taken anchor, or once the score has dropped by more than
    `max_drop`.
    """
    visited = []
    path: list[int] = []
    highest = 0
    i = end
    while True:
        visited.append(i)
        i = scores.predecessors[i]
        score = scores.scores[end] - (scores.scores[i] if i != NONE else 0)
        if score > highest:
            path, highest = visited.copy(), score
        elif highest - score > max_drop:
            break
        if i == NONE or is_taken[i]:
            break
    return path, highest

"""Chains from scores: traced back from their ends, the best first (minimap2 since 2.24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hapgpu.chaining.anchors.reference import Anchor
from hapgpu.chaining.parameters import ChainParameters, JoinParameters
from hapgpu.chaining.scores.reference import NONE, Scores
from hapgpu.chaining.sort.reference import sort_ascending


class Chain(NamedTuple):
    """Anchors that ascend on the reference and in the read, and their score."""

    score: int
    anchors: list[Anchor]


def chains_of(
    anchors: Sequence[Anchor], scores: Scores, parameters: ChainParameters | JoinParameters
) -> list[Chain]:
    """Trace the chains of a read, and sort them by their first anchors.

    An anchor belongs to one chain, the first that takes it (minimap2's `mg_chain_backtrack`). What
    a chain has taken stays taken even if the chain has too few anchors or scores too low.

    Parameters
    ----------
    parameters
        Score and count that make a chain; its score may fall by the bandwidth on the way.
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
    """Return the anchors of a chain from its end back to where it scores most, and the score.

    What the chain scores is what its score at the end has over that of the anchor before it. It is
    followed up to a taken anchor, or until the score has fallen by more than `max_drop`.
    """
    walked = []
    path: list[int] = []
    highest = 0
    i = end
    while True:
        walked.append(i)
        i = scores.predecessors[i]
        score = scores.scores[end] - (scores.scores[i] if i != NONE else 0)
        if score > highest:
            path, highest = walked.copy(), score
        elif highest - score > max_drop:
            break
        if i == NONE or is_taken[i]:
            break
    return path, highest

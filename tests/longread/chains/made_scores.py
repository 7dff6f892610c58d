"""Anchors with made scores and predecessors."""

from __future__ import annotations

import numpy as np

from hapgpu.longread.batches import Anchors, ChainScores


def any_scores(
    seed: int, sizes: list[int], max_score: int, max_step: int
) -> tuple[Anchors, ChainScores]:
    """Make reads with arbitrary scores and predecessors, and with equal positions."""
    generator = np.random.default_rng(seed)
    offsets = np.cumsum([0, *sizes])
    number = np.concatenate([np.arange(size) for size in [*sizes, 0]])
    steps = generator.integers(1, max_step + 1, number.size)
    predecessors = np.where(generator.random(number.size) < 0.1, -1, number - steps)
    x = np.sort(generator.integers(0, 1 + number.size // 3, number.size))
    return (
        Anchors(x.astype(np.uint64), np.arange(number.size, dtype=np.uint64), offsets),
        ChainScores(
            generator.integers(15, max_score, number.size).astype(np.int32),
            np.maximum(predecessors, -1).astype(np.int32),
        ),
    )


def in_segments(seed: int, sizes: list[int], gap: int) -> tuple[Anchors, ChainScores]:
    """Make reads whose anchors lie in segments, `gap` bases apart; no predecessor is in another."""
    anchors, scores = any_scores(seed, sizes, 300, 5)
    generator = np.random.default_rng(seed)
    is_cut = generator.random(anchors.x.size) < generator.choice([0.003, 0.1, 0.5])
    x = anchors.x + np.cumsum(is_cut).astype(np.uint64) * np.uint64(gap)
    is_cut[anchors.offsets[:-1][np.diff(anchors.offsets) > 0]] = True
    cuts = np.flatnonzero(is_cut)
    number = np.arange(x.size)
    read_starts = np.repeat(anchors.offsets[:-1], np.diff(anchors.offsets))
    starts = cuts[np.searchsorted(cuts, number, side="right") - 1] - read_starts
    predecessors = np.where(scores.predecessors < starts, -1, scores.predecessors)
    return (
        Anchors(x, anchors.y, anchors.offsets),
        ChainScores(scores.scores, predecessors.astype(np.int32)),
    )

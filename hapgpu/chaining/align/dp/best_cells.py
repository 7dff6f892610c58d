"""Scores from differences: the best cell, the cells at the ends, and the z-drop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.bands import Band, lanes_of
from hapgpu.chaining.align.dp.scratch import Scratch, U, V, row_size
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.runtime.jit import njit, njit_inlined

_COMPARED = 4
"""Lanes that minimap2 compares together."""


@njit
def track_best(
    scratch: Scratch,
    band: Band,
    scoring: AlignScoring,
    r: Integer,
    zdrop: Integer,
    bias: Integer,
    result: NDArray[np.int32],
) -> bool:
    """Update all scores and the result by antidiagonal r; return whether the score drops."""
    start, end = lanes_of(band, r)
    scores = scratch.scores
    size = row_size(band.query_length, band.target_length)
    at_u, at_v = U * size + LANES, V * size + LANES
    if r == 0:
        cost = scoring.gap_open + scoring.gap_extend
        scores[0] = scratch.lanes[at_v] - cost - bias
    elif end > 0:
        scores[end] = scores[end - 1] + scratch.lanes[at_u + end] - bias
    else:
        scores[0] += scratch.lanes[at_v] - bias
    highest = scores[end]
    if r > 0:
        highest = _add_differences(scores, scratch.lanes, start, end, at_v, np.int32(bias))
    if end == band.target_length - 1 and scores[end] > result[results.TARGET_END_SCORE]:
        result[results.TARGET_END_SCORE] = scores[end]
        result[results.TARGET_END_QUERY] = r - end
    if r - start == band.query_length - 1 and scores[start] > result[results.QUERY_END_SCORE]:
        result[results.QUERY_END_SCORE] = scores[start]
        result[results.QUERY_END_TARGET] = start
    best = result[results.MAX_SCORE]
    if highest <= best and (zdrop < 0 or best - highest <= zdrop):
        return False
    lane = _lane_of(scores, highest, start, end)
    return drops(highest, lane, r - lane, scoring, zdrop, result)


@njit_inlined
def _add_differences(
    scores: NDArray[np.int32],
    lanes: NDArray[np.int8],
    start: Integer,
    end: Integer,
    at_v: Integer,
    bias: Any,
) -> Any:
    """Add the differences to the scores before the last lane; return the highest score of all."""
    highest = scores[end]
    for t in range(np.uint64(start), np.uint64(end)):
        score = np.int32(scores[t] + np.int32(lanes[t + np.uint64(at_v)]) - bias)
        scores[t] = score
        highest = score if score > highest else highest  # noqa: FURB136  (max() costs the vectorisation)
    return highest


@njit_inlined
def _lane_of(scores: NDArray[np.int32], highest: Integer, start: Integer, end: Integer) -> Any:
    """Return the lane with the highest score; ties as in minimap2, which compares four at a time."""
    if scores[end] == highest:
        return end
    by_fours = start + (end - start) // _COMPARED * _COMPARED
    for column in range(_COMPARED):
        for t in range(start + column, by_fours, _COMPARED):
            if scores[t] == highest:
                return t
    lane = by_fours
    while scores[lane] != highest:
        lane += 1
    return lane


@njit
def follow_path(
    scratch: Scratch,
    band: Band,
    r: Integer,
    lane: Integer,
) -> Any:
    """Return the next lane of a path through all antidiagonals, and the difference of its score."""
    start, end = lanes_of(band, r)
    size = row_size(band.query_length, band.target_length)
    at_u, at_v = U * size + LANES, V * size + LANES
    stays = lane >= start and (
        lane == end or scratch.lanes[at_v + lane] > scratch.lanes[at_u + lane + 1]
    )
    if stays:
        return lane, np.int64(scratch.lanes[at_v + lane])
    return lane + 1, np.int64(scratch.lanes[at_u + lane + 1])


@njit
def drops(
    score: Integer,
    lane: Integer,
    j: Integer,
    scoring: AlignScoring,
    zdrop: Integer,
    result: NDArray[np.int32],
) -> bool:
    """Update the best cell, or return whether the score drops below the best by the z-drop."""
    best = result[results.MAX_SCORE]
    if score > best:
        result[results.MAX_SCORE] = score
        result[results.MAX_TARGET] = lane
        result[results.MAX_QUERY] = j
        return False
    steps, query_steps = lane - result[results.MAX_TARGET], j - result[results.MAX_QUERY]
    if zdrop < 0 or steps < 0 or query_steps < 0:
        return False
    limit = zdrop + scoring.gap_extend2 * abs(steps - query_steps)
    return bool(best - score > limit)

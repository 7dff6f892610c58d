"""Scores from differences: the best cell, the cells at the ends, and the z-drop."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_i32_at
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.bands import Band
from hapgpu.chaining.align.scoring import Costs
from hapgpu.runtime.jit import njit, njit_inlined

_COMPARED: Final = 4
"""Lanes that minimap2 compares together."""
SCORE_BYTES: Final = 4


class BestCells(NamedTuple):
    """The best cell and the best ones at the ends, as the columns of `results`."""

    max_score: Integer
    max_target: Integer
    max_query: Integer
    query_end_score: Integer
    query_end_target: Integer
    target_end_score: Integer
    target_end_query: Integer


@njit_inlined
def no_cells() -> BestCells:
    """Return the best cells of nothing."""
    return BestCells(0, -1, -1, results.NO_SCORE, -1, results.NO_SCORE, -1)


@njit
def set_cells(best: BestCells, result: NDArray[np.int32]) -> None:
    """Write the best cells into a result."""
    result[results.MAX_SCORE] = best.max_score
    result[results.MAX_TARGET] = best.max_target
    result[results.MAX_QUERY] = best.max_query
    result[results.QUERY_END_SCORE] = best.query_end_score
    result[results.QUERY_END_TARGET] = best.query_end_target
    result[results.TARGET_END_SCORE] = best.target_end_score
    result[results.TARGET_END_QUERY] = best.target_end_query


@njit_inlined
def with_ends(
    best: BestCells, band: Band, scores: Integer, r: Integer, start: Integer, end: Integer
) -> BestCells:
    """Return the best cells after the first and the last lane of antidiagonal r.

    Parameters
    ----------
    best, band
        The best cells before, and the band.
    scores
        Address of the score of lane 0.
    r, start, end
        The antidiagonal, its first and its last lane in the band.
    """
    query_score, query_target = best.query_end_score, best.query_end_target
    target_score, target_query = best.target_end_score, best.target_end_query
    if end == band.target_length - 1:
        score = load_i32_at(scores + SCORE_BYTES * end)
        if score > target_score:
            target_score, target_query = score, r - end
    if r - start == band.query_length - 1:
        score = load_i32_at(scores + SCORE_BYTES * start)
        if score > query_score:
            query_score, query_target = score, start
    return BestCells(
        best.max_score,
        best.max_target,
        best.max_query,
        query_score,
        query_target,
        target_score,
        target_query,
    )


@njit_inlined
def with_cell(
    best: BestCells,
    score: Integer,
    lane: Integer,
    r: Integer,
    costs: Costs,
    zdrop: Integer,
) -> Any:
    """Return the best cells after another one, and whether its score is too far below the best."""
    if score > best.max_score:
        better = BestCells(
            score,
            lane,
            r - lane,
            best.query_end_score,
            best.query_end_target,
            best.target_end_score,
            best.target_end_query,
        )
        return better, False
    steps, query_steps = lane - best.max_target, r - lane - best.max_query
    if zdrop < 0 or steps < 0 or query_steps < 0:
        return best, False
    limit = zdrop + costs.gap_extend2 * abs(steps - query_steps)
    return best, best.max_score - score > limit


@njit_inlined
def with_highest(
    best: BestCells,
    highest: Integer,
    scores: Integer,
    r: Integer,
    start: Integer,
    end: Integer,
    costs: Costs,
    zdrop: Integer,
) -> Any:
    """Return the best cells after antidiagonal r, and whether its highest score is too low.

    The lane of the highest score is searched only if it matters.
    """
    if highest <= best.max_score and (zdrop < 0 or best.max_score - highest <= zdrop):
        return best, False
    lane = _lane_of(scores, highest, start, end)
    return with_cell(best, highest, lane, r, costs, zdrop)


@njit
def _lane_of(scores: Integer, highest: Integer, start: Integer, end: Integer) -> Any:
    """Return the lane with the highest score; ties as in minimap2, which compares four at a time.

    Parameters
    ----------
    scores
        Address of the score of lane 0.
    highest
        The highest score.
    start, end
        The first and the last lane.
    """
    if load_i32_at(scores + SCORE_BYTES * end) == highest:
        return end
    by_fours = start + (end - start) // _COMPARED * _COMPARED
    for column in range(_COMPARED):
        for t in range(start + column, by_fours, _COMPARED):
            if load_i32_at(scores + SCORE_BYTES * t) == highest:
                return t
    lane = by_fours
    while load_i32_at(scores + SCORE_BYTES * lane) != highest:
        lane += 1
    return lane

"""Bands of a matrix: the lanes of each antidiagonal, their borders, the best cells, and a proof.

Best cells and z-drop are those of minimap2's `ksw_apply_zdrop`. The proof shows that the alignment
in a band is that of the whole matrix:

Let k = i - j be the diagonal of a cell, a the score of a match, the largest score of a column, and
G(l) the cost of a gap of l bases. A path from the first to the last corner starts on diagonal 0 and
ends on d = target_length - query_length.

A path that reaches a diagonal above max_diagonal >= max(0, d) has deletions of at least
D = max_diagonal + 1 bases in all, to get there, and insertions of at least D - d bases, to come
back. The target has target_length - D bases or fewer for the other columns. G is concave with
G(0) = 0, so several gaps cost at least as much as one of their total length. Hence the score of the
path is at most

    a * (target_length - D) - G(D) - G(D - d),

which falls as D grows. Below min_diagonal <= min(0, d) it is the same with the sequences exchanged.

If the best score within the band is larger than both bounds, then every path of that score in the
whole matrix is within the band. So the whole matrix has the same best paths. It has the same
choices on the path traced, too: at a cell or gap of that path, a prefix that left the band and is
as good as the one within could be continued along the rest of the path, to a path of the best score
that leaves the band.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_i32
from hapgpu.arrays.vectors import LANES
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.parameters import AlignScoring, Costs, gap_cost, is_single_affine
from hapgpu.runtime.jit import njit, njit_inlined

BLOCK: Final = 16
"""Lanes that minimap2 computes together."""
_NOWHERE: Final = -1
_LOWEST_BYTE: Final = -128


class Band(NamedTuple):
    """Cells of a matrix to compute.

    Attributes
    ----------
    query_length, target_length
        Size of the matrix, in bases.
    lowest, highest
        Bounds of the differences: target offset minus query offset.
    leaks
        Cells outside of the band hold what minimap2's blocks compute there, and paths may go
        through them. Otherwise no path does.
    """

    query_length: Integer
    target_length: Integer
    lowest: Integer
    highest: Integer
    leaks: bool


class Borders(NamedTuple):
    """Differences at borders.

    Attributes
    ----------
    bias
        Added to all stored differences u and v.
    opened, opened2
        Differences for a gap that opens at a border, and for all of a cell never computed.
    unreachable
        The same for a gap from outside of a band that does not leak: it is never taken.
    """

    bias: int
    opened: int
    opened2: int
    unreachable: int


class Edge(NamedTuple):
    """Lane with a neighbour outside, `_NOWHERE` if none, and differences for that neighbour."""

    lane: Integer
    difference: Integer
    gap: Integer
    gap2: Integer


@njit_inlined
def lanes_of(band: Band, r: Integer) -> tuple[Integer, Integer]:
    """Return the first and the last lane of antidiagonal r that are in the band."""
    start, end = (r + band.lowest + 1) >> 1, (r + band.highest) >> 1
    start = max(start, r - band.query_length + 1, 0)
    end = min(end, r, band.target_length - 1)
    return start, end


@njit
def max_directions(band: Band) -> Integer:
    """Return a bound on the bytes of directions: whole blocks, and a vector after the last one."""
    rows = band.query_length + band.target_length
    per_row = (band.highest - band.lowest) // 2 + 1
    cells = min(rows * per_row, band.query_length * band.target_length)
    return cells + rows * 2 * BLOCK + LANES


@njit
def borders_of(costs: Costs) -> Borders:
    """Return the differences at borders."""
    cost = costs.gap_open + costs.gap_extend
    if is_single_affine(costs):
        return Borders(cost, 0, 0, 0)
    cost2 = costs.gap_open2 + costs.gap_extend2
    return Borders(0, -cost, -cost2, costs.match + _LOWEST_BYTE)


@njit
def has_narrow_bands(costs: Costs) -> bool:
    """Return whether a band without leaks has no other paths than those within it.

    Gaps from outside must never be taken nor continued. That holds because the score of a cell is
    at least that of its diagonal neighbour plus the worst score of a pair of bases. And no
    difference may exceed 8 bits, since results beyond them are those of the whole matrix.
    """
    worst = max(costs.mismatch, costs.transition, costs.ambiguous)
    if is_single_affine(costs):
        is_low = worst <= costs.gap_open + 2 * costs.gap_extend
        return is_low and costs.match + 2 * (costs.gap_open + costs.gap_extend) < -_LOWEST_BYTE
    is_low = worst + costs.gap_open2 + costs.match < -_LOWEST_BYTE
    return is_low and costs.match + costs.gap_open + 2 * costs.gap_extend < -_LOWEST_BYTE


@njit_inlined
def border_difference(r: Integer, costs: Costs, borders: Borders) -> Integer:
    """Return the difference from the border's score of r bases to the next one."""
    return gap_cost(r, costs) - gap_cost(r + 1, costs) + borders.bias


@njit_inlined
def left_edge(
    band: Band,
    borders: Borders,
    r: Integer,
    start: Integer,
    first: Integer,
    first_before: Integer,
    difference: Integer,
) -> Edge:
    """Return the lane whose neighbour before it on the target lies outside.

    Parameters
    ----------
    band, borders
        The band, and the differences at borders.
    r, start, first
        The antidiagonal, its first lane in the band, and the first lane of its blocks.
    first_before
        The first lane of the blocks of the antidiagonal before.
    difference
        The difference along the border.
    """
    if band.leaks:
        if first == 0:
            return Edge(first, difference, borders.opened, borders.opened2)
        if first == first_before:
            return Edge(first, borders.opened, borders.opened, borders.opened2)
    elif start == 0:
        return Edge(start, difference, borders.opened, borders.opened2)
    elif 2 * start - r == band.lowest:
        return Edge(start, 0, borders.unreachable, borders.unreachable)
    return Edge(_NOWHERE, difference, borders.opened, borders.opened2)


@njit_inlined
def top_edge(
    band: Band, borders: Borders, r: Integer, end: Integer, last: Integer, difference: Integer
) -> Edge:
    """Return the lane whose neighbour before it on the query lies outside; as `left_edge`."""
    if (last if band.leaks else end) >= r:
        return Edge(r, difference, borders.opened, borders.opened2)
    if not band.leaks and 2 * end - r == band.highest:
        return Edge(end, 0, borders.unreachable, borders.unreachable)
    return Edge(_NOWHERE, difference, borders.opened, borders.opened2)


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
    """Write the best cells into `result`, int32[10]."""
    result[results.MAX_SCORE] = best.max_score
    result[results.MAX_TARGET] = best.max_target
    result[results.MAX_QUERY] = best.max_query
    result[results.QUERY_END_SCORE] = best.query_end_score
    result[results.QUERY_END_TARGET] = best.query_end_target
    result[results.TARGET_END_SCORE] = best.target_end_score
    result[results.TARGET_END_QUERY] = best.target_end_query


@njit_inlined
def with_ends(
    best: BestCells, band: Band, scores: Memory, r: Integer, start: Integer, end: Integer
) -> BestCells:
    """Return the best cells after the first and the last lane of antidiagonal r.

    Parameters
    ----------
    best, band
        The best cells before, and the band.
    scores
        int32: scores of the lanes.
    r, start, end
        The antidiagonal, its first and its last lane in the band.
    """
    query_score, query_target = best.query_end_score, best.query_end_target
    target_score, target_query = best.target_end_score, best.target_end_query
    if end == band.target_length - 1:
        score = read_i32(scores, SCORE_BYTES * end)
        if score > target_score:
            target_score, target_query = score, r - end
    if r - start == band.query_length - 1:
        score = read_i32(scores, SCORE_BYTES * start)
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
) -> tuple[BestCells, bool]:
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
    return best, bool(best.max_score - score > limit)


@njit_inlined
def with_highest(
    best: BestCells,
    highest: Integer,
    scores: Memory,
    r: Integer,
    start: Integer,
    end: Integer,
    costs: Costs,
    zdrop: Integer,
) -> tuple[BestCells, bool]:
    """Return the best cells after antidiagonal r, and whether its highest score is too low.

    The lane of the highest score is searched only if it matters.
    """
    if highest <= best.max_score and (zdrop < 0 or best.max_score - highest <= zdrop):
        return best, False
    lane = _lane_of(scores, highest, start, end)
    return with_cell(best, highest, lane, r, costs, zdrop)


@njit
def _lane_of(scores: Memory, highest: Integer, start: Integer, end: Integer) -> Integer:
    """Return the lane with the highest score; ties as in minimap2, which compares four at a time.

    Parameters
    ----------
    scores
        int32: scores of the lanes.
    highest
        The highest score.
    start, end
        The first and the last lane.
    """
    if read_i32(scores, SCORE_BYTES * end) == highest:
        return end
    by_fours = start + (end - start) // _COMPARED * _COMPARED
    for column in range(_COMPARED):
        for t in range(start + column, by_fours, _COMPARED):
            if read_i32(scores, SCORE_BYTES * t) == highest:
                return t
    lane = by_fours
    while read_i32(scores, SCORE_BYTES * lane) != highest:
        lane += 1
    return lane


@njit
def is_certified(
    score: Integer,
    target_length: Integer,
    query_length: Integer,
    min_diagonal: Integer,
    max_diagonal: Integer,
    scoring: AlignScoring | Costs,
) -> bool:
    """Return whether a global alignment within a band is that of the whole matrix.

    Parameters
    ----------
    score
        Best score within the band.
    target_length, query_length
        Lengths of the sequences, at least 1.
    min_diagonal, max_diagonal
        The band: all cells with a diagonal in this range, which contains 0 and
        target_length - query_length. It may have more cells, such as borders.
    scoring
        The scores.
    """
    difference = target_length - query_length
    return _beats_outside(
        score, target_length, max_diagonal + 1, difference, scoring
    ) and _beats_outside(score, query_length, 1 - min_diagonal, -difference, scoring)


@njit
def _beats_outside(
    score: Integer,
    length: Integer,
    gap: Integer,
    difference: Integer,
    scoring: AlignScoring | Costs,
) -> bool:
    """Return whether no path with a gap of `gap` of `length` bases has the score."""
    columns = length - gap
    if columns < 0:
        return True
    costs = gap_cost(gap, scoring) + gap_cost(gap - difference, scoring)
    return bool(score > scoring.match * columns - costs)

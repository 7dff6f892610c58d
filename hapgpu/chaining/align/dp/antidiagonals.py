"""Scores and directions of the matrix of one pair, by antidiagonals.

The lane of a cell is its target offset. A vector of lanes is loaded, takes v, x and x2 of the lanes
before by a shift, and is stored again. With `Band.leaks`, lanes outside of the band take part in
blocks of 16, exactly as in minimap2 (`reference.py`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import (
    LANES,
    lane_numbers,
    load_lanes,
    shifted,
    spread,
    store_lanes,
    where,
)
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.bands import BLOCK, Band, lanes_of
from hapgpu.chaining.align.dp.best_cells import drops, follow_path, track_best
from hapgpu.chaining.align.dp.lane_steps import Cells, dual_step, pair_scores, single_step
from hapgpu.chaining.align.dp.scratch import (
    DIRECTIONS,
    FIRST,
    LAST,
    PAIR_SCORES,
    QUERY,
    TARGET,
    X2,
    Y2,
    Scratch,
    U,
    V,
    X,
    Y,
    row_size,
)
from hapgpu.chaining.align.scoring import AlignScoring, gap_cost, has_transitions, is_single_affine
from hapgpu.runtime.jit import njit, njit_inlined

_NOWHERE = -1


class Borders(NamedTuple):
    """Differences at the borders of matrix and band, and in cells that were never computed.

    The gaps from a border are opened there. Gaps from outside of the band are too low to be taken.
    """

    bias: int
    opened: int
    opened2: int
    unreachable: int


@njit
def borders_of(scoring: AlignScoring) -> Borders:
    """Return the differences at borders."""
    cost = scoring.gap_open + scoring.gap_extend
    if is_single_affine(scoring):
        return Borders(cost, 0, 0, 0)
    return Borders(0, -cost, -scoring.gap_open2 - scoring.gap_extend2, scoring.match - 128)


@njit
def has_bands(scoring: AlignScoring) -> bool:
    """Return whether gaps from outside of a band without leaks never win, in 8 bits."""
    worst = -min(-scoring.mismatch, -scoring.transition, scoring.dp_matrix[4, 4])
    if is_single_affine(scoring):
        return worst <= scoring.gap_open + 2 * scoring.gap_extend
    return worst + scoring.gap_open2 + scoring.match < 128


@njit_inlined
def _border_difference(r: Integer, scoring: AlignScoring, bias: Integer) -> Any:
    """Return the difference between the border's scores of r and r + 1 bases."""
    return gap_cost(r, scoring) - gap_cost(r + 1, scoring) + bias


@njit
def fill_matrix(
    band: Band,
    antidiagonals: Integer,
    scoring: AlignScoring,
    modes: Integer,
    zdrop: Integer,
    scratch: Scratch,
    result: NDArray[np.int32],
) -> None:
    """Fill the matrix, antidiagonal by antidiagonal, until its end or a drop of the score.

    Parameters
    ----------
    band
        The cells to fill.
    antidiagonals
        The number of antidiagonals, planned in `scratch`.
    scoring, modes, zdrop
        As of `align_pair`.
    scratch
        Memory, with the codes of the sequences.
    result
        Updated, except for the columns that the traceback sets.
    """
    size = row_size(band.query_length, band.target_length)
    base = scratch.lanes.ctypes.data + LANES
    directions = scratch.directions.ctypes.data
    numbers = lane_numbers()
    borders = borders_of(scoring)
    is_right = np.int64((modes & results.RIGHT) != 0)
    is_single = is_single_affine(scoring)
    is_exact = modes & results.APPROXIMATE == 0
    lane, score, last_before, first_before = np.int64(0), np.int64(0), np.int64(-1), np.int64(0)
    if is_exact:
        for t in range(band.target_length):
            scratch.scores[t] = results.NO_SCORE
    if band.leaks:
        _clear_scores(base + PAIR_SCORES * size, band.target_length)
    for r in range(antidiagonals):
        start, end = lanes_of(band, r)
        first, last = scratch.antidiagonals[r, FIRST], scratch.antidiagonals[r, LAST]
        step = _border_difference(r, scoring, borders.bias)
        # The lanes whose neighbours lie outside: none, on the matrix's border or on the band's.
        left, left_v, left_x, left_x2 = np.int64(_NOWHERE), step, borders.opened, borders.opened2
        top, top_u, top_y, top_y2 = np.int64(_NOWHERE), step, borders.opened, borders.opened2
        if start == 0 or (band.leaks and first == 0):
            left = first if band.leaks else start
        elif band.leaks and first == first_before:
            left, left_v = first, borders.opened
        elif not band.leaks and 2 * start - r == band.lowest:
            left, left_v, left_x, left_x2 = start, 0, borders.unreachable, borders.unreachable
        if (last if band.leaks else end) >= r:
            top = r
        elif not band.leaks and 2 * end - r == band.highest:
            top, top_u, top_y, top_y2 = end, 0, borders.unreachable, borders.unreachable
        if band.leaks:
            if last > last_before:
                _set_new_lanes(base, size, last_before + 1, borders)
            _refresh_scores(base, size, band, scoring, r, start, end)
        before = base + first - LANES
        carried_v = load_lanes(before + V * size)
        carried_x = load_lanes(before + X * size)
        carried_x2 = load_lanes(before + X2 * size)
        query_shift = QUERY * size + BLOCK - 1 + band.query_length - 1 - r
        for t in range(first, last + 1, LANES):
            at = base + t
            if band.leaks:
                scores = load_lanes(at + PAIR_SCORES * size)
            else:
                codes = load_lanes(at + TARGET * size), load_lanes(at + query_shift)
                scores = pair_scores(codes[0], codes[1], scoring)
            old_v, old_x, old_x2 = (
                load_lanes(at + V * size), load_lanes(at + X * size), load_lanes(at + X2 * size)
            )
            v, x, x2 = shifted(carried_v, old_v), shifted(carried_x, old_x), shifted(carried_x2, old_x2)
            carried_v, carried_x, carried_x2 = old_v, old_x, old_x2
            u, y, y2 = load_lanes(at + U * size), load_lanes(at + Y * size), load_lanes(at + Y2 * size)
            if left >= t and left < t + LANES:
                is_left = numbers == spread(left - t)
                v, x, x2 = where(is_left, spread(left_v), v), where(is_left, spread(left_x), x), where(is_left, spread(left_x2), x2)
            if top >= t and top < t + LANES:
                is_top = numbers == spread(top - t)
                u, y, y2 = where(is_top, spread(top_u), u), where(is_top, spread(top_y), y), where(is_top, spread(top_y2), y2)
            cells = Cells(u, v, x, y, x2, y2)
            if is_single:
                cells, direction = single_step(scores, cells, scoring, is_right)
            else:
                cells, direction = dual_step(scores, cells, scoring, is_right)
            store_lanes(at + U * size, cells.u)
            store_lanes(at + V * size, cells.v)
            store_lanes(at + X * size, cells.x)
            store_lanes(at + Y * size, cells.y)
            store_lanes(at + X2 * size, cells.x2)
            store_lanes(at + Y2 * size, cells.y2)
            store_lanes(directions + scratch.antidiagonals[r, DIRECTIONS] + t, direction)
        first_before, last_before = first, last
        if is_exact:
            dropped = track_best(scratch, band, scoring, r, zdrop, borders.bias, result)
        else:
            if r == 0:
                score = scratch.lanes[V * size + LANES] - scoring.gap_open - scoring.gap_extend
            else:
                lane, difference = follow_path(scratch, band, r, lane)
                score += difference
            score -= borders.bias
            dropped = modes & results.APPROXIMATE_DROP and drops(
                score, lane, r - lane, scoring, zdrop, result
            )
        if dropped:
            result[results.DROPPED] = 1
            return
    if antidiagonals < band.query_length + band.target_length - 1:
        result[results.DROPPED] = 1
        return
    result[results.SCORE] = scratch.scores[band.target_length - 1] if is_exact else score


@njit
def _clear_scores(row: Integer, target_length: Integer) -> None:
    for t in range(0, target_length + BLOCK, LANES):
        store_lanes(row + t, spread(0))


@njit
def _set_new_lanes(base: Integer, size: Integer, t: Integer, borders: Borders) -> None:
    """Set the lanes from t on to those never computed."""
    for row in (U, V, X, Y):
        store_lanes(base + row * size + t, spread(borders.opened))
    for row in (X2, Y2):
        store_lanes(base + row * size + t, spread(borders.opened2))


@njit
def _refresh_scores(
    base: Integer,
    size: Integer,
    band: Band,
    scoring: AlignScoring,
    r: Integer,
    start: Integer,
    end: Integer,
) -> None:
    """Set the scores of pairs of bases, in blocks of 16 lanes from the first in the band on."""
    stop = end + 1
    if not has_transitions(scoring):
        stop = min(start + ((stop - start + BLOCK - 1) & -BLOCK), (band.target_length + BLOCK - 1) & -BLOCK)
    query_shift = QUERY * size + BLOCK - 1 + band.query_length - 1 - r
    numbers = lane_numbers()
    for t in range(start, stop, LANES):
        at = base + t
        scores = pair_scores(load_lanes(at + TARGET * size), load_lanes(at + query_shift), scoring)
        row = at + PAIR_SCORES * size
        if stop - t < LANES:
            scores = where(spread(stop - t) > numbers, scores, load_lanes(row))
        store_lanes(row, scores)


@njit
def set_codes(query: NDArray[np.uint8], target: NDArray[np.uint8], modes: Integer, scratch: Scratch) -> None:
    """Write the target's codes, and the query's in reverse order, with A around both."""
    size = row_size(query.size, target.size)
    backwards = modes & results.BACKWARDS != 0
    at = TARGET * size + LANES
    for t in range(target.size):
        scratch.lanes[at + t] = target[target.size - 1 - t if backwards else t]
    for t in range(target.size, target.size + 2 * LANES):
        scratch.lanes[at + t] = 0
    at = QUERY * size + LANES + BLOCK - 1
    for j in range(query.size):
        scratch.lanes[at + j] = query[j if backwards else query.size - 1 - j]
    for j in range(query.size, query.size + 2 * LANES):
        scratch.lanes[at + j] = 0

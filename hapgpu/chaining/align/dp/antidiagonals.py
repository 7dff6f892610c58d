"""Scores and directions of the matrix of one pair, by antidiagonals.

The lane of a cell is its target offset. A vector of lanes is loaded, takes v, x and x2 of the lanes
before by a shift, and is stored again. With `Band.leaks`, lanes outside of the band take part in
blocks of 16, exactly as in minimap2 (`reference.py`).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_i32_at, load_u8_at, store_32_at
from hapgpu.arrays.vectors import (
    LANES,
    highest_of,
    lane_numbers,
    larger_ints,
    load_bytes,
    load_ints,
    shifted,
    spread_byte,
    spread_int,
    store_bytes,
    store_ints,
    where,
    where_ints,
    widened,
)
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.bands import (
    BLOCK,
    Band,
    Borders,
    Edge,
    border_difference,
    borders_of,
    lanes_of,
    left_edge,
    top_edge,
)
from hapgpu.chaining.align.dp.best_cells import (
    lane_of,
    no_cells,
    set_cells,
    with_cell,
    with_ends,
)
from hapgpu.chaining.align.dp.lane_steps import Cells, Costs, costs_of, dual_step, pair_scores, single_step
from hapgpu.chaining.align.dp.results import PairOptions
from hapgpu.chaining.align.dp.scratch import (
    DIRECTIONS,
    FIRST,
    LAST,
    MARGIN,
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
from hapgpu.chaining.align.scoring import AlignScoring, has_transitions, is_single_affine
from hapgpu.runtime.jit import njit, njit_inlined

_SCORE_BYTES: Final = 4


class _Rows(NamedTuple):
    """Addresses of lane 0 of each row of `Scratch.lanes`, and of `Scratch.scores`."""

    u: Integer
    v: Integer
    x: Integer
    y: Integer
    x2: Integer
    y2: Integer
    pair_scores: Integer
    target: Integer
    query: Integer
    scores: Integer


@njit_inlined
def _rows_of(scratch: Scratch, size: Integer) -> _Rows:
    base = scratch.lanes.ctypes.data + MARGIN
    return _Rows(
        base + U * size,
        base + V * size,
        base + X * size,
        base + Y * size,
        base + X2 * size,
        base + Y2 * size,
        base + PAIR_SCORES * size,
        base + TARGET * size,
        base + QUERY * size,
        scratch.scores.ctypes.data,
    )


@njit
def set_codes(
    query: NDArray[np.uint8], target: NDArray[np.uint8], modes: Integer, scratch: Scratch
) -> None:
    """Write the target's codes and the query's, from its last one on, with A around both."""
    size = row_size(query.size, target.size)
    backwards = modes & results.BACKWARDS != 0
    at = TARGET * size + MARGIN
    for t in range(target.size):
        scratch.lanes[at + t] = target[target.size - 1 - t if backwards else t]
    for t in range(target.size, target.size + MARGIN):
        scratch.lanes[at + t] = 0
    at = QUERY * size + MARGIN
    for j in range(query.size):
        scratch.lanes[at + j] = query[j if backwards else query.size - 1 - j]
    for j in range(query.size, query.size + MARGIN):
        scratch.lanes[at + j] = 0


@njit
def fill_matrix(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    band: Band,
    scoring: AlignScoring,
    options: PairOptions,
    scratch: Scratch,
    result: NDArray[np.int32],
) -> None:
    """Fill the matrix, antidiagonal by antidiagonal, until its end or a drop of the score.

    Parameters
    ----------
    band
        The cells to fill.
    scoring, options
        As of `align_pair`.
    scratch
        Memory, with the codes of both sequences.
    result
        The columns of `results`, set except for `REACHES_END`.
    """
    rows = _rows_of(scratch, row_size(band.query_length, band.target_length))
    costs = costs_of(scoring)
    borders = borders_of(costs)
    modes, zdrop = options.modes, options.zdrop
    is_exact = modes & results.APPROXIMATE == 0
    drops_on_path = modes & results.APPROXIMATE_DROP != 0
    # The border's score of one base: the cell before the first one, plus a gap.
    score = np.int64(-costs.gap_open - costs.gap_extend)
    store_32_at(rows.scores, score)
    best, dropped, lane = no_cells(), False, np.int64(0)
    first_before, last_before, directions = np.int64(-1), np.int64(-1), np.int64(0)
    if band.leaks:
        _clear_scores(rows.pair_scores, band.target_length)
    for r in range(band.query_length + band.target_length - 1):
        start, end = lanes_of(band, r)
        if start > end:
            dropped = True
            break
        first, last = start & -BLOCK, end | (BLOCK - 1)
        scratch.antidiagonals[r, FIRST] = first
        scratch.antidiagonals[r, LAST] = last
        scratch.antidiagonals[r, DIRECTIONS] = directions - first
        difference = border_difference(r, costs, borders)
        left = left_edge(band, borders, r, start, first, first_before, difference)
        top = top_edge(band, borders, r, end, last, difference)
        if band.leaks:
            if last > last_before:
                _set_new_lanes(rows, last_before + 1, borders)
            _refresh_scores(rows, band, costs, r, start, end)
        highest = _fill_antidiagonal(
            rows,
            band,
            borders,
            costs,
            r,
            start,
            end,
            first,
            last,
            left,
            top,
            modes,
            scratch.directions.ctypes.data + directions - first,
        )
        directions += last + 1 - first
        first_before, last_before = first, last
        if is_exact:
            best = with_ends(best, band, rows.scores, r, start, end)
            if highest > best.max_score or (zdrop >= 0 and best.max_score - highest > zdrop):
                highest_lane = lane_of(rows.scores, highest, start, end)
                best, dropped = with_cell(best, highest, highest_lane, r, costs, zdrop)
        else:
            lane, difference = _next_on_path(rows, r, start, end, lane)
            score += difference - borders.bias
            if drops_on_path:
                best, dropped = with_cell(best, score, lane, r, costs, zdrop)
        if dropped:
            break
    set_cells(best, result)
    result[results.DROPPED] = dropped
    if is_exact:
        score = load_i32_at(rows.scores + _SCORE_BYTES * (band.target_length - 1))
    result[results.SCORE] = results.NO_SCORE if dropped else score


@njit_inlined
def _fill_antidiagonal(  # noqa: PLR0913, PLR0917  (Numba: no keyword-only arguments)
    rows: _Rows,
    band: Band,
    borders: Borders,
    costs: Costs,
    r: Integer,
    start: Integer,
    end: Integer,
    first: Integer,
    last: Integer,
    left: Edge,
    top: Edge,
    modes: Integer,
    directions: Integer,
) -> Any:
    """Compute the lanes of an antidiagonal; return the highest score, if scores are wanted."""
    is_right = np.int64(modes & results.RIGHT != 0)
    is_single = is_single_affine(costs)
    is_exact = modes & results.APPROXIMATE == 0
    numbers = lane_numbers()
    highest = spread_int(results.NO_SCORE)
    # A score is that of the lane before plus u for the last lane, but not for lane 0.
    corner = end if end > 0 else np.int64(-1)
    before_corner = load_i32_at(rows.scores + _SCORE_BYTES * (corner - 1)) if end > 0 else 0
    query = rows.query + band.query_length - 1 - r
    carried_v = load_bytes(rows.v + first - LANES)
    carried_x = load_bytes(rows.x + first - LANES)
    carried_x2 = load_bytes(rows.x2 + first - LANES)
    for t in range(first, last + 1, LANES):
        if band.leaks:
            scores = load_bytes(rows.pair_scores + t)
        else:
            scores = pair_scores(load_bytes(rows.target + t), load_bytes(query + t), costs)
        old_v, old_x, old_x2 = load_bytes(rows.v + t), load_bytes(rows.x + t), load_bytes(rows.x2 + t)
        v, x, x2 = shifted(carried_v, old_v), shifted(carried_x, old_x), shifted(carried_x2, old_x2)
        carried_v, carried_x, carried_x2 = old_v, old_x, old_x2
        u, y, y2 = load_bytes(rows.u + t), load_bytes(rows.y + t), load_bytes(rows.y2 + t)
        if t <= left.lane < t + LANES:
            is_left = numbers == spread_byte(left.lane - t)
            v = where(is_left, spread_byte(left.difference), v)
            x = where(is_left, spread_byte(left.gap), x)
            x2 = where(is_left, spread_byte(left.gap2), x2)
        if t <= top.lane < t + LANES:
            is_top = numbers == spread_byte(top.lane - t)
            u = where(is_top, spread_byte(top.difference), u)
            y = where(is_top, spread_byte(top.gap), y)
            y2 = where(is_top, spread_byte(top.gap2), y2)
        cells = Cells(u, v, x, y, x2, y2)
        if is_single:
            cells, direction = single_step(scores, cells, costs, is_right)
        else:
            cells, direction = dual_step(scores, cells, costs, is_right)
            store_bytes(rows.x2 + t, cells.x2)
            store_bytes(rows.y2 + t, cells.y2)
        store_bytes(rows.u + t, cells.u)
        store_bytes(rows.v + t, cells.v)
        store_bytes(rows.x + t, cells.x)
        store_bytes(rows.y + t, cells.y)
        store_bytes(directions + t, direction)
        if is_exact:
            before = load_ints(rows.scores + _SCORE_BYTES * t)
            is_corner = numbers == spread_byte(min(max(corner - t, -1), LANES))
            after = where_ints(
                is_corner,
                spread_int(before_corner - borders.bias) + widened(cells.u),
                before + widened(cells.v) - spread_int(borders.bias),
            )
            inside = (numbers >= spread_byte(max(start - t, 0))) & (
                spread_byte(min(end - t, LANES)) >= numbers
            )
            store_ints(rows.scores + _SCORE_BYTES * t, where_ints(inside, after, before))
            highest = larger_ints(
                highest, where_ints(inside, after, spread_int(results.NO_SCORE))
            )
    return highest_of(highest) if is_exact else np.int64(0)


@njit_inlined
def _next_on_path(
    rows: _Rows, r: Integer, start: Integer, end: Integer, lane: Integer
) -> Any:
    """Return the lane of a path on antidiagonal r, and the difference of its score."""
    stays = r == 0 or (
        lane >= start
        and (lane == end or _int8_at(rows.v + lane) > _int8_at(rows.u + lane + 1))
    )
    if stays:
        return lane, _int8_at(rows.v + lane)
    return lane + 1, _int8_at(rows.u + lane + 1)


@njit_inlined
def _int8_at(address: Integer) -> Any:
    return (load_u8_at(address) ^ 128) - 128


@njit
def _clear_scores(row: Integer, target_length: Integer) -> None:
    for t in range(0, target_length + BLOCK, LANES):
        store_bytes(row + t, spread_byte(0))


@njit
def _set_new_lanes(rows: _Rows, first: Integer, borders: Borders) -> None:
    """Set a vector of lanes, of which one block comes next, to lanes never computed."""
    opened, opened2 = spread_byte(borders.opened), spread_byte(borders.opened2)
    store_bytes(rows.u + first, opened)
    store_bytes(rows.v + first, opened)
    store_bytes(rows.x + first, opened)
    store_bytes(rows.y + first, opened)
    store_bytes(rows.x2 + first, opened2)
    store_bytes(rows.y2 + first, opened2)


@njit
def _refresh_scores(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    rows: _Rows,
    band: Band,
    costs: Costs,
    r: Integer,
    start: Integer,
    end: Integer,
) -> None:
    """Set the scores of pairs of bases, in blocks of 16 lanes from the first in the band on."""
    stop = end + 1
    if not has_transitions(costs):
        array_end = (band.target_length + BLOCK - 1) & -BLOCK
        stop = min(start + ((stop - start + BLOCK - 1) & -BLOCK), array_end)
    query = rows.query + band.query_length - 1 - r
    for t in range(start, stop, LANES):
        scores = pair_scores(load_bytes(rows.target + t), load_bytes(query + t), costs)
        if stop - t < LANES:
            old = load_bytes(rows.pair_scores + t)
            scores = where(spread_byte(stop - t) > lane_numbers(), scores, old)
        store_bytes(rows.pair_scores + t, scores)

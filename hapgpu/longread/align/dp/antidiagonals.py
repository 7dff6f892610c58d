"""Scores and directions of the matrix of one pair, by antidiagonals.

The lane of a cell is its target offset. A vector of lanes is loaded, takes v, x and x2 of the lanes
before by a shift, and is stored again. With `Band.leaks`, lanes outside of the band take part in
blocks of 16, exactly as in minimap2 (`ksw_extd2_sse41`, `ksw_extz2_sse41`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_i32, read_u8, write_32
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
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.bands import (
    BLOCK,
    SCORE_BYTES,
    Band,
    Borders,
    Edge,
    border_difference,
    borders_of,
    lanes_of,
    left_edge,
    no_cells,
    set_cells,
    top_edge,
    with_cell,
    with_ends,
    with_highest,
)
from hapgpu.longread.align.dp.lane_steps import Cells, Vector, dual_step, pair_scores, single_step
from hapgpu.longread.align.dp.results import (
    DIRECTIONS,
    FIRST,
    LAST,
    MARGIN,
    PAIR_SCORES,
    QUERY,
    TARGET,
    X2,
    Y2,
    PairOptions,
    Scratch,
    U,
    V,
    X,
    Y,
    row_size,
)
from hapgpu.longread.align.parameters import (
    AlignScoring,
    Costs,
    costs_of,
    has_transitions,
    is_single_affine,
)
from hapgpu.runtime.jit import njit, njit_inlined


class _Rows(NamedTuple):
    """Rows of `Scratch.lanes`, lane 0 at offset `MARGIN`, and `Scratch.scores`."""

    u: Memory
    v: Memory
    x: Memory
    y: Memory
    x2: Memory
    y2: Memory
    pair_scores: Memory
    target: Memory
    query: Memory
    scores: Memory


class _Antidiagonal(NamedTuple):
    """First and last lane in the band of antidiagonal r, and of the blocks with these lanes."""

    r: Integer
    start: Integer
    end: Integer
    first: Integer
    last: Integer


@njit_inlined
def _rows_of(scratch: Scratch, size: Integer) -> _Rows:
    lanes = memory_of(scratch.lanes)
    return _Rows(
        part_of(lanes, U * size, size),
        part_of(lanes, V * size, size),
        part_of(lanes, X * size, size),
        part_of(lanes, Y * size, size),
        part_of(lanes, X2 * size, size),
        part_of(lanes, Y2 * size, size),
        part_of(lanes, PAIR_SCORES * size, size),
        part_of(lanes, TARGET * size, size),
        part_of(lanes, QUERY * size, size),
        memory_of(scratch.scores),
    )


@njit
def set_codes(
    query: NDArray[np.uint8], target: NDArray[np.uint8], modes: Integer, scratch: Scratch
) -> None:
    """Write the codes of `target` and, from the last one on, of `query`, with A around both.

    The codes, `query` and `target`, are uint8.
    """
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
def fill_matrix(
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
        int32[10]: the columns of `results`, set except for `REACHES_END`.
    """
    costs = costs_of(scoring)
    borders = borders_of(costs)
    rows = _rows_of(scratch, row_size(band.query_length, band.target_length))
    modes, zdrop = options.modes, options.zdrop
    is_exact = modes & results.APPROXIMATE == 0
    # The border's score of one base, before the first cell.
    score: Integer = np.int64(-costs.gap_open - costs.gap_extend)
    write_32(rows.scores, 0, score)
    lane: Integer = np.int64(0)
    best, dropped = no_cells(), False
    before, directions = _Antidiagonal(-1, 0, 0, -1, -1), np.int64(0)
    all_directions = memory_of(scratch.directions)
    if band.leaks:
        _clear_pair_scores(rows, band)
    for r in range(band.query_length + band.target_length - 1):
        start, end = lanes_of(band, r)
        if start > end:
            dropped = True
            break
        diagonal = _Antidiagonal(r, start, end, start & -BLOCK, end | (BLOCK - 1))
        scratch.antidiagonals[r, FIRST] = diagonal.first
        scratch.antidiagonals[r, LAST] = diagonal.last
        scratch.antidiagonals[r, DIRECTIONS] = directions - diagonal.first
        if band.leaks:
            if diagonal.last > before.last:
                _set_new_lanes(rows, before.last + 1, borders)
            _refresh_pair_scores(rows, band, costs, diagonal)
        # Vectors are stored whole; the next antidiagonal overwrites what is beyond this one.
        width = diagonal.last + 1 - diagonal.first
        row = part_of(all_directions, directions, (width + LANES - 1) & -LANES)
        highest = _fill_antidiagonal(rows, band, borders, costs, diagonal, before, modes, row)
        directions += width
        before = diagonal
        if is_exact:
            best = with_ends(best, band, rows.scores, r, start, end)
            best, dropped = with_highest(best, highest, rows.scores, r, start, end, costs, zdrop)
        else:
            lane, difference = _next_on_path(rows, diagonal, lane)
            score += difference - borders.bias
            if modes & results.APPROXIMATE_DROP:
                best, dropped = with_cell(best, score, lane, r, costs, zdrop)
        if dropped:
            break
    set_cells(best, result)
    if is_exact:
        score = read_i32(rows.scores, SCORE_BYTES * (band.target_length - 1))
    result[results.SCORE] = results.NO_SCORE if dropped else score
    result[results.DROPPED] = dropped


@njit_inlined
def _fill_antidiagonal(
    rows: _Rows,
    band: Band,
    borders: Borders,
    costs: Costs,
    diagonal: _Antidiagonal,
    before: _Antidiagonal,
    modes: Integer,
    directions: Memory,
) -> Integer:
    """Compute the lanes of an antidiagonal; return the highest score, if scores are wanted.

    Parameters
    ----------
    rows, band, borders, costs
        Memory, the band, differences at borders and scores.
    diagonal, before
        The antidiagonal, and the one before.
    modes
        Modes of `results`.
    directions
        Direction bytes, from lane `first` on, whole vectors.
    """
    r, first, last = diagonal.r, diagonal.first, diagonal.last
    is_right = np.int64(modes & results.RIGHT != 0)
    is_single = is_single_affine(costs)
    is_exact = modes & results.APPROXIMATE == 0
    difference = border_difference(r, costs, borders)
    left = left_edge(band, borders, r, diagonal.start, first, before.first, difference)
    top = top_edge(band, borders, r, diagonal.end, last, difference)
    highest = spread_int(results.NO_SCORE)
    query = MARGIN + band.query_length - 1 - r
    before_v = load_bytes(rows.v, MARGIN + first - LANES)
    before_x = load_bytes(rows.x, MARGIN + first - LANES)
    before_x2 = load_bytes(rows.x2, MARGIN + first - LANES)
    # The last lane's score before the block that has it: the block changes it.
    corner = _corner_score(rows, diagonal) - borders.bias
    for t in range(first, last + 1, LANES):
        at = MARGIN + t
        if band.leaks:
            pairs = load_bytes(rows.pair_scores, at)
        else:
            pairs = pair_scores(
                load_bytes(rows.target, at), load_bytes(rows.query, query + t), costs
            )
        v, x, x2 = load_bytes(rows.v, at), load_bytes(rows.x, at), load_bytes(rows.x2, at)
        cells = Cells(
            load_bytes(rows.u, at),
            shifted(before_v, v),
            shifted(before_x, x),
            load_bytes(rows.y, at),
            shifted(before_x2, x2),
            load_bytes(rows.y2, at),
        )
        before_v, before_x, before_x2 = v, x, x2
        if t <= left.lane < t + LANES:
            cells = _with_left_edge(cells, left, t)
        if t <= top.lane < t + LANES:
            cells = _with_top_edge(cells, top, t)
        if is_single:
            cells, direction = single_step(pairs, cells, costs, is_right)
        else:
            cells, direction = dual_step(pairs, cells, costs, is_right)
        _store_cells(rows, cells, t)
        store_bytes(directions, t - first, direction)
        if is_exact:
            scores = _add_differences(rows, cells, diagonal, corner, borders.bias, t)
            highest = larger_ints(highest, scores)
    return highest_of(highest) if is_exact else np.int64(0)


@njit_inlined
def _with_left_edge(cells: Cells, edge: Edge, t: Integer) -> Cells:
    is_edge = lane_numbers() == spread_byte(edge.lane - t)
    return Cells(
        cells.u,
        where(is_edge, spread_byte(edge.difference), cells.v),
        where(is_edge, spread_byte(edge.gap), cells.x),
        cells.y,
        where(is_edge, spread_byte(edge.gap2), cells.x2),
        cells.y2,
    )


@njit_inlined
def _with_top_edge(cells: Cells, edge: Edge, t: Integer) -> Cells:
    is_edge = lane_numbers() == spread_byte(edge.lane - t)
    return Cells(
        where(is_edge, spread_byte(edge.difference), cells.u),
        cells.v,
        cells.x,
        where(is_edge, spread_byte(edge.gap), cells.y),
        cells.x2,
        where(is_edge, spread_byte(edge.gap2), cells.y2),
    )


@njit_inlined
def _store_cells(rows: _Rows, cells: Cells, t: Integer) -> None:
    store_bytes(rows.u, MARGIN + t, cells.u)
    store_bytes(rows.v, MARGIN + t, cells.v)
    store_bytes(rows.x, MARGIN + t, cells.x)
    store_bytes(rows.y, MARGIN + t, cells.y)
    store_bytes(rows.x2, MARGIN + t, cells.x2)
    store_bytes(rows.y2, MARGIN + t, cells.y2)


@njit_inlined
def _corner_score(rows: _Rows, diagonal: _Antidiagonal) -> Integer:
    """Return the score of the lane before the last one; 0 without such a lane."""
    if diagonal.end == 0:
        return np.int64(0)
    return read_i32(rows.scores, SCORE_BYTES * (diagonal.end - 1))


@njit_inlined
def _add_differences(
    rows: _Rows,
    cells: Cells,
    diagonal: _Antidiagonal,
    corner: Integer,
    bias: Integer,
    t: Integer,
) -> Vector:
    """Update the scores of a vector of lanes; return them, low outside of the band.

    A score is that of the same lane plus v; for the last lane, unless that is lane 0, it is that of
    the lane before plus u.
    """
    before = load_ints(rows.scores, SCORE_BYTES * t)
    after = before + widened(cells.v) - spread_int(bias)
    if diagonal.start <= t and t + LANES <= diagonal.end:
        store_ints(rows.scores, SCORE_BYTES * t, after)
        return after
    numbers = lane_numbers()
    end = diagonal.end if diagonal.end > 0 else np.int64(-1)
    is_end = numbers == spread_byte(min(max(end - t, -1), LANES))
    is_inside = numbers >= spread_byte(max(diagonal.start - t, 0))
    is_inside &= spread_byte(min(diagonal.end - t, LANES)) >= numbers
    after = where_ints(is_end, spread_int(corner) + widened(cells.u), after)
    store_ints(rows.scores, SCORE_BYTES * t, where_ints(is_inside, after, before))
    return where_ints(is_inside, after, spread_int(results.NO_SCORE))


@njit_inlined
def _next_on_path(rows: _Rows, diagonal: _Antidiagonal, lane: Integer) -> tuple[Integer, Integer]:
    """Return the lane of a path on an antidiagonal, and the difference of its score."""
    stays = diagonal.r == 0 or (
        lane >= diagonal.start
        and (lane == diagonal.end or _int8_at(rows.v, lane) > _int8_at(rows.u, lane + 1))
    )
    if stays:
        return lane, _int8_at(rows.v, lane)
    return lane + 1, _int8_at(rows.u, lane + 1)


@njit_inlined
def _int8_at(row: Memory, lane: Integer) -> Integer:
    return (read_u8(row, MARGIN + lane) ^ 128) - 128


@njit
def _clear_pair_scores(rows: _Rows, band: Band) -> None:
    for t in range(0, band.target_length + BLOCK, LANES):
        store_bytes(rows.pair_scores, MARGIN + t, spread_byte(0))


@njit
def _set_new_lanes(rows: _Rows, first: Integer, borders: Borders) -> None:
    """Set a vector of lanes, of which one block comes next, to lanes never computed."""
    opened, opened2 = spread_byte(borders.opened), spread_byte(borders.opened2)
    _store_cells(rows, Cells(opened, opened, opened, opened, opened2, opened2), first)


@njit
def _refresh_pair_scores(rows: _Rows, band: Band, costs: Costs, diagonal: _Antidiagonal) -> None:
    """Set the scores of pairs of bases, in blocks of 16 lanes from the first in the band on."""
    start, stop = diagonal.start, diagonal.end + 1
    if not has_transitions(costs):
        array_end = (band.target_length + BLOCK - 1) & -BLOCK
        stop = min(start + ((stop - start + BLOCK - 1) & -BLOCK), array_end)
    query = MARGIN + band.query_length - 1 - diagonal.r
    for t in range(start, stop, LANES):
        at = MARGIN + t
        pairs = pair_scores(load_bytes(rows.target, at), load_bytes(rows.query, query + t), costs)
        if stop - t < LANES:
            old = load_bytes(rows.pair_scores, at)
            pairs = where(spread_byte(stop - t) > lane_numbers(), pairs, old)
        store_bytes(rows.pair_scores, at, pairs)

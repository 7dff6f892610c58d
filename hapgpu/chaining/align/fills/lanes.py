# ruff: noqa: FBT001  (Numba: no keyword-only arguments)
"""Recurrences of up to 64 global alignments side by side, one pair of sequences per lane.

Differences of neighbouring scores fit in a byte (Suzuki and Kasahara 2018, BMC Bioinformatics
19:45), for two affine gap costs as in minimap2 (Li 2018, Bioinformatics 34:3094). With target
position i, query position j, score H(i, j) and e(i, j), f(i, j) the best scores of a deletion and
an insertion that continue after the cell, a cell has

    u = H(i, j) - H(i - 1, j)        x = e(i, j) - H(i, j)
    v = H(i, j) - H(i, j - 1)        y = f(i, j) - H(i, j)

and x, y again for the long gaps. What is kept is shifted by constants, which saves operations:
u - o, v - o, -(x + o), -(y + o), where o is the cost of a short gap of one base.

All lanes share a band of diagonals k = i - j: column c of the band is diagonal max_diagonal - c, so
that j = i + c - max_diagonal. Outside of the band a score counts as minus infinity: such a gap is
never chosen, and never continued. A lane whose sequences end earlier runs on into padding: no cell
depends on later positions.

No cell exceeds the score of the cell before it on its diagonal by more than a match, because a path
to a cell becomes a path to the cell before if a base of each sequence is left out. So minimap2's
upper limit of that difference is not needed.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.fills.vectors import (
    LANES,
    Vector,
    if_equal,
    if_larger,
    larger,
    load,
    repeat,
    smaller,
    store,
)
from hapgpu.chaining.align.scoring import AMBIGUOUS, AlignScoring, gap_cost, has_transitions
from hapgpu.runtime.jit import njit, njit_inlined

DELETION, INSERTION, LONG_DELETION, LONG_INSERTION = 1, 2, 3, 4
"""Lowest three bits of a direction byte: the gap that a cell's best path ends with, 0 if none."""

CHOICE: Final = 7
"""Mask of these bits. Bit 2 + gap is set if a longer gap of that kind beats a new one."""


class Band(NamedTuple):
    """Cells of a group: `rows` target positions, `columns` diagonals from `max_diagonal` down.

    `query_length` is that of the longest query.
    """

    rows: Any
    columns: Any
    max_diagonal: Any
    query_length: Any


class Lanes(NamedTuple):
    """Buffers of a group; the last axis of the first four is the lane.

    Attributes
    ----------
    targets, queries
        int8[positions, LANES]: codes.
    states
        int8[3, columns + 1, LANES]: v, x and x of long gaps (shifted) of the last row, and the
        column after the band.
    directions
        uint8[at least rows * columns * LANES]: direction bytes [row, column, lane].
    """

    targets: NDArray[np.int8]
    queries: NDArray[np.int8]
    states: NDArray[np.int8]
    directions: NDArray[np.uint8]


@njit
def allocate_lanes(positions: Integer, columns: Integer, directions: Integer) -> Lanes:
    """Return buffers for sequences, bands and direction bytes up to these sizes."""
    return Lanes(
        np.zeros((positions, LANES), np.int8),
        np.zeros((positions, LANES), np.int8),
        np.zeros((3, columns + 1, LANES), np.int8),
        np.empty(directions, np.uint8),
    )


@njit
def lanes_for(band: Band, lanes: Lanes) -> Lanes:
    """Return buffers for a band: `lanes`, or larger ones with room for the next larger bands."""
    positions, columns = lanes.targets.shape[0], lanes.states.shape[1] - 1
    longest = max(band.rows, band.query_length)
    directions = band.rows * band.columns * LANES
    if positions >= longest and columns >= band.columns and lanes.directions.size >= directions:
        return lanes
    return allocate_lanes(
        max(positions, longest + longest // 2),
        max(columns, band.columns + band.columns // 2),
        max(lanes.directions.size, directions + directions // 2),
    )


@njit
def fits_lanes(scoring: AlignScoring) -> Any:
    """Return whether all values of the recurrences fit in a byte with these scores.

    It holds for usual scores. Others are up to the recurrences of single pairs, and so are those
    whose long gaps are cheaper to open, and mismatches so expensive that minimap2 does not align.
    """
    lowest, highest = 0, 0
    for score in scoring.dp_matrix.flat:
        lowest = min(lowest, int(score))
        highest = max(highest, int(score))
    short = scoring.gap_open + scoring.gap_extend
    long = scoring.gap_open2 + scoring.gap_extend2
    return (
        highest == scoring.match
        and short <= long
        and short + long <= 127
        and -lowest <= 2 * short
        and scoring.gap_open2 - lowest <= 127
        and highest - lowest + long - short <= 127
        and highest + long + scoring.gap_extend2 <= 127
        and highest + short + scoring.gap_extend <= 127
    )


@njit
def pack_codes(
    codes: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    lane: Integer,
    packed: NDArray[np.int8],
) -> Any:
    """Write the codes of a sequence into its lane; return whether one of them is ambiguous."""
    seen: Any = np.uint8(0)
    for position in range(length):
        code = codes[start + position]
        packed[position, lane] = np.int8(code)
        seen |= code
    return seen >= AMBIGUOUS


@njit
def _start_states(states: NDArray[np.int8], band: Band, scoring: AlignScoring) -> None:
    """Set the row before the first target position, and the column after the band."""
    short = scoring.gap_open + scoring.gap_extend
    long = scoring.gap_open2 + scoring.gap_extend2
    for c in range(1, band.columns):
        position = c - 1 - band.max_diagonal
        step = 0
        if position >= 0:
            step = gap_cost(position, scoring) - gap_cost(position + 1, scoring)
        states[0, c] = np.int8(step - short)
        states[1, c] = 0
        states[2, c] = np.int8(long - short)
    states[0, band.columns] = np.int8(_unreachable(scoring))
    states[1, band.columns] = 0
    states[2, band.columns] = np.int8(scoring.gap_open2 - scoring.gap_open)


@njit
def _unreachable(scoring: AlignScoring) -> Any:
    """Return u or v next to a cell outside of the band.

    The gap from there gets the score of a mismatch less the costs of opening it: no cell chooses
    it, and a new gap is as good as continuing it.
    """
    lowest = 0
    for score in scoring.dp_matrix.flat:
        lowest = min(lowest, int(score))
    return lowest - scoring.gap_open


@njit
def fill_lanes(
    lanes: Lanes,
    band: Band,
    lengths: NDArray[np.int32],
    scoring: AlignScoring,
    has_ambiguous: bool,
    scores: NDArray[np.int32],
) -> None:
    """Fill the band.

    Parameters
    ----------
    lanes
        `targets` and `queries` are set.
    band
        Contains the first and the last cell of every pair.
    lengths
        int32[2, pairs]: lengths of targets and queries, at least 1; at most LANES pairs.
    scoring
        Scores that `fits_lanes`.
    has_ambiguous
        Whether a code of the pairs may be ambiguous.
    scores
        int32[pairs]: set to the score of each pair.
    """
    short = scoring.gap_open + scoring.gap_extend
    unreachable = _unreachable(scoring)
    is_plain = not (has_ambiguous or has_transitions(scoring))
    target_lengths, query_lengths = lengths[0], lengths[1]
    min_rows = band.rows
    for length in target_lengths:
        min_rows = min(min_rows, np.int64(length))
    _start_states(lanes.states, band, scoring)
    # Score of the first cell of a row, and at the end of a pair's rows that of its last cell.
    firsts = np.zeros(LANES, np.int32)
    for i in range(band.rows):
        first, left = 0, unreachable
        if i <= band.max_diagonal:
            first = band.max_diagonal - i
            left = gap_cost(i, scoring) - gap_cost(i + 1, scoring) - short
            firsts[:] = -gap_cost(i, scoring)
        _fill_row(lanes, band, i, left, scoring, is_plain)
        # The differences along the row and the column give the one along the diagonal.
        step = left + 2 * short
        for lane in range(LANES):
            firsts[lane] += np.int32(lanes.states[0, first, lane]) + np.int32(step)
        for lane in range(target_lengths.size if i + 1 >= min_rows else 0):
            if target_lengths[lane] == i + 1:
                last = band.max_diagonal - target_lengths[lane] + query_lengths[lane]
                score = firsts[lane]
                for c in range(first + 1, last + 1):
                    score += np.int32(lanes.states[0, c, lane]) + np.int32(short)
                scores[lane] = score


@njit
def _fill_row(
    lanes: Lanes, band: Band, i: Integer, left: Integer, scoring: AlignScoring, is_plain: bool
) -> None:
    """Fill the cells of a target position; `left` is u (shifted) of the cell before the first."""
    short = scoring.gap_open + scoring.gap_extend
    long = scoring.gap_open2 + scoring.gap_extend2
    match, mismatch = repeat(scoring.match), repeat(-scoring.mismatch)
    transition = repeat(-scoring.transition)
    ambiguous = repeat(scoring.dp_matrix[AMBIGUOUS, AMBIGUOUS])
    no_gap, deletion, insertion = repeat(0), repeat(DELETION), repeat(INSERTION)
    long_deletion, long_insertion = repeat(LONG_DELETION), repeat(LONG_INSERTION)
    deletion_extended, insertion_extended = repeat(1 << 3), repeat(1 << 4)
    long_deletion_extended, long_insertion_extended = repeat(1 << 5), repeat(1 << 6)
    opened, opened_long = repeat(0), repeat(long - short)
    twice_short, gap_open = repeat(2 * short), repeat(scoring.gap_open)
    gap_open_long = repeat(short - scoring.gap_extend2)

    first_query = i - band.max_diagonal
    first = max(0, -first_query)
    end = min(band.columns, band.query_length - first_query)
    target = load(lanes.targets.ctypes.data + i * LANES)
    query_at = lanes.queries.ctypes.data + (first_query + first) * LANES
    v_at = lanes.states.ctypes.data + first * LANES
    x_at = v_at + lanes.states.strides[0]
    x_long_at = x_at + lanes.states.strides[0]
    directions_at = lanes.directions.ctypes.data + (i * band.columns + first) * LANES

    u, y, y_long = repeat(left), opened, opened_long
    if first_query > 0:
        y_long = repeat(scoring.gap_open2 - scoring.gap_open)
    for at in range(0, (end - first) * LANES, LANES):
        query = load(query_at + at)
        score = if_equal(target, query, match, mismatch)
        if not is_plain:
            score = if_equal(target ^ query, repeat(2), transition, score)
            score = if_larger(target | query, repeat(3), ambiguous, score)
        v = load(v_at + at + LANES)
        a, a_long = v - load(x_at + at + LANES), v - load(x_long_at + at + LANES)
        b, b_long = u - y, u - y_long

        # In this order, and only if larger: minimap2's choice of equal scores.
        direction, score = _choose(a, deletion, score, no_gap)
        direction, score = _choose(b, insertion, score, direction)
        direction, score = _choose(a_long, long_deletion, score, direction)
        direction, score = _choose(b_long, long_insertion, score, direction)

        shifted = score - twice_short
        store(v_at + at, shifted - u)
        u = shifted - v
        new, new_long = score - gap_open, score - gap_open_long
        direction, a = _extend(new - a, opened, direction, deletion_extended)
        direction, y = _extend(new - b, opened, direction, insertion_extended)
        direction, a_long = _extend(
            new_long - a_long, opened_long, direction, long_deletion_extended
        )
        direction, y_long = _extend(
            new_long - b_long, opened_long, direction, long_insertion_extended
        )
        store(x_at + at, a)
        store(x_long_at + at, a_long)
        store(directions_at + at, direction)


@njit_inlined
def _choose(gap_score: Vector, gap: Vector, score: Vector, direction: Vector) -> Any:
    """Return the choice between the best so far and a gap, and its score."""
    return if_larger(gap_score, score, gap, direction), larger(gap_score, score)


@njit_inlined
def _extend(extended: Vector, opened: Vector, direction: Vector, bit: Vector) -> Any:
    """Return the directions, and the state of a gap: costs of extending it or of a new one."""
    return if_larger(opened, extended, direction + bit, direction), smaller(extended, opened)

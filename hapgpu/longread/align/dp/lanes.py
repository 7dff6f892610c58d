# ruff: noqa: FBT001  (Numba: no keyword-only arguments)
"""Global alignments side by side, one pair of sequences per lane: recurrences and paths.

Differences of neighbouring scores fit in a byte (Suzuki and Kasahara 2018, BMC Bioinformatics
19:45), for two affine gap costs as in minimap2 (Li 2018, Bioinformatics 34:3094). With target
position i, query position j, score H(i, j) and e(i, j), f(i, j) the best scores of a deletion and
an insertion that continue after the cell, a cell has

    u = H(i, j) - H(i - 1, j)        x = e(i, j) - H(i, j)
    v = H(i, j) - H(i, j - 1)        y = f(i, j) - H(i, j)

and x, y again for the long gaps. What is kept is shifted by constants, which saves operations:
u - o, v - o, -(x + o), -(y + o), where o is the cost of a short gap of one base.

All lanes share a band of diagonals. Outside of the band a score counts as minus infinity: a gap
from there is never chosen, and never continued. A lane whose sequences end earlier runs on into
padding: no cell depends on later positions.

No cell exceeds the score of the cell before it on its diagonal by more than a match, because a path
to a cell becomes a path to the cell before if a base of each sequence is left out. So minimap2's
upper limit of that difference is not needed.

On a path back from the last cell: no path to a cell of two equal bases has a higher score than the
one over the cell before it on its diagonal, and of equal scores a pair of bases is chosen. So equal
bases need no look at the directions, unless a gap goes on.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of, read_64, read_u8
from hapgpu.arrays.vectors import (
    LANES,
    larger,
    load_bytes,
    smaller,
    spread_byte,
    spread_int,
    store_bytes,
    store_ints,
    where,
    widened,
)
from hapgpu.longread.align.dp.lane_steps import Vector, pair_scores
from hapgpu.longread.align.dp.results import (
    DELETION,
    DELETION_STATE,
    INSERTION,
    INSERTION_STATE,
    LONG_DELETION_STATE,
    LONG_INSERTION_STATE,
    MATCH,
)
from hapgpu.longread.align.parameters import AMBIGUOUS, Costs, gap_cost, has_transitions
from hapgpu.runtime.jit import njit, njit_inlined


class LaneBand(NamedTuple):
    """Cells of a group: `rows` target positions, `columns` diagonals from `max_diagonal` down.

    Column c of row i is query position i + c - max_diagonal, if the longest query, of
    `query_length`, has that position.
    """

    rows: Integer
    columns: Integer
    max_diagonal: Integer
    query_length: Integer


class Lanes(NamedTuple):
    """Buffers whose last axis is the lane.

    Attributes
    ----------
    targets, queries
        int8[positions, LANES]: codes.
    states
        int8[3, columns + 1, LANES]: what a row leaves to the next one.
    directions
        uint8, flat: direction bytes [row, column, lane].
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
def lanes_for(band: LaneBand, lanes: Lanes) -> Lanes:
    """Return buffers for a band: `lanes`, or larger ones with room for the next larger bands."""
    positions, columns = lanes.targets.shape[0], lanes.states.shape[1] - 1
    longest = max(band.rows, band.query_length)
    directions = count_directions(band)
    if positions >= longest and columns >= band.columns and lanes.directions.size >= directions:
        return lanes
    return allocate_lanes(
        max(positions, longest + longest // 2),
        max(columns, band.columns + band.columns // 2),
        max(lanes.directions.size, directions + directions // 2),
    )


@njit
def count_directions(band: LaneBand) -> Integer:
    """Return the number of direction bytes of a band."""
    return band.rows * band.columns * LANES


@njit
def pack_codes(
    codes: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    lane: Integer,
    packed: NDArray[np.int8],
) -> bool:
    """Write `codes`, uint8, of a sequence into its lane; return whether one of them is ambiguous.

    `packed`, int8[l, LANES], has a column per lane and at least `length` rows.
    """
    seen: Any = np.uint8(0)
    for position in range(length):
        code = codes[start + position]
        packed[position, lane] = np.int8(code)
        seen |= code
    return bool(seen >= AMBIGUOUS)


@njit
def fits_lanes(costs: Costs) -> bool:
    """Return whether all values of the recurrences fit in a byte with these scores.

    It holds for usual scores. Others are up to the recurrences of single pairs, and so are those
    whose long gaps are cheaper to open, and mismatches so expensive that minimap2 does not align.
    """
    short, long = costs.gap_open + costs.gap_extend, costs.gap_open2 + costs.gap_extend2
    worst = max(costs.mismatch, costs.transition, costs.ambiguous)
    return (
        short <= long
        and short + long <= 127
        and worst <= 2 * short
        and worst + costs.gap_open2 <= 127
        and worst + costs.match + long - short <= 127
        and costs.match + long + costs.gap_extend2 <= 127
        and costs.match + short + costs.gap_extend <= 127
    )


@njit
def _start_states(states: NDArray[np.int8], band: LaneBand, costs: Costs) -> None:
    """Set the row before the first target position, and the column after the band."""
    short = costs.gap_open + costs.gap_extend
    long = costs.gap_open2 + costs.gap_extend2
    for c in range(1, band.columns):
        position = c - 1 - band.max_diagonal
        step = 0
        if position >= 0:
            step = gap_cost(position, costs) - gap_cost(position + 1, costs)
        states[0, c] = np.int8(step - short)
        states[1, c] = 0
        states[2, c] = np.int8(long - short)
    states[0, band.columns] = np.int8(_unreachable(costs))
    states[1, band.columns] = 0
    states[2, band.columns] = np.int8(costs.gap_open2 - costs.gap_open)


@njit
def _unreachable(costs: Costs) -> Integer:
    """Return u or v next to a cell outside of the band.

    The gap from there gets the score of a mismatch less the costs of opening it: no cell chooses
    it, and a new gap is as good as continuing it.
    """
    return -max(costs.mismatch, costs.transition, costs.ambiguous) - costs.gap_open


@njit
def fill_lanes(
    lanes: Lanes,
    band: LaneBand,
    lengths: NDArray[np.int32],
    costs: Costs,
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
    costs
        Costs that `fits_lanes`.
    has_ambiguous
        Whether a code of the pairs may be ambiguous.
    scores
        int32[pairs]: set to the score of each pair.
    """
    short = costs.gap_open + costs.gap_extend
    unreachable = _unreachable(costs)
    is_plain = not (has_ambiguous or has_transitions(costs))
    target_lengths, query_lengths = lengths[0], lengths[1]
    min_rows = band.rows
    for length in target_lengths:
        min_rows = min(min_rows, np.int64(length))
    _start_states(lanes.states, band, costs)
    firsts = spread_int(0)
    first_scores = np.empty(LANES, np.int32)
    states = memory_of(lanes.states)
    for i in range(band.rows):
        first, left = 0, unreachable
        if i <= band.max_diagonal:
            first = band.max_diagonal - i
            left = gap_cost(i, costs) - gap_cost(i + 1, costs) - short
            firsts = spread_int(-gap_cost(i, costs))
        _fill_row(lanes, band, i, left, costs, is_plain)
        # The differences along the row and the column give the one along the diagonal.
        step = widened(load_bytes(states, first * LANES))
        firsts = firsts + step + spread_int(left + 2 * short)
        if i + 1 >= min_rows:
            store_ints(memory_of(first_scores), np.int64(0), firsts)
            for lane in range(target_lengths.size):
                if target_lengths[lane] == i + 1:
                    last = band.max_diagonal - target_lengths[lane] + query_lengths[lane]
                    score = first_scores[lane]
                    for c in range(first + 1, last + 1):
                        score += np.int32(lanes.states[0, c, lane]) + np.int32(short)
                    scores[lane] = score


@njit
def _fill_row(
    lanes: Lanes, band: LaneBand, i: Integer, left: Integer, costs: Costs, is_plain: bool
) -> None:
    """Fill the cells of a target position; `left` is u (shifted) of the cell before the first."""
    short = costs.gap_open + costs.gap_extend
    long = costs.gap_open2 + costs.gap_extend2
    match, mismatch = spread_byte(costs.match), spread_byte(-costs.mismatch)
    opened, opened_long = spread_byte(0), spread_byte(long - short)
    twice_short, gap_open = spread_byte(2 * short), spread_byte(costs.gap_open)
    gap_open_long = spread_byte(short - costs.gap_extend2)

    first_query = i - band.max_diagonal
    first = max(0, -first_query)
    end = min(band.columns, band.query_length - first_query)
    start, size = first * LANES, (end - first) * LANES
    target = load_bytes(memory_of(lanes.targets), i * LANES)
    queries = part_of(memory_of(lanes.queries), first_query * LANES + start, size)
    states, width = memory_of(lanes.states), np.int64(lanes.states.strides[0])
    v_states = part_of(states, start, size + LANES)
    x_states = part_of(states, start + width, size + LANES)
    x_long_states = part_of(states, start + 2 * width, size + LANES)
    row_start = i * band.columns * LANES + start
    directions = part_of(memory_of(lanes.directions), row_start, size)

    u, y, y_long = spread_byte(left), opened, opened_long
    if first_query > 0:
        y_long = spread_byte(costs.gap_open2 - costs.gap_open)
    for at in range(0, size, LANES):
        query = load_bytes(queries, at)
        if is_plain:
            score = where(target == query, match, mismatch)
        else:
            score = pair_scores(target, query, costs)
        v = load_bytes(v_states, at + LANES)
        a = v - load_bytes(x_states, at + LANES)
        a_long = v - load_bytes(x_long_states, at + LANES)
        b, b_long = u - y, u - y_long

        # In this order, and only if larger: minimap2's choice of equal scores.
        direction, score = _choose(a, DELETION_STATE, score, spread_byte(0))
        direction, score = _choose(b, INSERTION_STATE, score, direction)
        direction, score = _choose(a_long, LONG_DELETION_STATE, score, direction)
        direction, score = _choose(b_long, LONG_INSERTION_STATE, score, direction)

        shifted = score - twice_short
        store_bytes(v_states, at, shifted - u)
        u = shifted - v
        new, new_long = score - gap_open, score - gap_open_long
        direction, a = _extend(new - a, opened, direction, 1 << 3)
        direction, y = _extend(new - b, opened, direction, 1 << 4)
        direction, a_long = _extend(new_long - a_long, opened_long, direction, 1 << 5)
        direction, y_long = _extend(new_long - b_long, opened_long, direction, 1 << 6)
        store_bytes(x_states, at, a)
        store_bytes(x_long_states, at, a_long)
        store_bytes(directions, at, direction)


@njit_inlined
def _choose(gap_score: Vector, gap: int, score: Vector, direction: Vector) -> tuple[Vector, Vector]:
    """Return the choice between the best so far and a gap, and its score."""
    return where(gap_score > score, spread_byte(gap), direction), larger(gap_score, score)


@njit_inlined
def _extend(extended: Vector, opened: Vector, direction: Vector, bit: int) -> tuple[Vector, Vector]:
    """Return the directions, and the state of a gap: costs of extending it or of a new one."""
    direction = where(opened > extended, direction + spread_byte(bit), direction)
    return direction, smaller(extended, opened)


_STATE: Final = 7
_WORD: Final = 8
"""Codes compared at a time."""

_AMBIGUOUS_WORD: Final = np.uint64(AMBIGUOUS * 0x0101010101010101)


class PairCodes(NamedTuple):
    """Codes (uint8) of the target and the query of a pair."""

    target: Memory
    query: Memory


@njit
def trace_lane(
    directions: NDArray[np.uint8],
    band: LaneBand,
    lane: Integer,
    codes: PairCodes,
    operations: NDArray[np.uint32],
) -> Integer:
    """Write the BAM operations of a pair to the end of `operations`; return where they start.

    Parameters
    ----------
    directions
        uint8: direction bytes [row, column, lane] of a filled band.
    band
        The band.
    lane, codes
        The pair.
    operations
        uint32[at least as many as both have codes].
    """
    row_step, diagonal_step = (band.columns - 1) * LANES, band.columns * LANES
    i: Integer
    j: Integer
    i, j = codes.target.size - 1, codes.query.size - 1
    choices = memory_of(directions)
    at: Integer = lane + i * diagonal_step + (band.max_diagonal - i + j) * LANES
    start: Integer = operations.size
    operation = MATCH
    gap: Integer = 0
    length: Integer = 0
    while i >= 0 and j >= 0:
        direction = read_u8(choices, at)
        if gap == 0 or not direction >> (gap + 2) & 1:
            gap = direction & _STATE
        step: Integer = 1
        if gap == 0:
            step = 1 + _equal_bases(codes, i, j, min(i, j))
            next_operation = MATCH
            i -= step
            j -= step
            at -= step * diagonal_step
        elif gap in (INSERTION_STATE, LONG_INSERTION_STATE):
            next_operation = INSERTION
            j -= 1
            at -= LANES
        else:
            next_operation = DELETION
            i -= 1
            at -= row_step
        if next_operation != operation and length > 0:
            start -= 1
            operations[start] = length << 4 | operation
            length = 0
        operation = next_operation
        length += step
    rest = max(i, j) + 1
    rest_operation = DELETION if i >= 0 else INSERTION
    if rest > 0 and rest_operation == operation:
        length += rest
    start -= 1
    operations[start] = length << 4 | operation
    if rest > 0 and rest_operation != operation:
        start -= 1
        operations[start] = rest << 4 | rest_operation
    return start


@njit_inlined
def _equal_bases(codes: PairCodes, i: Integer, j: Integer, longest: Integer) -> Integer:
    """Return how many bases before two positions are equal, none of them ambiguous."""
    target, query = codes
    count = 0
    while count + _WORD <= longest:
        word = np.uint64(read_64(target, i - count - _WORD))
        differing = word ^ np.uint64(read_64(query, j - count - _WORD))
        differing |= word & _AMBIGUOUS_WORD
        if differing:
            return count + np.int64(leading_zeros(differing) >> np.uint64(3))
        count += _WORD
    while count < longest:
        code = read_u8(target, i - count - 1)
        if code == AMBIGUOUS or code != read_u8(query, j - count - 1):
            break
        count += 1
    return count

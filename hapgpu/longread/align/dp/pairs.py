"""Alignment of pairs of sequences, one by one (minimap2: `ksw_extd2_sse41`, `ksw_extz2_sse41`)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import with_room
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.antidiagonals import fill_matrix, set_codes
from hapgpu.longread.align.dp.bands import Band, has_narrow_bands, is_certified, max_directions
from hapgpu.longread.align.dp.results import (
    DELETION,
    DELETION_STATE,
    DIRECTIONS,
    FIRST,
    INSERTION,
    INSERTION_STATE,
    LAST,
    MATCH,
    PairOptions,
    Scratch,
    clear_result,
    with_room_for,
)
from hapgpu.longread.align.parameters import AlignScoring, costs_of
from hapgpu.runtime.jit import njit, njit_inlined

_MIN_WIDTH: Final = 32
_WIDTH_FRACTION: Final = 16
"""The first band has at least this fraction of the longer sequence."""
_WIDTH_STEP: Final = 16
_MAX_WIDENING: Final = 4
_MIN_SAVING: Final = 2
"""A narrow band has fewer than this fraction of the cells of the matrix."""
_OTHER_MODES_OF_PATHS: Final = results.SCORE_ONLY | results.REVERSED_OPERATIONS | results.BACKWARDS


@njit
def align_pair(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    options: PairOptions,
    scoring: AlignScoring,
    scratch: Scratch,
    result: NDArray[np.int32],
    operations: NDArray[np.uint32],
    at: Integer,
) -> tuple[Scratch, NDArray[np.uint32], Integer]:
    """Align a pair as minimap2 2.30's `ksw_extd2_sse41`, with equal gap costs `ksw_extz2_sse41`.

    Parameters
    ----------
    query, target
        uint8: codes of bases, 0 to 4. If one is empty, the pair is not aligned, and neither if a
        mismatch costs more than twice the cost of a gap of one base.
    options
        Options.
    scoring
        Scores.
    scratch
        Memory.
    result
        int32[10]: set to the columns of `results`.
    operations
        uint32: BAM operations are written from `at` on, in the order of the bases.
    at
        Offset of the first operation.

    Returns
    -------
    scratch : Scratch
        Memory for the next pair.
    operations : uint32 array
        The same array, or a larger copy.
    end : int
        The offset after the last operation; `at` if the pair is not aligned.
    """
    clear_result(result)
    worst = max(scoring.mismatch, scoring.transition, scoring.ambiguous)
    if query.size == 0 or target.size == 0 or worst > 2 * (scoring.gap_open + scoring.gap_extend):
        return scratch, operations, at
    width = _first_width(query.size, target.size, options, scoring)
    is_filled = False
    while not is_filled:
        band = _band_of(query.size, target.size, options, width)
        scratch = with_room_for(scratch, query.size, target.size, max_directions(band))
        set_codes(query, target, options.modes, scratch)
        fill_matrix(band, scoring, options, scratch, result)
        is_filled = width == 0 or _is_certified(np.int64(result[results.SCORE]), band, scoring)
        if not is_filled:
            width = _next_width(np.int64(result[results.SCORE]), band, scoring, width)
    if options.modes & results.SCORE_ONLY:
        return scratch, operations, at
    i, j = end_cell(query.size, target.size, options, result)
    if i < 0 or j < 0:
        return scratch, operations, at
    operations = with_room(operations, at + i + j + 2)
    return scratch, operations, trace(scratch, i, j, options.modes, operations, at)


@njit
def _first_width(
    query_length: Integer, target_length: Integer, options: PairOptions, scoring: AlignScoring
) -> Integer:
    """Return the width of a first, narrow band; 0 for the band of the options."""
    longest = max(query_length, target_length)
    has_all_cells = options.bandwidth < 0 or options.bandwidth >= longest - 1
    is_path = options.modes & ~_OTHER_MODES_OF_PATHS == results.APPROXIMATE
    if has_all_cells and is_path and has_narrow_bands(costs_of(scoring)):
        width = max(_MIN_WIDTH, longest // _WIDTH_FRACTION)
        return _saving_width(query_length, target_length, width)
    return 0


@njit
def _saving_width(query_length: Integer, target_length: Integer, width: Integer) -> Integer:
    """Return the width of a narrow band; 0 if it saves little."""
    diagonals = abs(target_length - query_length) + 2 * width
    cells = (query_length + target_length) * diagonals // 2
    return width if _MIN_SAVING * cells < query_length * target_length else 0


@njit
def _band_of(
    query_length: Integer, target_length: Integer, options: PairOptions, width: Integer
) -> Band:
    """Return a narrow band; with a width of 0 the band of the options."""
    if width > 0:
        difference = target_length - query_length
        lowest, highest = min(0, difference) - width, max(0, difference) + width
        return Band(query_length, target_length, lowest, highest, leaks=False)
    longest = max(query_length, target_length)
    bandwidth = options.bandwidth if options.bandwidth >= 0 else longest
    leaks = bandwidth < longest - 1
    return Band(query_length, target_length, -bandwidth, bandwidth, bool(leaks))


@njit
def _is_certified(score: Integer, band: Band, scoring: AlignScoring) -> bool:
    lengths = band.target_length, band.query_length
    return bool(is_certified(score, *lengths, band.lowest, band.highest, costs_of(scoring)))


@njit
def _next_width(score: Integer, band: Band, scoring: AlignScoring, width: Integer) -> Integer:
    """Return the width of the next band, 0 for the whole matrix.

    A score certifies some wider band beforehand, because its score is as high or higher. Then that
    band is the next, but at most `_MAX_WIDENING` times as wide.
    """
    wider, widest = width, _MAX_WIDENING * width
    while wider < widest and not _is_certified(score, band, scoring):
        wider += _WIDTH_STEP
        lowest, highest = band.lowest - _WIDTH_STEP, band.highest + _WIDTH_STEP
        band = Band(band.query_length, band.target_length, lowest, highest, leaks=False)
    return _saving_width(band.query_length, band.target_length, wider)


_STATE = 7
_LENGTH_SHIFT = 4
_CODE = 15


@njit
def end_cell(
    query_length: Integer,
    target_length: Integer,
    options: PairOptions,
    result: NDArray[np.int32],
) -> tuple[Integer, Integer]:
    """Return the offsets on target and query at which the alignment ends; -1 without alignment.

    `result`, int32[10], gets `REACHES_END`.
    """
    if not result[results.DROPPED]:
        if options.modes & results.EXTENSION == 0:
            return target_length - 1, query_length - 1
        if result[results.QUERY_END_SCORE] + options.end_bonus > result[results.MAX_SCORE]:
            result[results.REACHES_END] = 1
            return np.int64(result[results.QUERY_END_TARGET]), query_length - 1
    return np.int64(result[results.MAX_TARGET]), np.int64(result[results.MAX_QUERY])


@njit
def trace(
    scratch: Scratch,
    i: Integer,
    j: Integer,
    modes: Integer,
    operations: NDArray[np.uint32],
    at: Integer,
) -> Integer:
    """Write the operations of the path that ends at target offset i and query offset j.

    Parameters
    ----------
    scratch
        Memory with the directions.
    i, j
        End cell, at least 0.
    modes
        `REVERSED_OPERATIONS` keeps the order of the traceback.
    operations
        uint32: room for i + j + 2 operations from `at` on.
    at
        Offset of the first operation.

    Returns
    -------
    int
        The offset after the last operation.
    """
    end, state = at, np.int64(0)
    directions = scratch.directions
    while i >= 0 and j >= 0:
        row = i + j
        if i < scratch.antidiagonals[row, FIRST]:
            state = np.int64(INSERTION_STATE)
        elif i > scratch.antidiagonals[row, LAST]:
            state = np.int64(DELETION_STATE)
        else:
            direction = np.int64(directions[scratch.antidiagonals[row, DIRECTIONS] + i])
            if state == 0 or not direction >> (state + 2) & 1:
                state = direction & _STATE
        if state == 0:
            end = _append(operations, at, end, MATCH, 1)
            i -= 1
            j -= 1
        elif state & 1:
            end = _append(operations, at, end, DELETION, 1)
            i -= 1
        else:
            end = _append(operations, at, end, INSERTION, 1)
            j -= 1
    if i >= 0:
        end = _append(operations, at, end, DELETION, i + 1)
    if j >= 0:
        end = _append(operations, at, end, INSERTION, j + 1)
    if modes & results.REVERSED_OPERATIONS == 0:
        _reverse(operations, at, end)
    return end


@njit_inlined
def _append(
    operations: NDArray[np.uint32], at: Integer, end: Integer, code: Integer, length: Integer
) -> Integer:
    """Add bases to the last operation if it is the same; return the offset after the last one."""
    if end > at and operations[end - 1] & _CODE == code:
        operations[end - 1] += np.uint32(length << _LENGTH_SHIFT)
        return end
    operations[end] = np.uint32(length << _LENGTH_SHIFT | code)
    return end + 1


@njit_inlined
def _reverse(operations: NDArray[np.uint32], at: Integer, end: Integer) -> None:
    for k in range((end - at) // 2):
        one, other = at + k, end - 1 - k
        operations[one], operations[other] = operations[other], operations[one]

"""Alignment of pairs of sequences, one by one: entry points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import with_room
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.antidiagonals import fill_matrix, set_codes
from hapgpu.chaining.align.dp.bands import Band, max_directions
from hapgpu.chaining.align.dp.scratch import Scratch, new_scratch, with_room_for
from hapgpu.chaining.align.dp.traceback import end_cell, trace
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.runtime.jit import njit


@njit
def clear_result(result: NDArray[np.int32]) -> None:
    """Set the result of a pair that is not aligned."""
    result[:] = -1
    result[results.SCORE] = results.NO_SCORE
    result[results.MAX_SCORE] = 0
    result[results.QUERY_END_SCORE] = results.NO_SCORE
    result[results.TARGET_END_SCORE] = results.NO_SCORE
    result[results.DROPPED] = 0
    result[results.REACHES_END] = 0


@njit
def align_pair(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    modes: Integer,
    bandwidth: Integer,
    zdrop: Integer,
    end_bonus: Integer,
    scoring: AlignScoring,
    scratch: Scratch,
    result: NDArray[np.int32],
    operations: NDArray[np.uint32],
    at: Integer,
) -> Any:
    """Align a pair as minimap2 2.30's `ksw_extd2_sse41`, with equal gap costs `ksw_extz2_sse41`.
    """
    clear_result(result)
    worst = max(scoring.mismatch, scoring.transition, scoring.ambiguous)
    if query.size == 0 or target.size == 0 or worst > 2 * (scoring.gap_open + scoring.gap_extend):
        return scratch, operations, at
    longest = max(query.size, target.size)
    if bandwidth < 0:
        bandwidth = longest
    band = Band(query.size, target.size, -bandwidth, bandwidth, bandwidth < longest - 1)
    scratch = with_room_for(scratch, query.size, target.size, max_directions(band))
    set_codes(query, target, modes, scratch)
    fill_matrix(band, scoring, modes, zdrop, scratch, result)
    if modes & results.SCORE_ONLY:
        return scratch, operations, at
    i, j = end_cell(query.size, target.size, modes, end_bonus, result)
    if i < 0 or j < 0:
        return scratch, operations, at
    operations = with_room(operations, at + i + j + 2)
    return scratch, operations, trace(scratch, i, j, modes, operations, at)

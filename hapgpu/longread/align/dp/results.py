"""Options, results and memory of the alignment of one pair (minimap2: `ksw_extz_t`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.runtime.jit import njit, njit_inlined

# Modes, added up to an integer.
SCORE_ONLY: Final = 1
"""No operations."""
RIGHT: Final = 2
"""Ties go to gaps, so that gaps lie as far right as possible; otherwise to matches, gaps left."""
APPROXIMATE: Final = 8
"""The score of the whole pair only, along one path; no best cell, no z-drop."""
APPROXIMATE_DROP: Final = 16
"""With `APPROXIMATE`: best cell and z-drop along that path."""
EXTENSION: Final = 64
"""The alignment may end anywhere: at the best cell, or at the query's end with the end bonus."""
REVERSED_OPERATIONS: Final = 128
"""The operations come in the order of the traceback, from the last one on."""
BACKWARDS: Final = 256
"""Both sequences are read from their last base on; offsets count from there."""

# Columns of a result.
SCORE: Final = 0
"""Score of the whole pair; `NO_SCORE` if the matrix was not finished."""
MAX_SCORE: Final = 1
"""Score of the best cell, at least 0."""
MAX_TARGET: Final = 2
MAX_QUERY: Final = 3
"""Offsets of the best cell; -1 if no cell has a score above 0."""
QUERY_END_SCORE: Final = 4
QUERY_END_TARGET: Final = 5
"""Best score at the last base of the query, and its offset on the target."""
TARGET_END_SCORE: Final = 6
TARGET_END_QUERY: Final = 7
"""Best score at the last base of the target, and its offset on the query."""
DROPPED: Final = 8
"""1 if the z-drop, or the end of the band, ended the alignment."""
REACHES_END: Final = 9
"""1 if an extension ends at the query's end."""
RESULT_COLUMNS: Final = 10

NO_SCORE: Final = -(2**30)

# States of a cell, in the low three bits of its direction byte; 0 is the diagonal. Bit 2 + state
# is set if the gap of that state goes on.
DELETION_STATE, INSERTION_STATE, LONG_DELETION_STATE, LONG_INSERTION_STATE = range(1, 5)

MATCH: Final = 0
INSERTION: Final = 1
DELETION: Final = 2
"""Codes of BAM operations: uint32 of length << 4 | code."""

LOCAL_COLUMNS: Final = 8
"""Columns of the query in a vector of minimap2's local alignment."""
MAX_LOCAL_SCORE: Final = 2**15 - 1


class PairOptions(NamedTuple):
    """Options for the alignment of a pair.

    Attributes
    ----------
    modes
        Sum of modes, such as `EXTENSION`.
    bandwidth
        Largest difference between the offsets on query and target; below 0, no limit.
    zdrop
        Largest drop of the score below the best one; below 0, no limit.
    end_bonus
        Added to the score of an extension that reaches the query's end.
    """

    modes: Integer = 0
    bandwidth: Integer = -1
    zdrop: Integer = -1
    end_bonus: Integer = -1


@njit
def clear_result(result: NDArray[np.int32]) -> None:
    """Set `result`, int32[10], of a pair that is not aligned."""
    for column in range(result.size):
        result[column] = -1
    result[SCORE] = NO_SCORE
    result[MAX_SCORE] = 0
    result[QUERY_END_SCORE] = NO_SCORE
    result[TARGET_END_SCORE] = NO_SCORE
    result[DROPPED] = 0
    result[REACHES_END] = 0


# Rows of `Scratch.lanes`: differences of scores, scores of the pairs of bases, codes.
U, V, X, Y, X2, Y2, PAIR_SCORES, TARGET, QUERY = range(9)
_LANE_ROWS: Final = 9
MARGIN: Final = 4 * LANES
"""Bytes before the first lane and after the last one, for vectors that overlap the ends."""

# Columns of `Scratch.antidiagonals`.
FIRST, LAST, DIRECTIONS = range(3)
_COLUMNS: Final = 3


class Scratch(NamedTuple):
    """Arrays of one thread.

    Attributes
    ----------
    lanes
        int8: nine rows of `row_size` bytes. Lane t is byte `MARGIN` + t of a row. The last row is
        the query from its last base on.
    antidiagonals
        int64[n, 3]: first and last lane of each antidiagonal, and the offset of its lane 0 in
        `directions`.
    scores
        int32: score of each lane.
    directions
        uint8: direction bytes, from the first to the last lane of each antidiagonal.
    """

    lanes: NDArray[np.int8]
    antidiagonals: NDArray[np.int64]
    scores: NDArray[np.int32]
    directions: NDArray[np.uint8]


@njit
def new_scratch() -> Scratch:
    """Return empty memory."""
    return Scratch(
        np.empty(0, dtype=np.int8),
        np.empty((0, _COLUMNS), dtype=np.int64),
        np.empty(0, dtype=np.int32),
        np.empty(0, dtype=np.uint8),
    )


@njit_inlined
def row_size(query_length: Integer, target_length: Integer) -> Integer:
    """Return the bytes of a row of lanes."""
    return max(query_length, target_length) + 2 * MARGIN


@njit
def with_room_for(
    scratch: Scratch, query_length: Integer, target_length: Integer, directions_size: Integer
) -> Scratch:
    """Return memory for a pair: the same, or larger arrays."""
    lanes, antidiagonals, scores, directions = scratch
    lanes_size = _LANE_ROWS * row_size(query_length, target_length)
    if lanes.size < lanes_size:
        lanes = np.empty(lanes_size, dtype=np.int8)
    if antidiagonals.shape[0] < query_length + target_length:
        antidiagonals = np.empty((query_length + target_length, _COLUMNS), dtype=np.int64)
    if scores.size < target_length + MARGIN:
        scores = np.empty(target_length + MARGIN, dtype=np.int32)
    if directions.size < directions_size:
        directions = np.empty(directions_size, dtype=np.uint8)
    return Scratch(lanes, antidiagonals, scores, directions)

"""Memory for the alignment of one pair, which grows as needed and serves pair after pair."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.runtime.jit import njit

# Rows of `Scratch.lanes`: differences of scores, scores of the pairs of bases, codes.
U, V, X, Y, X2, Y2, PAIR_SCORES, TARGET, QUERY = range(9)
_LANE_ROWS: Final = 9

# Columns of `Scratch.antidiagonals`.
FIRST, LAST, DIRECTIONS = range(3)
_COLUMNS: Final = 3


class Scratch(NamedTuple):
    """Arrays of one thread.

    Attributes
    ----------
    lanes
        int8: nine rows of `row_size` bytes. Lane t is byte `LANES` + t of a row, so that the vector
        before lane 0 can be loaded. The last row is the query from its last base on.
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


@njit
def row_size(query_length: Integer, target_length: Integer) -> Any:
    """Return the bytes of a row of lanes, with room for vectors that overlap its ends."""
    return max(query_length, target_length) + 4 * LANES


@njit
def with_lanes(scratch: Scratch, query_length: Integer, target_length: Integer) -> Scratch:
    """Return memory for a pair, but not for its directions."""
    lanes, antidiagonals, scores, directions = scratch
    needed = _LANE_ROWS * row_size(query_length, target_length)
    if lanes.size < needed:
        lanes = np.empty(needed, dtype=np.int8)
    if antidiagonals.shape[0] < query_length + target_length:
        antidiagonals = np.empty((query_length + target_length, _COLUMNS), dtype=np.int64)
    if scores.size < target_length:
        scores = np.empty(target_length, dtype=np.int32)
    return Scratch(lanes, antidiagonals, scores, directions)


@njit
def with_directions(scratch: Scratch, size: Integer) -> Scratch:
    """Return memory for directions too."""
    if scratch.directions.size >= size:
        return scratch
    directions = np.empty(size, dtype=np.uint8)
    return Scratch(scratch.lanes, scratch.antidiagonals, scratch.scores, directions)

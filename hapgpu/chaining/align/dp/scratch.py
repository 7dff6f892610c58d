"""Memory for the alignment of one pair, which grows as needed and serves pair after pair."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.runtime.jit import njit, njit_inlined

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
def row_size(query_length: Integer, target_length: Integer) -> Any:
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

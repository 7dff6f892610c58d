"""Buffers of a group of pairs, one pair per lane."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.scoring import AMBIGUOUS
from hapgpu.runtime.jit import njit


class Band(NamedTuple):
    """Cells of a group: `rows` target positions, `columns` diagonals from `max_diagonal` down.

    Column c of row i is query position i + c - max_diagonal, if the longest query, of
    `query_length`, has that position.
    """

    rows: Any
    columns: Any
    max_diagonal: Any
    query_length: Any


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
def lanes_for(band: Band, lanes: Lanes) -> Lanes:
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
def count_directions(band: Band) -> Any:
    """Return the number of direction bytes of a band."""
    return band.rows * band.columns * LANES


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

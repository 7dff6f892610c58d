"""Bands of a matrix: the lanes of each antidiagonal."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.dp.scratch import DIRECTIONS, FIRST, LAST
from hapgpu.runtime.jit import njit, njit_inlined

BLOCK = 16
"""Lanes that minimap2 computes together."""


class Band(NamedTuple):
    """Cells of a matrix to compute.

    Attributes
    ----------
    query_length, target_length
        Size of the matrix, in bases.
    lowest, highest
        Bounds of the differences, target offset minus query offset.
    leaks
        Cells outside of the band hold what minimap2's blocks compute there. Otherwise no path
        goes through them.
    """

    query_length: Integer
    target_length: Integer
    lowest: Integer
    highest: Integer
    leaks: bool


@njit_inlined
def lanes_of(band: Band, r: Integer) -> Any:
    """Return the first and the last lane in the band of antidiagonal r."""
    start, end = (r + band.lowest + 1) >> 1, (r + band.highest) >> 1
    start = max(start, r - band.query_length + 1, 0)
    end = min(end, r, band.target_length - 1)
    return start, end


@njit
def plan_antidiagonals(band: Band, antidiagonals: NDArray[np.int64]) -> Any:
    """Set the rows of `Scratch.antidiagonals`; return their number and the bytes of directions.

    Antidiagonals begin and end at multiples of `BLOCK` lanes.
    """
    size = 0
    for r in range(band.query_length + band.target_length - 1):
        start, end = lanes_of(band, r)
        if start > end:
            return r, size + LANES
        first, last = start & -BLOCK, end | (BLOCK - 1)
        antidiagonals[r, FIRST] = first
        antidiagonals[r, LAST] = last
        antidiagonals[r, DIRECTIONS] = size - first
        size += last + 1 - first
    return band.query_length + band.target_length - 1, size + LANES

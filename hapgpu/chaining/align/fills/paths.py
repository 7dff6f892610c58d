"""Paths of the pairs of a group, from their last cells back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.fills.lanes import CHOICE, INSERTION, LANES, LONG_INSERTION, Band
from hapgpu.runtime.jit import njit

_M, _I, _D = 0, 1, 2  # BAM operations


@njit
def trace_lane(
    directions: NDArray[np.uint8],
    band: Band,
    lane: Integer,
    target_length: Integer,
    query_length: Integer,
    operations: NDArray[np.uint32],
) -> Integer:
    """Write the BAM operations of a pair to the end of `operations`; return where they start.

    Parameters
    ----------
    directions
        uint8: direction bytes [row, column, lane] of a filled band.
    band
        The band.
    lane, target_length, query_length
        The pair.
    operations
        uint32[at least target_length + query_length].
    """
    diagonal_step = band.columns * LANES
    i, j = target_length - 1, query_length - 1
    at = (i * band.columns + band.max_diagonal - i + j) * LANES + lane
    start = operations.size
    operation, length, gap = _M, 0, 0
    while i >= 0 or j >= 0:
        step = 1
        if j < 0:
            next_operation, step = _D, i + 1
            i = -1
        elif i < 0:
            next_operation, step = _I, j + 1
            j = -1
        else:
            direction = directions[at]
            if gap == 0 or not direction >> (gap + 2) & 1:
                gap = direction & CHOICE
            if gap == 0:
                next_operation = _M
                longest = min(i, j) + 1
                at -= diagonal_step
                while step < longest and not directions[at] & CHOICE:
                    step += 1
                    at -= diagonal_step
                i -= step
                j -= step
            elif gap in (INSERTION, LONG_INSERTION):
                next_operation = _I
                j -= 1
                at -= LANES
            else:
                next_operation = _D
                i -= 1
                at -= diagonal_step - LANES
        if next_operation != operation and length > 0:
            start -= 1
            operations[start] = length << 4 | operation
            length = 0
        operation = next_operation
        length += step
    start -= 1
    operations[start] = length << 4 | operation
    return start

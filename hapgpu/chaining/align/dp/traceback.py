"""Traceback: directions of a matrix to operations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.results import (
    DELETION,
    DELETION_STATE,
    INSERTION,
    INSERTION_STATE,
    MATCH,
    PairOptions,
)
from hapgpu.chaining.align.dp.scratch import DIRECTIONS, FIRST, LAST, Scratch
from hapgpu.runtime.jit import njit, njit_inlined

_STATE = 7
_LENGTH_SHIFT = 4
_CODE = 15


@njit
def end_cell(
    query_length: Integer,
    target_length: Integer,
    options: PairOptions,
    result: NDArray[np.int32],
) -> Any:
    """Return the offsets on target and query at which the alignment ends; -1 without alignment."""
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
) -> Any:
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
) -> Any:
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

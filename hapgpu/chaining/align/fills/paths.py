"""Paths of the pairs of a group, from their last cells back.

No path to a cell of two equal bases has a higher score than the one over the cell before it on its
diagonal, and of equal scores a pair of bases is chosen. So equal bases need no look at the
directions, unless a gap goes on.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_64_at, load_u8_at
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.dp.results import (
    DELETION,
    INSERTION,
    INSERTION_STATE,
    LONG_INSERTION_STATE,
    MATCH,
)
from hapgpu.chaining.align.fills.buffers import Band
from hapgpu.chaining.align.scoring import AMBIGUOUS
from hapgpu.runtime.jit import njit

_STATE: Final = 7
_WORD: Final = 8
"""Codes compared at a time."""

_AMBIGUOUS_WORD: Final = np.uint64(AMBIGUOUS * 0x0101010101010101)


class Sequences(NamedTuple):
    """A pair: addresses of the codes (uint8) of its target and query, and their numbers."""

    target: Any
    query: Any
    target_length: Any
    query_length: Any


@njit
def trace_lane(
    directions: NDArray[np.uint8],
    band: Band,
    lane: Integer,
    sequences: Sequences,
    operations: NDArray[np.uint32],
) -> Integer:
    """Write the BAM operations of a pair to the end of `operations`; return where they start.

    Parameters
    ----------
    directions
        uint8: direction bytes [row, column, lane] of a filled band.
    band
        The band.
    lane, sequences
        The pair.
    operations
        uint32[at least target_length + query_length].
    """
    row_step, diagonal_step = (band.columns - 1) * LANES, band.columns * LANES
    i: Any
    j: Any
    i, j = sequences.target_length - 1, sequences.query_length - 1
    at: Any = directions.ctypes.data + lane
    at += i * diagonal_step + (band.max_diagonal - i + j) * LANES
    start: Integer = operations.size
    operation = MATCH
    gap: Integer = 0
    length: Integer = 0
    while i >= 0 and j >= 0:
        direction = load_u8_at(at)
        if gap == 0 or not direction >> (gap + 2) & 1:
            gap = direction & _STATE
        step: Any = 1
        if gap == 0:
            step = 1 + _equal_bases(sequences.target + i, sequences.query + j, min(i, j))
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


@njit
def _equal_bases(target: Integer, query: Integer, longest: Integer) -> Integer:
    """Return how many bases before two addresses are equal, none of them ambiguous."""
    count = 0
    while count + _WORD <= longest:
        word = np.uint64(load_64_at(target - count - _WORD))
        differing = word ^ np.uint64(load_64_at(query - count - _WORD))
        differing |= word & _AMBIGUOUS_WORD
        if differing:
            return count + np.int64(leading_zeros(differing) >> np.uint64(3))
        count += _WORD
    while count < longest:
        code = load_u8_at(target - count - 1)
        if code == AMBIGUOUS or code != load_u8_at(query - count - 1):
            break
        count += 1
    return count

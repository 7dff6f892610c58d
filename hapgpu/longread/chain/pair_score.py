"""Score of following an anchor in a chain, and the table of the anchors of one read."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.batches import SPAN_SHIFT
from hapgpu.runtime.jit import njit, njit_inlined

# Rows of the table: coordinates of an anchor, the best chain that ends there, and the anchor that
# marked it last.
TARGET, QUERY, SPAN, SCORE, PREDECESSOR, MARK, ROWS = range(7)

TILE: Final = 1 << 19
"""Most anchors of a read in a table, which then moves on along the read."""

NONE: Final = np.int32(-1)
"""Value for no predecessor and for no mark."""

_SPAN_BIT, _SPAN_MASK = np.uint64(SPAN_SHIFT), np.uint64(255)


@njit_inlined
def fill_table(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    start: Integer,
    scored: Integer,
    count: Integer,
    table: NDArray[np.int32],
) -> None:
    """Set columns `scored` to `count` of the table, whose column 0 is anchor `start`.

    Positions and spans are of the anchors; marks are `NONE`.

    Parameters
    ----------
    x, y
        uint64[a]: as in `Anchors`.
    start, scored, count
        The anchor of column 0, and the columns to set.
    table
        int32[ROWS, columns], a column per anchor.
    """
    for k in range(scored, count):
        table[TARGET, k] = np.int32(x[start + k])
        table[QUERY, k] = np.int32(y[start + k])
        table[SPAN, k] = np.int32(y[start + k] >> _SPAN_BIT & _SPAN_MASK)
        table[MARK, k] = NONE


@njit
def move_columns(table: NDArray[np.int32], first: Integer, end: Integer) -> None:
    """Move the columns from `first` to `end` to the front of the table; clear their marks.

    `table` is int32[ROWS, columns]. A predecessor before `first` is lost. It is not visited any
    more.
    """
    for row in range(MARK):
        for k in range(first, end):
            table[row, k - first] = table[row, k]
    for k in range(end - first):
        table[PREDECESSOR, k] = max(np.int64(table[PREDECESSOR, k]) - first, np.int64(NONE))
        table[MARK, k] = NONE


@njit
def grown_table(table: NDArray[np.int32], columns: Integer) -> NDArray[np.int32]:
    """Return int32[ROWS, columns]: a copy of `table`, int32[ROWS, fewer], with more columns."""
    grown = np.empty((ROWS, columns), dtype=np.int32)
    for row in range(ROWS):
        for k in range(table.shape[1]):
            grown[row, k] = table[row, k]
    return grown


@njit_inlined
def pair_score(
    table: NDArray[np.int32], penalties: NDArray[np.int32], i: Integer, j: Integer
) -> tuple[Integer, Integer, Integer, Integer]:
    """Return the score of the best chain over anchor j to anchor i, both steps, and the gap.

    The gap is the difference of the two steps; if it exceeds the bandwidth, the score is invalid.
    The function has no branches, so that a loop over j is vectorised.

    Parameters
    ----------
    table
        int32[ROWS, columns], a column per anchor.
    penalties
        int32[bandwidth + 1]: gap cost by difference of diagonals.
    i, j
        Columns; j has a score.
    """
    target_step = np.int32(table[TARGET, i] - table[TARGET, j])
    query_step = np.int32(table[QUERY, i] - table[QUERY, j])
    shift = np.int32(target_step - query_step)
    gap = np.uint32(-shift if shift < 0 else shift)
    widest = np.uint32(penalties.size - 1)
    cost = penalties[np.uint64(min(gap, widest))]
    step = min(target_step, query_step)
    gain = min(step, table[SPAN, j])
    score = np.int32(np.int32(table[SCORE, j] + gain) - cost)
    return score, target_step, query_step, gap

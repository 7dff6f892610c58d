"""Global alignment of one pair by the textbook recurrences (Gotoh 1982), in plain integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_FAR = -(1 << 28)
_GAPS = 4  # deletion, insertion, long deletion, long insertion


@njit
def plain_alignment(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int8],
    gap_costs: tuple[int, int, int, int],
) -> Any:
    """Return the score and the columns (0 a pair, 1 inserted, 2 deleted) of the best alignment.

    Of equal scores, the last column is a pair rather than a deletion, a deletion rather than an
    insertion, either rather than a long one; and a gap rather begins than goes on.
    """
    rows, columns = target.size + 1, query.size + 1
    best = np.full((rows, columns), _FAR)
    gaps = np.full((_GAPS, rows, columns), _FAR)
    goes_on = np.zeros((_GAPS, rows, columns), np.bool_)
    for i in range(rows):
        for j in range(columns):
            if i == 0 and j == 0:
                best[0, 0] = 0
                continue
            score = _FAR
            if i and j:
                score = best[i - 1, j - 1] + matrix[target[i - 1], query[j - 1]]
            for gap in range(_GAPS):
                before = (i - 1, j) if gap % 2 == 0 else (i, j - 1)
                if min(before) < 0:
                    continue
                extend, begin = gap_costs[gap // 2 * 2 + 1], gap_costs[gap // 2 * 2]
                begun = best[before] - begin
                longer = gaps[gap][before]
                goes_on[gap][before] = longer > begun
                gaps[gap, i, j] = max(begun, longer) - extend
                score = max(score, gaps[gap, i, j])
            best[i, j] = score
    return best[-1, -1], _columns(query, target, matrix, best, gaps, goes_on)


@njit
def _columns(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    matrix: NDArray[np.int8],
    best: NDArray[np.int64],
    gaps: NDArray[np.int64],
    goes_on: NDArray[np.bool_],
) -> Any:
    i, j = target.size, query.size
    columns = np.empty(i + j, np.int64)
    count = 0
    gap = -1
    while i or j:
        if gap < 0 or not goes_on[gap, i, j]:
            gap = -1
            is_pair = (
                i > 0
                and j > 0
                and best[i, j] == best[i - 1, j - 1] + matrix[target[i - 1], query[j - 1]]
            )
            if not is_pair:
                gap = 0
                while gaps[gap, i, j] != best[i, j]:
                    gap += 1
        columns[count] = 0 if gap < 0 else 2 - gap % 2
        count += 1
        i -= gap < 0 or gap % 2 == 0
        j -= gap < 0 or gap % 2 == 1
    return columns[:count][::-1].copy()

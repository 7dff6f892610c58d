"""Rank sums: whether values of ALT reads are lower or higher than values of REF reads."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.annotations.normal import normal_quantile
from hapgpu.calling.annotations.strand import ALTERNATE, REFERENCE
from hapgpu.runtime.jit import njit

MISSING: Final = -1
"""The value of a read without one."""

_MIN_NORMAL: Final = 10
"""With so many values on one side the normal approximation is used."""
_MAX_EXACT: Final = 2 * (_MIN_NORMAL - 1)
_MAX_RANK_SUM: Final = _MAX_EXACT * (_MAX_EXACT + 1)
"""Twice the sum of all ranks in an exact test."""


def rank_sums(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    sides: NDArray[np.int8],
    values: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return float64[v]: the z score of Mann and Whitney's test, negative if ALT values are lower.

    Parameters
    ----------
    rows
        int64[v] each: the first read of each record, and the end of its reads.
    sides
        int8[x]: `REFERENCE`, `ALTERNATE` or `NEITHER`.
    values
        int64[x], not negative, or `MISSING`.

    Returns
    -------
    NaN where one side has no values.
    """
    scores = np.empty(rows[0].size, dtype=np.float64)
    counts = np.zeros((2, int(values.max(initial=0)) + 1), dtype=np.int64)
    ways = np.empty((_MIN_NORMAL, _MAX_RANK_SUM + 1), dtype=np.int64)
    bounds = read_only(rows[0]), read_only(rows[1])
    _score(bounds, read_only(sides), read_only(values), counts, ways, scores)
    return scores


@njit
def _score(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    sides: NDArray[np.int8],
    values: NDArray[np.int64],
    counts: NDArray[np.int64],
    ways: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    """Count the values of each side in `counts`, which is zero before and after, and test them."""
    for row in range(scores.size):
        low, high = np.int64(counts.shape[1]), np.int64(-1)
        for x in range(rows[0][row], rows[1][row]):
            value = values[x]
            if value != MISSING and (sides[x] == REFERENCE or sides[x] == ALTERNATE):
                counts[sides[x], value] += 1
                low, high = min(low, value), max(high, value)
        scores[row] = _z_score(counts, low, high, ways)
        for value in range(low, high + 1):
            counts[REFERENCE, value] = 0
            counts[ALTERNATE, value] = 0


@njit
def _z_score(
    counts: NDArray[np.int64], low: Integer, high: Integer, ways: NDArray[np.int64]
) -> float:
    """Return the z score of counted values from `low` to `high`."""
    references, alternates = np.int64(0), np.int64(0)
    doubled, ties = np.int64(0), 0.0  # `doubled` is twice the sum of the ranks of ALT
    for value in range(low, high + 1):
        reference, alternate = counts[REFERENCE, value], counts[ALTERNATE, value]
        size = reference + alternate
        doubled += alternate * (2 * (references + alternates) + size + 1)
        references += reference
        alternates += alternate
        ties += float(size) * (float(size) * size - 1.0)
    if references == 0 or alternates == 0:
        return np.nan
    if references < _MIN_NORMAL and alternates < _MIN_NORMAL:
        return normal_quantile(_exact_p(counts, low, high, alternates, doubled, ways))
    total = float(references + alternates)
    if counts[REFERENCE, low] + counts[ALTERNATE, low] == total:
        ties = 0.0  # all values are equal: no correction, for a z of 0
    product = float(references) * alternates
    u = 0.5 * (doubled - alternates * (alternates + 1))
    variance = product / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)))
    correction = 0.5 if ties > 0.0 else 0.0
    return (u - 0.5 * product + correction) / math.sqrt(variance)


@njit
def _exact_p(
    counts: NDArray[np.int64],
    low: Integer,
    high: Integer,
    chosen: Integer,
    observed: Integer,
    ways: NDArray[np.int64],
) -> float:
    """Return the fraction of choices of `chosen` values with a lower rank sum than observed.

    Choices with the observed rank sum count half. `ways[k, s]` is the number of choices of k values
    with twice the rank sum s.
    """
    for k in range(chosen + 1):
        for doubled in range(_MAX_RANK_SUM + 1):
            ways[k, doubled] = 0
    ways[0, 0] = 1
    before = np.int64(0)
    for value in range(low, high + 1):
        size = counts[REFERENCE, value] + counts[ALTERNATE, value]
        rank = 2 * before + size + 1
        for _ in range(size):
            for k in range(chosen, 0, -1):
                for doubled in range(_MAX_RANK_SUM, rank - 1, -1):
                    ways[k, doubled] += ways[k - 1, doubled - rank]
        before += size
    total, lower = np.int64(0), np.int64(0)
    for doubled in range(_MAX_RANK_SUM + 1):
        total += ways[chosen, doubled]
        if doubled < observed:
            lower += ways[chosen, doubled]
    return float((lower + 0.5 * ways[chosen, observed]) / total)

"""Rank sum tests of read values: GATK's RankSumTest and MannWhitneyU."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.genotypes.evidence import ALTERNATE, REFERENCE
from hapgpu.runtime.jit import njit, njit_inlined

# Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23: error below 4.5e-4.
_C0, _C1, _C2 = 2.515517, 0.802853, 0.010328
_D1, _D2, _D3 = 1.432788, 0.189269, 0.001308
_STEPS: Final = 3
_SQRT_2: Final = math.sqrt(2.0)
_SQRT_2_PI: Final = math.sqrt(2.0 * math.pi)

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
    bounds = read_only(rows[0]), read_only(rows[1])
    _score(bounds, read_only(sides), read_only(values), _scratch(values), scores)
    return scores


def allele_rank_sums(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    allele_offsets: NDArray[np.int64],
    alleles: NDArray[np.int16],
    values: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return float64[a]: the z score of the values of each ALT against the values of REF.

    Parameters
    ----------
    rows
        int64[v] each: the first read of each record, and the end of its reads.
    allele_offsets
        int64[v + 1]: the alleles of record k are rows `allele_offsets[k]` (REF) to
        `allele_offsets[k + 1]`.
    alleles
        int16[x]: the number of the allele in the record that each read supports; `NEITHER`.
    values
        int64[x], not negative, or `MISSING`.

    Returns
    -------
    NaN where one side has no values. For REF 0, or NaN if it has no values.
    """
    scores = np.empty(int(allele_offsets[-1]), dtype=np.float64)
    bounds = read_only(rows[0]), read_only(rows[1])
    offsets, scratch = read_only(allele_offsets), _scratch(values)
    _score_alleles(bounds, offsets, read_only(alleles), read_only(values), scratch, scores)
    return scores


class _Scratch(NamedTuple):
    """Values of each side, counted, all zero between tests; and ways to choose ranks."""

    counts: NDArray[np.int64]
    ways: NDArray[np.int64]


def _scratch(values: NDArray[np.int64]) -> _Scratch:
    return _Scratch(
        np.zeros((2, int(values.max(initial=0)) + 1), dtype=np.int64),
        np.empty((_MIN_NORMAL, _MAX_RANK_SUM + 1), dtype=np.int64),
    )


@njit
def _score(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    sides: NDArray[np.int8],
    values: NDArray[np.int64],
    scratch: _Scratch,
    scores: NDArray[np.float64],
) -> None:
    for row in range(scores.size):
        bounds = rows[0][row], rows[1][row]
        scores[row], _ = _tested(bounds, sides, np.int64(ALTERNATE), values, scratch)


@njit
def _score_alleles(
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
    allele_offsets: NDArray[np.int64],
    alleles: NDArray[np.int16],
    values: NDArray[np.int64],
    scratch: _Scratch,
    scores: NDArray[np.float64],
) -> None:
    for row in range(rows[0].size):
        bounds = rows[0][row], rows[1][row]
        first, end = allele_offsets[row], allele_offsets[row + 1]
        has_reference = False
        for k in range(first + 1, end):
            scores[k], has_reference = _tested(bounds, alleles, k - first, values, scratch)
        scores[first] = 0.0 if has_reference else np.nan


@njit_inlined
def _tested(
    bounds: tuple[Integer, Integer],
    sides: NDArray[np.signedinteger],
    alternate: Integer,
    values: NDArray[np.int64],
    scratch: _Scratch,
) -> tuple[float, bool]:
    """Test the values of a side against the values of REF; tell also whether REF has values."""
    counts = scratch.counts
    low, high = np.int64(counts.shape[1]), np.int64(-1)
    has_reference = False
    for x in range(bounds[0], bounds[1]):
        value = values[x]
        is_reference = sides[x] == REFERENCE
        if value != MISSING and (is_reference or sides[x] == alternate):
            counts[REFERENCE if is_reference else ALTERNATE, value] += 1
            low, high = min(low, value), max(high, value)
            has_reference = has_reference or is_reference
    score = _z_score(counts, low, high, scratch.ways)
    for value in range(low, high + 1):
        counts[REFERENCE, value] = 0
        counts[ALTERNATE, value] = 0
    return score, has_reference


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


@njit
def normal_quantile(p: float) -> float:
    """Return the z below which a standard normal variable is with probability p, 0 < p < 1.

    A rational approximation is refined by Halley's method, to nearly double precision.
    """
    if p > 0.5:
        return -normal_quantile_of_lower_half(1.0 - p)
    return normal_quantile_of_lower_half(p)


@njit
def normal_quantile_of_lower_half(p: float) -> float:
    """Return the quantile of a p of at most 1/2."""
    if p == 0.5:
        return 0.0
    t = math.sqrt(-2.0 * math.log(p))
    fraction = (_C0 + t * (_C1 + t * _C2)) / (1.0 + t * (_D1 + t * (_D2 + t * _D3)))
    z = fraction - t
    for _ in range(_STEPS):
        error = 0.5 * math.erfc(-z / _SQRT_2) - p
        step = error * _SQRT_2_PI * math.exp(0.5 * z * z)
        z -= step / (1.0 + 0.5 * z * step)
    return z

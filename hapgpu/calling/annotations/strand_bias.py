"""Bias between strands: FS and SOR."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.genotypes.evidence import MIN_READS
from hapgpu.runtime.jit import njit

_MAX_TABLE: Final = 400
"""A table with more reads is scaled to `_SCALED_TABLE`."""
_SCALED_TABLE: Final = 200.0
_TOLERANCE: Final = 1.0 - 1e-6
"""Tables that are as likely as the observed one, but for rounding, are found by this factor."""
_MIN_P: Final = 1e-320
_LOG_FACTORIALS: Final = np.array([math.lgamma(k + 1.0) for k in range(_MAX_TABLE + 1)])


def strand_statistics(tables: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return FS and SOR, float64[v] each, of tables, int64[v, n, 4], of n samples.

    A table has the informative reads of REF, forward and reverse, and of all ALT alleles, forward
    and reverse. The tables of samples are added; FS leaves out samples with less than three reads.
    """
    counted = np.where(tables.sum(axis=2, keepdims=True) >= MIN_READS, tables, 0)
    fisher, odds = np.empty((2, tables.shape[0]), dtype=np.float64)
    _measure(counted.sum(axis=1), tables.sum(axis=1), fisher, odds)
    return fisher, odds


@njit
def _measure(
    fisher_tables: NDArray[np.int64],
    odds_tables: NDArray[np.int64],
    fisher: NDArray[np.float64],
    odds: NDArray[np.float64],
) -> None:
    for row in range(fisher.size):
        a, b = fisher_tables[row, 0], fisher_tables[row, 1]
        c, d = fisher_tables[row, 2], fisher_tables[row, 3]
        fisher[row] = abs(-10.0 * math.log10(max(fisher_p(a, b, c, d), _MIN_P)))
        a, b, c, d = (
            odds_tables[row, 0],
            odds_tables[row, 1],
            odds_tables[row, 2],
            odds_tables[row, 3],
        )
        odds[row] = odds_ratio(a, b, c, d)


@njit
def fisher_p(a: Integer, b: Integer, c: Integer, d: Integer) -> float:
    """Return the two-sided p-value of Fisher's exact test of the table a, b; c, d, as GATK does.

    Tables of more than 400 reads are scaled to 200, fractions cut off.
    """
    total = a + b + c + d
    if total > _MAX_TABLE:
        factor = total / _SCALED_TABLE
        a, b, c, d = (
            np.int64(a / factor),
            np.int64(b / factor),
            np.int64(c / factor),
            np.int64(d / factor),
        )
    low, high = -min(a, d), min(b, c)  # a may change by so much, the sums of rows and columns fixed
    if low == high:
        return 1.0
    constant = (
        _LOG_FACTORIALS[a + b]
        + _LOG_FACTORIALS[c + d]
        + _LOG_FACTORIALS[a + c]
        + _LOG_FACTORIALS[b + d]
        - _LOG_FACTORIALS[a + b + c + d]
    )
    limit = (constant - _log_cells(a, b, c, d, 0)) * _TOLERANCE
    p = 0.0
    for change in range(low, high + 1):
        log_p = constant - _log_cells(a, b, c, d, change)
        if log_p <= limit:
            p += math.exp(log_p)
    return min(p, 1.0)


@njit
def _log_cells(a: Integer, b: Integer, c: Integer, d: Integer, change: Integer) -> float:
    """Return the logarithm of the product of the factorials of the cells."""
    return float(
        _LOG_FACTORIALS[a + change]
        + _LOG_FACTORIALS[b - change]
        + _LOG_FACTORIALS[c - change]
        + _LOG_FACTORIALS[d + change]
    )


@njit
def odds_ratio(a: Integer, b: Integer, c: Integer, d: Integer) -> float:
    """Return SOR of the table a, b; c, d."""
    ra, rb, aa, ab = a + 1.0, b + 1.0, c + 1.0, d + 1.0
    ratio = ra / rb * (ab / aa) + rb / ra * (aa / ab)
    reference, alternate = min(ra, rb) / max(ra, rb), min(aa, ab) / max(aa, ab)
    return math.log(ratio) + math.log(reference) - math.log(alternate)

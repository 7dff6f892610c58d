"""Coefficients of the normalised recurrence, per row, from the qualities of the reads.

Let delta, zeta and epsilon be the probabilities of opening an insertion, opening a deletion and
continuing either, Q the probability of a wrong base, alpha = 1 - delta - zeta and
beta = 1 - epsilon. GATK's recurrences are divided by m_i, the product of g_k = alpha_k (1 - Q_k)
up to row i: M = m_i M', I = delta_i m_{i-1} I', D = zeta_i m_i D'. Then

    M'(i, j) = L (M' + a I' + c D')(i-1, j-1)        L = 1 for a match, else r
    I'(i, j) = M'(i-1, j) + b I'(i-1, j)
    D'(i, j) = M'(i, j-1) + e D'(i, j-1)

takes five operations per cell, and the likelihood is m_m times the sum of M' + w I' in the last
row m, w = delta_m / g_m. Row 0 has e = 1 and D' = 1 / n; row 1 has a = b = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.model import ANY_BASE, ERROR_PROBABILITIES
from hapgpu.runtime.jit import njit, njit_inlined

FIELDS = 6
A, B, C, E, R, LETTER = range(FIELDS)
"""Fields of a row; E is the e of the previous row."""

_LONG_GAPS = 0.5
"""Above this probability of continuing, gaps of hundreds of bases count; rounding errors of equal
sign add up along them, too many for float32."""

_MIN_FIELD = float(np.finfo(np.float32).tiny)

_SMALL_PRODUCT = 1e-200
"""Below this a product is added to the logarithm, before it becomes 0."""


class ReadArrays(NamedTuple):
    """The columns of `HmmReads`, read-only, and `offsets`, int64[n + 1], of their rows."""

    bases: NDArray[np.uint8]
    base_qualities: NDArray[np.uint8]
    insertion_qualities: NDArray[np.uint8]
    deletion_qualities: NDArray[np.uint8]
    gap_continuations: NDArray[np.uint8]
    offsets: NDArray[np.int64]


def read_arrays_of(reads: HmmReads) -> ReadArrays:
    """Return reads as an argument of compiled functions."""
    columns = (reads.bases.data, *reads.qualities, reads.bases.offsets)
    return ReadArrays(*(read_only(np.ascontiguousarray(column)) for column in columns))


class Coefficients(NamedTuple):
    """Coefficients of the rows and of the n reads.

    Attributes
    ----------
    rows
        float64[bases, FIELDS].
    insertion_weights, log10_matching
        float64[n]: w, and log10 m_m.
    growths
        float64[n]: bound of the growth of any M' or I' up to the final sum; infinite for a read
        that cannot be normalised.
    """

    rows: NDArray[np.float64]
    insertion_weights: NDArray[np.float64]
    log10_matching: NDArray[np.float64]
    growths: NDArray[np.float64]


def new_coefficients(reads: int, bases: int) -> Coefficients:
    """Allocate the coefficients of reads."""
    return Coefficients(np.empty((bases, FIELDS)), *(np.empty(reads) for _ in range(3)))


@njit_inlined
def letter_number(letter: int) -> float:
    """Return a number for a letter such that `x < y or x > y` means mismatch: N is NaN."""
    return np.nan if letter == ANY_BASE else float(letter)


@njit
def set_coefficients(reads: ReadArrays, first: int, last: int, coefficients: Coefficients) -> None:
    """Fill in the coefficients of reads `first` to `last`."""
    # Calls in the loop get no arrays: Numba would count references to them, atomically.
    bases, base_qualities, insertions, deletions, continuations, offsets = reads
    rows = coefficients.rows
    for read in range(first, last):
        start, end = offsets[read], offsets[read + 1]
        log10_matching, matching, g, is_normal = 0.0, 1.0, 1.0, True
        before = _Probabilities(0.0, 0.0, 0.0, 0.0)
        for k in range(start, end):
            here = _Probabilities(
                ERROR_PROBABILITIES[base_qualities[k]],
                ERROR_PROBABILITIES[insertions[k]],
                ERROR_PROBABILITIES[deletions[k]],
                ERROR_PROBABILITIES[continuations[k]],
            )
            row = _row_of(here, before, g, k == start)
            g, before = row.g, here
            is_normal = is_normal and row.fits
            rows[k, A], rows[k, B], rows[k, C] = row.a, row.b, row.c
            rows[k, E], rows[k, R] = row.e, row.r
            rows[k, LETTER] = letter_number(bases[k])
            matching *= g
            if matching < _SMALL_PRODUCT:
                log10_matching += np.log10(matching)
                matching = 1.0
        weight = before.insertion / g
        coefficients.insertion_weights[read] = weight
        coefficients.log10_matching[read] = log10_matching + np.log10(matching)
        coefficients.growths[read] = np.inf
        if is_normal:
            coefficients.growths[read] = _growth(rows, start, end, weight)


class _Probabilities(NamedTuple):
    """Probabilities of a wrong base, and of opening and continuing gaps at a base."""

    error: float
    insertion: float
    deletion: float
    continuation: float


class _Row(NamedTuple):
    """Fields of a row, its g, and whether float32 can hold the row."""

    a: float
    b: float
    c: float
    e: float
    r: float
    g: float
    fits: bool


@njit_inlined
def _row_of(
    here: _Probabilities,
    before: _Probabilities,
    previous_g: float,
    is_first: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
) -> _Row:
    """Return the row of a base, given the base before it; all 0 for a row without a g."""
    stay = 1.0 - (here.insertion + here.deletion)
    g = stay * (1.0 - here.error)
    if stay <= 0.0 or g <= 0.0:
        return _Row(0.0, 0.0, 0.0, 0.0, 0.0, 1.0, False)  # noqa: FBT003  (Numba: no keyword arguments)
    a, b, c, e = 0.0, 0.0, (1.0 - here.continuation) / stay, 1.0
    if not is_first:
        a = c * before.insertion / previous_g
        b = here.continuation * before.insertion / (here.insertion * previous_g)
        c *= before.deletion
        e = before.continuation
    r = here.error / (3.0 * (1.0 - here.error))
    return _Row(a, b, c, e, r, g, is_first or min(a, b, c, e, r) >= _MIN_FIELD)


@njit
def _growth(rows: NDArray[np.float64], start: int, end: int, insertion_weight: float) -> float:
    """Return a bound of the contribution to the sum of a unit of M' or I' of any row."""
    match, insertion = 1.0, insertion_weight
    growth = max(match, insertion)
    for k in range(end - 1, start, -1):
        through = match * max(1.0, rows[k, R])
        if rows[k, E] > _LONG_GAPS:
            return np.inf
        match = through * (1.0 + rows[k, C] / (1.0 - rows[k, E])) + insertion
        insertion = rows[k, A] * through + rows[k, B] * insertion
        growth = max(growth, match, insertion)
    return growth

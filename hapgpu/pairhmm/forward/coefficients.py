"""Coefficients of the normalised recurrence, per row, from the qualities of the reads.

Let delta, zeta and epsilon be the probabilities of opening an insertion, opening a deletion and
continuing either, Q the probability of a wrong base, alpha = 1 - delta - zeta and
beta = 1 - epsilon. GATK's recurrences are divided by m_i, the product of g_k = alpha_k (1 - Q_k)
up to row i: M = m_i M', I = delta_i m_{i-1} I', D = zeta_i m_i D'. Then

    M'(i, j) = L (M' + a I' + c D')(i-1, j-1)        L = 1 for a match, else r
    I'(i, j) = M'(i-1, j) + b I'(i-1, j)
    D'(i, j) = M'(i, j-1) + e D'(i, j-1)

takes four fused multiply-adds and a multiplication per cell, and the likelihood is m_m times the
sum of M' + w I' in the last row m, w = delta_m / g_m. Row 0 has e = 1 and D' = 1 / n; row 1 has
a = b = 0.

All are float32, except the product of g. `prepare_reads` in `cuda/pairhmm/prepare.cu` has the same
operations in the same order, so that each device computes the same bits.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.pairhmm.batches import HmmReads
from hapgpu.pairhmm.model import (
    ANY_BASE,
    ERROR_PROBABILITIES,
    FLOAT_LONGEST_READ,
    FLOAT_THRESHOLD,
    TRUSTED_GROWTH,
)
from hapgpu.runtime.jit import njit, njit_inlined

FIELDS = 6
A, B, C, E, R, LETTER = range(FIELDS)
"""Fields of a row; E is the e of the previous row."""

_LONG_GAPS: Final = np.float32(0.34)
"""Above this probability of continuing an insertion, too many rounding errors of equal sign add up
along it for float32; so they do along deletions above 1/2."""
_LONG_DELETIONS: Final = np.float32(0.5)

_MIN_FIELD: Final = np.float32(1e-37)
_MIN_PRODUCT: Final = 1e-200
"""Smallest product of g: times an accurate sum of a pair, it is no subnormal number."""

_LANES: Final = 32
"""Sums and products over rows: a part per lane of a warp, for every 32nd row; then the parts."""

_LETTERS: Final = tuple(b"ACGT")

_MORE_THAN_LOG2_E: Final = 1.442696
_LARGEST_EXPONENT: Final = 1000.0
_ZERO, _ONE, _TWO = (np.float32(value) for value in range(3))


def _mismatches() -> NDArray[np.float32]:
    """Return float32[256]: r of each base quality; infinite for 0, which cannot be normalised."""
    error, right = (
        each.astype(np.float32) for each in (ERROR_PROBABILITIES, 1.0 - ERROR_PROBABILITIES)
    )
    with np.errstate(divide="ignore"):
        return error / (np.float32(3.0) * right)


_MISMATCHES: Final = _mismatches()


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
        float32[bases * FIELDS]: the fields of each row.
    insertion_weights
        float32[n]: w.
    products
        float64[n]: m_m.
    thresholds
        float64[n]: the smallest sum that is accurate; infinite for a read whose pairs need float64.
    """

    rows: NDArray[np.float32]
    insertion_weights: NDArray[np.float32]
    products: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def new_coefficients(reads: int, bases: int) -> Coefficients:
    """Allocate the coefficients of reads."""
    return Coefficients(
        np.empty(bases * FIELDS, dtype=np.float32),
        np.empty(reads, dtype=np.float32),
        np.empty(reads),
        np.empty(reads),
    )


@njit_inlined
def letter_number(letter: int) -> float:
    """Return a number for a letter such that `x < y or x > y` means mismatch: N is NaN."""
    return np.nan if letter == ANY_BASE else float(letter)


@njit
def set_coefficients(reads: ReadArrays, first: int, last: int, coefficients: Coefficients) -> None:
    """Fill in the coefficients of reads `first` to `last`.

    The rows of a read without a finite threshold may be left as they are.
    """
    # Calls in the loop get no arrays: Numba would count references to them, atomically.
    bases, base_qualities, insertions, deletions, continuations, offsets = reads
    rows = coefficients.rows
    products = np.empty(_LANES)
    rises, openings = np.empty(_LANES, dtype=np.float32), np.empty(_LANES, dtype=np.float32)
    for read in range(first, last):
        start, end = offsets[read], offsets[read + 1]
        products[:], rises[:], openings[:] = 1.0, _ZERO, _ZERO
        is_regular = end - start <= FLOAT_LONGEST_READ
        before = _FIRST
        max_insertion, max_opening, max_extending = _ZERO, _ONE, _ZERO
        for k in range(start, end):
            if not is_regular:
                break
            row = _row_of(
                _Probabilities(
                    ERROR_PROBABILITIES[base_qualities[k]],
                    _MISMATCHES[base_qualities[k]],
                    ERROR_PROBABILITIES[insertions[k]],
                    ERROR_PROBABILITIES[deletions[k]],
                    ERROR_PROBABILITIES[continuations[k]],
                ),
                before,
                bases[k],
                k == start,
            )
            before = row.own
            is_regular = row.fits
            first_field = FIELDS * k
            rows[first_field + A], rows[first_field + B] = row.a, row.b
            rows[first_field + C], rows[first_field + E] = row.c, row.e
            rows[first_field + R] = row.r
            rows[first_field + LETTER] = np.float32(letter_number(bases[k]))
            lane = (k - start) % _LANES
            rise = max(_ONE, row.r)
            rises[lane] += rise - _ONE
            if k > start:
                rises[lane] += _TWO * row.c  # because e is at most 1/2
            openings[lane] += row.own.insertion
            max_insertion = max(max_insertion, row.own.insertion)
            max_opening = max(max_opening, rise * row.entering)
            max_extending = max(max_extending, row.extending)
            products[lane] *= row.g
        _join_lanes(products, rises, openings)
        coefficients.insertion_weights[read] = before.insertion
        coefficients.products[read] = products[0]
        coefficients.thresholds[read] = np.inf
        if is_regular and products[0] > _MIN_PRODUCT and max_extending <= _LONG_GAPS:
            growth = _growth(rises[0], openings[0], max_insertion, max_opening, max_extending)
            threshold = FLOAT_THRESHOLD * max(1.0, growth / TRUSTED_GROWTH)
            coefficients.thresholds[read] = threshold


class _Probabilities(NamedTuple):
    """Probabilities of a wrong base, and of opening and continuing gaps at a base; its r."""

    error: float
    mismatch: np.float32
    insertion: float
    deletion: float
    continuation: float


class _Own(NamedTuple):
    """Values of a row that the next row needs, float32: delta / g, zeta, e."""

    insertion: np.float32
    deletion: np.float32
    continuation: np.float32


_FIRST: Final = _Own(_ONE, _ZERO, _ZERO)


class _Row(NamedTuple):
    """Fields of a row, its g, its values for the bound of the growth, and whether float32 fits."""

    a: np.float32
    b: np.float32
    c: np.float32
    e: np.float32
    r: np.float32
    g: float
    own: _Own
    entering: np.float32
    extending: np.float32
    fits: bool


@njit_inlined
def _row_of(
    here: _Probabilities,
    before: _Own,
    base: int,
    is_first: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
) -> _Row:
    """Return the row of a base, given the base before it; all 0 for a row without a g."""
    stay = max(0.0, 1.0 - (here.insertion + here.deletion))
    g = stay * (1.0 - here.error)
    gain = np.float32(g)
    insertion, deletion = np.float32(here.insertion), np.float32(here.deletion)
    extend = np.float32(here.continuation)
    if gain <= _ZERO:
        none = _Own(_ZERO, deletion, extend)
        return _Row(_ZERO, _ZERO, _ZERO, _ZERO, _ZERO, 1.0, none, _ZERO, _ZERO, False)  # noqa: FBT003  (Numba: no keyword arguments)
    entering = (_ONE - extend) / np.float32(stay)
    own = _Own(insertion / gain, deletion, extend)
    extending = extend / insertion
    r = _ONE if base == ANY_BASE else here.mismatch
    a, b, c, e = _ZERO, _ZERO, entering, _ONE
    smallest = min(entering, r)
    if not is_first:
        a = entering * before.insertion
        b = extending * before.insertion
        c = entering * before.deletion
        e = before.continuation
        smallest = min(min(a, r), min(b, min(c, e)))  # noqa: PLW3301  (Numba compiles this faster)
    fits = bool(extend <= _LONG_DELETIONS and smallest >= _MIN_FIELD) and _has_mask(base)
    return _Row(a, b, c, e, r, g, own, entering, extending * own.insertion, fits)


@njit_inlined
def _has_mask(base: int) -> bool:
    """Tell whether a GPU compares a base of a read in float32: A, C, G, T or N."""
    return base == ANY_BASE or base in _LETTERS


@njit
def _join_lanes(
    products: NDArray[np.float64], rises: NDArray[np.float32], openings: NDArray[np.float32]
) -> None:
    """Join the parts of all lanes in the first one, as a warp does."""
    distance = _LANES // 2
    while distance:
        for lane in range(distance):
            products[lane] *= products[lane + distance]
            rises[lane] += rises[lane + distance]
            openings[lane] += openings[lane + distance]
        distance //= 2


@njit
def _growth(
    rises: np.float32,
    openings: np.float32,
    max_insertion: np.float32,
    max_opening: np.float32,
    max_extending: np.float32,
) -> float:
    """Return a bound of the contribution to the sum of a unit of M' or I' of any row.

    A unit of M' becomes at most the product over the rows below of
    r' (1 + c / (1 - e) + k delta / g), r' = max(1, r), where k bounds the contribution of a unit of
    I', in units of M'. The logarithm of a factor is at most the factor - 1.
    """
    worth = float(max_opening) / (1.0 - float(max_extending))
    exponent = (float(rises) + worth * float(openings)) * _MORE_THAN_LOG2_E
    if exponent > _LARGEST_EXPONENT:
        return np.inf
    whole = math.floor(exponent)
    power = math.ldexp(1.0 + (exponent - whole), int(whole))  # at least 2**exponent
    return power * max(1.0, worth * float(max_insertion))

"""Pair-HMM in float64 with an exponent per column, so that no likelihood is too small.

Let delta, zeta and epsilon be the probabilities of opening an insertion, opening a deletion and
continuing either, Q the probability of a wrong base, alpha = max(0, 1 - delta - zeta) and
beta = 1 - epsilon. With I = delta_i I' and D = zeta_i D', GATK's recurrences become

    M(i, j) = L (alpha_i M + a I' + c D')(i-1, j-1)  L = 1 - Q_i for a match, else Q_i / 3
    I'(i, j) = M(i-1, j) + b I'(i-1, j)              a = beta_i delta_{i-1}, c = beta_i zeta_{i-1}
    D'(i, j) = M(i, j-1) + e D'(i, j-1)              b = epsilon_i delta_{i-1} / delta_i

with e of the row of D', and the likelihood is the sum of M + delta_m I' in the last row m. Row 0
has e = 1 and D' = 1 / n; row 1 has a = b = 0 and c = beta_1. `double_lanes.py` and
`cuda/pairhmm/exact.cu` have the same operations in the same order: powers of 2 apart, all compute
the same numbers.

The values of a column are multiples of 2**(1000 e), and e is lowered when the larger falls below
2**-500. Before two are added, the one with the lower e is converted to the exponent of the other,
usually to 0; the loss is 2**-500 of a probability at the same cell.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView, row_of
from hapgpu.pairhmm.arithmetic import fma, log10_scaled
from hapgpu.pairhmm.forward.coefficients import ReadArrays
from hapgpu.pairhmm.model import ANY_BASE, ERROR_PROBABILITIES
from hapgpu.runtime.jit import njit, njit_inlined

_STEP: Final = 1000
_UP, _DOWN = 2.0**_STEP, 2.0**-_STEP
_MIN_PROBABILITY: Final = 2.0 ** (-_STEP // 2)
_ZERO_EXPONENT: Final = -(1 << 40)
"""The exponent of 0, below all others."""


class Columns(NamedTuple):
    """M and I' of the last filled row, for haplotypes of at most c bases.

    Attributes
    ----------
    matches, insertions
        float64[c]: multiples of 2**(1000 e).
    exponents
        int64[c]: e.
    """

    matches: NDArray[np.float64]
    insertions: NDArray[np.float64]
    exponents: NDArray[np.int64]


def new_columns(capacity: int) -> Columns:
    """Allocate for haplotypes of up to `capacity` bases."""
    return Columns(np.empty(capacity), np.empty(capacity), np.empty(capacity, dtype=np.int64))


class ExactRow(NamedTuple):
    """Coefficients of a row; e is the e of the previous row."""

    alpha: float
    a: float
    b: float
    c: float
    e: float
    matching: float
    differing: float


@njit_inlined
def exact_row(reads: ReadArrays, start: int, k: int) -> ExactRow:
    """Return the row of base `k`, of the read that starts at `start`."""
    error = ERROR_PROBABILITIES[reads.base_qualities[k]]
    insertion = ERROR_PROBABILITIES[reads.insertion_qualities[k]]
    extend = ERROR_PROBABILITIES[reads.gap_continuations[k]]
    stay = 1.0 - (insertion + ERROR_PROBABILITIES[reads.deletion_qualities[k]])
    close = 1.0 - extend
    a, b, c, e = 0.0, 0.0, close, 1.0
    if k > start:
        before = ERROR_PROBABILITIES[reads.insertion_qualities[k - 1]]
        a = close * before
        b = extend * (before / insertion)
        c = close * ERROR_PROBABILITIES[reads.deletion_qualities[k - 1]]
        e = ERROR_PROBABILITIES[reads.gap_continuations[k - 1]]
    matching = 1.0 - error
    differing = matching if reads.bases[k] == ANY_BASE else error / 3.0
    return ExactRow(max(stay, 0.0), a, b, c, e, matching, differing)


@njit
def exact_likelihoods(
    reads: ReadArrays,
    haplotypes: RaggedView,
    pair_reads: NDArray[np.int64],
    pair_haplotypes: NDArray[np.int64],
    columns: Columns,
) -> NDArray[np.float64]:
    """Return float64[n]: log10 likelihoods of pairs, given as rows of reads and haplotypes.

    Parameters
    ----------
    reads
        The reads.
    haplotypes
        uint8 text.
    pair_reads, pair_haplotypes
        int64[n]: the pairs.
    columns
        Work space for the longest haplotype.
    """
    likelihoods = np.empty(pair_reads.shape[0])
    for pair in range(pair_reads.shape[0]):
        start, end = reads.offsets[pair_reads[pair]], reads.offsets[pair_reads[pair] + 1]
        haplotype = row_of(haplotypes, pair_haplotypes[pair])
        for j in range(haplotype.shape[0]):
            columns.matches[j] = 0.0
            columns.insertions[j] = 0.0
            columns.exponents[j] = _ZERO_EXPONENT
        for k in range(start, end):
            _fill_row(exact_row(reads, start, k), reads.bases[k], k == start, haplotype, columns)
        weight = ERROR_PROBABILITIES[reads.insertion_qualities[end - 1]]
        likelihoods[pair] = _log10_sum(columns, haplotype.shape[0], weight)
    return likelihoods


@njit
def _fill_row(
    row: ExactRow,
    base: int,
    is_first: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    haplotype: NDArray[np.uint8],
    columns: Columns,
) -> None:
    """Replace the row above by the row of a base.

    Two values are carried from column to column: D' of the previous row, and the sum from which
    the next M is computed.
    """
    deletion, carried_exponent = 0.0, _ZERO_EXPONENT
    if is_first:
        deletion, carried_exponent = 1.0 / haplotype.shape[0], 0
    diagonal = row.c * deletion
    for j in range(haplotype.shape[0]):
        letter = haplotype[j]
        agrees = (letter == base) | (letter == ANY_BASE)
        above, above_insertion = columns.matches[j], columns.insertions[j]
        above_exponent, exponent = columns.exponents[j], carried_exponent
        match = diagonal * (row.matching if agrees else row.differing)
        insertion = fma(row.b, above_insertion, above)
        if exponent != above_exponent:
            match_shift, shift, exponent = _to_common_exponent(exponent, above_exponent)
            match *= match_shift
            insertion *= shift
            above *= shift
            above_insertion *= shift
            deletion *= match_shift
            carried_exponent = exponent
        diagonal = fma(row.alpha, above, fma(row.a, above_insertion, row.c * deletion))
        deletion = fma(row.e, deletion, above)
        if diagonal < _MIN_PROBABILITY and deletion < _MIN_PROBABILITY:
            shift, carried_exponent = _raised(diagonal + deletion, carried_exponent)
            diagonal *= shift
            deletion *= shift
        if match < _MIN_PROBABILITY and insertion < _MIN_PROBABILITY:
            shift, exponent = _raised(match + insertion, exponent)
            match *= shift
            insertion *= shift
        columns.matches[j] = match
        columns.insertions[j] = insertion
        columns.exponents[j] = exponent


@njit
def _to_common_exponent(first: int, second: int) -> tuple[float, float, int]:
    """Return the factors that bring two numbers to a common exponent, and this exponent."""
    if first > second:
        return 1.0, _DOWN if first == second + 1 else 0.0, first
    return _DOWN if second == first + 1 else 0.0, 1.0, second


@njit
def _raised(total: float, exponent: int) -> tuple[float, int]:
    """Return the factor that raises small probabilities, and their new exponent."""
    if total == 0.0:
        return 0.0, _ZERO_EXPONENT
    return _UP, exponent - 1


@njit
def _log10_sum(columns: Columns, size: int, weight: float) -> float:
    exponent = _ZERO_EXPONENT
    for j in range(size):
        exponent = max(exponent, columns.exponents[j])
    if exponent == _ZERO_EXPONENT:
        return -np.inf
    total = 0.0
    for j in range(size):
        if columns.exponents[j] >= exponent - 1:
            shift = 1.0 if columns.exponents[j] == exponent else _DOWN
            total += shift * fma(weight, columns.insertions[j], columns.matches[j])
    return log10_scaled(total, _STEP * exponent)

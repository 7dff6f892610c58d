"""Pair-HMM in float64 with an exponent per column, so that no likelihood is too small.

GATK's recurrence, one pair at a time, for pairs that the normalised recurrence cannot compute.
The probabilities of a column are multiples of 2**(1000 e), and e is lowered when the larger falls
below 2**-500. Before two are added, the one with the lower e is converted to the exponent of the
other, usually to 0; the loss is 2**-500 of a probability at the same cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView, row_of
from hapgpu.pairhmm.forward.coefficients import ReadArrays
from hapgpu.pairhmm.model import ANY_BASE, ERROR_PROBABILITIES
from hapgpu.runtime.jit import njit

_STEP = 1000
_UP, _DOWN = 2.0**_STEP, 2.0**-_STEP
_MIN_PROBABILITY = 2.0 ** (-_STEP // 2)
_LOG10_STEP = _STEP * np.log10(2.0)
_ZERO_EXPONENT = -(1 << 40)
"""The exponent of 0, below all others."""


class Columns(NamedTuple):
    """M and I of the last filled row, as multiples of 2**(1000 `exponents`); all [capacity]."""

    matches: NDArray[np.float64]
    insertions: NDArray[np.float64]
    exponents: NDArray[np.int64]


def new_columns(capacity: int) -> Columns:
    """Allocate for haplotypes of up to `capacity` bases."""
    return Columns(np.empty(capacity), np.empty(capacity), np.empty(capacity, dtype=np.int64))


@njit
def exact_likelihoods(
    reads: ReadArrays,
    haplotypes: RaggedView,
    pair_reads: NDArray[np.int64],
    pair_haplotypes: NDArray[np.int64],
    columns: Columns,
) -> NDArray[np.float64]:
    """Return log10 likelihoods, float64[n], of pairs given as rows of reads and haplotypes."""
    likelihoods = np.empty(pair_reads.shape[0])
    for pair in range(pair_reads.shape[0]):
        start, end = reads.offsets[pair_reads[pair]], reads.offsets[pair_reads[pair] + 1]
        haplotype = row_of(haplotypes, pair_haplotypes[pair])
        for j in range(haplotype.shape[0]):
            columns.matches[j] = 0.0
            columns.insertions[j] = 0.0
            columns.exponents[j] = _ZERO_EXPONENT
        for k in range(start, end):
            _fill_row(reads, start, k, haplotype, columns)
        likelihoods[pair] = _log10_sum(columns, haplotype.shape[0])
    return likelihoods


@njit
def _fill_row(
    reads: ReadArrays, start: int, k: int, haplotype: NDArray[np.uint8], columns: Columns
) -> None:
    """Replace the row before base `k`, of the read that starts at `start`, by the row of `k`.

    Two values are carried from column to column: D of the previous row, and the sum from which
    the next M is computed.
    """
    base = reads.bases[k]
    error = ERROR_PROBABILITIES[reads.base_qualities[k]]
    matching, differing = 1.0 - error, error / 3.0
    if base == ANY_BASE:
        differing = matching
    insertion_open = ERROR_PROBABILITIES[reads.insertion_qualities[k]]
    extend = ERROR_PROBABILITIES[reads.gap_continuations[k]]
    close = 1.0 - extend
    stay = 1.0 - (insertion_open + ERROR_PROBABILITIES[reads.deletion_qualities[k]])
    stay = max(stay, 0.0)
    deletion_open, deletion_extend = 0.0, 1.0
    deletion, carried_exponent = 1.0 / haplotype.shape[0], 0
    if k > start:
        deletion_open = ERROR_PROBABILITIES[reads.deletion_qualities[k - 1]]
        deletion_extend = ERROR_PROBABILITIES[reads.gap_continuations[k - 1]]
        deletion, carried_exponent = 0.0, _ZERO_EXPONENT
    diagonal = close * deletion
    for j in range(haplotype.shape[0]):
        letter = haplotype[j]
        agrees = (letter == base) | (letter == ANY_BASE)
        above, above_insertion = columns.matches[j], columns.insertions[j]
        above_exponent, exponent = columns.exponents[j], carried_exponent
        match = diagonal * (matching if agrees else differing)
        insertion = insertion_open * above + extend * above_insertion
        if exponent != above_exponent:
            match_shift, shift, exponent = _to_common_exponent(exponent, above_exponent)
            match *= match_shift
            insertion *= shift
            above *= shift
            above_insertion *= shift
            deletion *= match_shift
            carried_exponent = exponent
        diagonal = stay * above + close * (above_insertion + deletion)
        deletion = deletion_open * above + deletion_extend * deletion
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
def _log10_sum(columns: Columns, size: int) -> float:
    exponent = _ZERO_EXPONENT
    for j in range(size):
        exponent = max(exponent, columns.exponents[j])
    if exponent == _ZERO_EXPONENT:
        return -np.inf
    total = 0.0
    for j in range(size):
        if columns.exponents[j] >= exponent - 1:
            shift = 1.0 if columns.exponents[j] == exponent else _DOWN
            total += shift * (columns.matches[j] + columns.insertions[j])
    return float(np.log10(total) + exponent * _LOG10_STEP)

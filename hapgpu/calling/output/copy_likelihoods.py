"""Likelihoods of the copies of ALT at positions without a variant: tables, and PL of their sums."""

from __future__ import annotations

import math
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.regions.pileup import log10_sum
from hapgpu.runtime.jit import njit

MIN_QUALITY: Final = 6
"""Bases count above this quality."""
DIFFERENT: Final = 256
"""Row of the table of elements: the first of a base that differs from REF."""
_DIFFERENT_READ: Final = 2.0**26
"""Depth of an element that differs from REF, less 1: sums of both depths stay exact."""
_MAX_INFORMATIVE: Final = 40
"""Reads without a plausible insertion or deletion, at most."""
_INDEL_ERROR: Final = -4.5
"""log10 of the probability of a wrong insertion or deletion."""


class Sums(NamedTuple):
    """Sums of p positions.

    Attributes
    ----------
    elements
        float64[p, ploidy + 2]: rows of `element_table`.
    informative
        int32[p]: reads that are informative of insertions and deletions.
    """

    elements: NDArray[np.float64]
    informative: NDArray[np.int32]


@cache
def element_table(ploidy: int) -> NDArray[np.float64]:
    """Return float64[512, ploidy + 2]: likelihoods of 0 to `ploidy` copies of ALT, and the depth.

    Row `quality` is of a base equal to REF, row `256 + quality` of another one, whose depth also
    has `_DIFFERENT_READ`; rows of bases that do not count are 0.
    """
    table = np.zeros((2 * DIFFERENT, ploidy + 2))
    for quality in range(MIN_QUALITY + 1, DIFFERENT):
        correct = float(np.log10(1.0 - 10.0 ** (-quality / 10.0)))
        # An error makes each of the three other bases with a third of its probability.
        error = -quality / 10.0 - float(np.log10(3.0))
        likelihoods = _likelihoods_of_copies(correct, error, ploidy)
        table[quality] = *likelihoods, 1.0
        table[DIFFERENT + quality] = *likelihoods[::-1], 1.0 + _DIFFERENT_READ
    return read_only(table)


@cache
def indel_table(ploidy: int) -> NDArray[np.float64]:
    """Return float64[41, ploidy + 1]: likelihoods by the number of informative reads."""
    correct = math.log10(1.0 - 10.0**_INDEL_ERROR)
    counts = np.arange(_MAX_INFORMATIVE + 1)
    return read_only(np.outer(counts, _likelihoods_of_copies(correct, _INDEL_ERROR, ploidy)))


def _likelihoods_of_copies(reference: float, alternate: float, ploidy: int) -> list[float]:
    """Return the log10 likelihoods of 0 to `ploidy` copies of ALT, given those of both alleles."""
    mixed = [
        log10_sum(reference + math.log10(ploidy - copies), alternate + math.log10(copies))
        - math.log10(ploidy)
        for copies in range(1, ploidy)
    ]
    return [reference, *mixed, alternate]


@njit
def put_confidence(
    sums: Sums,
    table: NDArray[np.float64],
    depths: NDArray[np.int32],
    alternate_depths: NDArray[np.int32],
    phreds: NDArray[np.int32],
) -> None:
    """Write depths, and the likelihoods that are less confident of REF.

    Parameters
    ----------
    sums
        Of p positions.
    table
        float64[41, ploidy + 1]: `indel_table`.
    depths, alternate_depths
        int32[p]: written, DP and its part that differs from REF.
    phreds
        int32[p, ploidy]: written, PL of 1 to `ploidy` copies of ALT.
    """
    ploidy = phreds.shape[1]
    for at in range(depths.size):
        best = sums.elements[at, 0]
        count = min(np.int64(sums.informative[at]), np.int64(_MAX_INFORMATIVE))
        next_base, next_indel = -np.inf, -np.inf
        for copies in range(1, ploidy + 1):
            next_base = max(next_base, min(sums.elements[at, copies], best))
            next_indel = max(next_indel, table[count, copies])
        is_indel = table[count, 0] - next_indel < best - next_base
        if is_indel:
            best = table[count, 0]
        for copies in range(1, ploidy + 1):
            other = table[count, copies] if is_indel else min(sums.elements[at, copies], best)
            phreds[at, copies - 1] = np.int32(math.floor(-10.0 * (other - best) + 0.5))
        total = sums.elements[at, ploidy + 1]
        different = math.floor(total / _DIFFERENT_READ)
        alternate_depths[at] = np.int32(different)
        depths[at] = np.int32(total - different * _DIFFERENT_READ)

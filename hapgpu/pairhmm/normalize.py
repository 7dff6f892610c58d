"""Limits of GATK on likelihoods: values far below the best, reads that no haplotype explains."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit, njit_inlined

WORST_DIFFERENCE: Final = -4.5
"""log10 of GATK's global rate of mismapped reads, Phred 45."""

ERRORS_PER_BASE: Final = 0.02
MAX_ERRORS: Final = 2.0
LOG10_OF_ERROR: Final = -4.0


def normalized(
    likelihoods: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Raise likelihoods that are far below the best likelihood of the read, as GATK does.

    Parameters
    ----------
    likelihoods
        float64[sum of counts], log10, read by read.
    counts
        int64[n], at least 1: the number of haplotypes of each read.

    Returns
    -------
    float64[sum of counts], none more than 4.5 below the best of its read; and float64[n], the
    best of each read.
    """
    best: NDArray[np.float64] = np.empty(0)
    if counts.size:
        best = np.maximum.reduceat(likelihoods, np.cumsum(counts) - counts)
    return np.maximum(likelihoods, np.repeat(best + WORST_DIFFERENCE, counts)), best


def is_well_modelled(best: NDArray[np.float64], lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which reads have a haplotype that explains them, see `explains`.

    Parameters
    ----------
    best
        float64[n], the best log10 likelihood of each read.
    lengths
        int64[n], bases of each read.

    Returns
    -------
    bool[n].
    """
    well = np.empty(best.size, dtype=np.bool_)
    _explain(read_only(best), read_only(lengths), well)
    return well


@njit
def _explain(best: NDArray[np.float64], lengths: NDArray[np.int64], out: NDArray[np.bool_]) -> None:
    for row in range(out.size):
        out[row] = explains(best[row], lengths[row])


@njit_inlined
def explains(best: float, length: Integer) -> bool:
    """Return whether a haplotype explains a read; GATK excludes other reads.

    A read may have one error of probability 1e-4 per 50 bases or fraction of 50, at most two.

    Parameters
    ----------
    best
        The best log10 likelihood of the read.
    length
        Its number of bases.
    """
    errors = min(MAX_ERRORS, math.ceil(length * ERRORS_PER_BASE))
    return bool(best >= LOG10_OF_ERROR * errors)

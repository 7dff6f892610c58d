"""The best haplotype of each read, as in GATK's AlleleLikelihoods.searchBestAllele."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.runtime.jit import njit, njit_inlined

CLEARLY_BETTER: Final = 0.2
"""GATK's LOG_10_INFORMATIVE_THRESHOLD."""


class _Best(NamedTuple):
    """The result, a value per read."""

    haplotypes: NDArray[np.int64]
    is_informative: NDArray[np.bool_]


def best_haplotypes(
    likelihoods: Ragged, regions: NDArray[np.int64], haplotypes: RegionHaplotypes
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Choose the haplotype to which each read is realigned.

    It has the highest likelihood. If the next is less than 0.2 below, the one with the highest
    priority among those at most 0.2 below: the reference before others, then the fewest CIGAR
    elements. Ties: the one with the highest likelihood, then the first.

    Parameters
    ----------
    likelihoods
        float64 log10, m rows: a value per haplotype of the active region of the read.
    regions
        int64[m]: the active region of each read.
    haplotypes
        The haplotypes.

    Returns
    -------
    int64[m], counted within the active region; and bool[m]: whether it is more than 0.2 above the
    next.
    """
    priorities = haplotypes.is_reference + 1 - haplotypes.cigars.lengths
    best = _Best(np.empty(regions.size, np.int64), np.empty(regions.size, np.bool_))
    _choose(
        view_of(likelihoods),
        read_only(haplotypes.offsets[regions]),
        read_only(priorities),
        best,
    )
    return best


@njit
def _choose(
    likelihoods: RaggedView,
    first_haplotypes: NDArray[np.int64],
    priorities: NDArray[np.int64],
    out: _Best,
) -> None:
    for read in range(first_haplotypes.size):
        start, end = likelihoods.offsets[read], likelihoods.offsets[read + 1]
        best, second = start, -np.inf
        for k in range(start + 1, end):
            value = likelihoods.data[k]
            if value > likelihoods.data[best]:
                second = likelihoods.data[best]
                best = k
            else:
                second = max(second, value)
        difference = likelihoods.data[best] - second
        out.is_informative[read] = difference > CLEARLY_BETTER
        if difference < CLEARLY_BETTER:
            shift = first_haplotypes[read] - start
            best = _by_priority(likelihoods.data, start, end, best, priorities, shift)
        out.haplotypes[read] = best - start


@njit_inlined
def _by_priority(
    likelihoods: NDArray[np.float64],
    start: Integer,
    end: Integer,
    highest: Integer,
    priorities: NDArray[np.int64],
    shift: Integer,
) -> Integer:
    """Return the first with the highest priority of those near the highest likelihood."""
    best = highest
    for k in range(start, end):
        is_near = likelihoods[highest] - likelihoods[k] <= CLEARLY_BETTER
        if is_near and priorities[shift + k] > priorities[shift + best]:
            best = k
    return best

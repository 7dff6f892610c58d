"""Band-pass filter of activity: probabilities of loci, spread to the positions around them."""

from __future__ import annotations

from math import exp, fsum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit

MAX_PROPAGATION: Final = 50
"""Positions on both sides of a locus that a soft-clip locus reaches without the filter, and the
longest wing of a kernel."""

_DEVIATION: Final = 17.0
_MIN_WEIGHT: Final = 1e-5


def gaussian_kernel(
    deviation: float = _DEVIATION, max_wing: int = MAX_PROPAGATION
) -> NDArray[np.float64]:
    """Return float64[2 * wing + 1]: weights at -wing to wing, whose sum is 1.

    The wing is as long as the weights, normalised with the longest wing, are at least 1e-5.
    """
    kernel = _kernel(deviation, max_wing)
    wing = max_wing
    while wing > 0 and kernel[max_wing - wing] < _MIN_WEIGHT:
        wing -= 1
    return _kernel(deviation, wing)


def _kernel(deviation: float, wing: int) -> NDArray[np.float64]:
    weights = [exp(-(d**2) / (2.0 * deviation**2)) for d in range(-wing, wing + 1)]
    return np.array(weights) / fsum(weights)


def soft_clip_counts(
    clip_reads: NDArray[np.int32],
    clip_bases: NDArray[np.int64],
    start: int,
    contig_length: int,
    *,
    max_clip: int,
) -> NDArray[np.int64]:
    """Return int64[p]: how often each locus adds its probability; 1 for most.

    A soft-clip locus, with more than 6 bases of high quality per clipped read on average, adds it
    once per position within that number of bases (at most `max_clip`) that is on the contig. GATK's
    filter puts all of them on the locus itself.

    Parameters
    ----------
    clip_reads, clip_bases
        Of `Pileup`.
    start
        Position of the first locus.
    contig_length
        Bases of the contig.
    max_clip
        Bases of a soft clip that count, at most.
    """
    counts = np.ones(clip_reads.size, dtype=np.int64)
    loci = np.flatnonzero(clip_bases > 6 * clip_reads.astype(np.int64))
    reach = np.minimum(clip_bases[loci] // clip_reads[loci], max_clip)
    first = np.maximum(start + loci - reach, 0)
    last = np.minimum(start + loci + reach, contig_length - 1)
    counts[loci] = last - first + 1
    return counts


def band_pass(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return float64[p]: the states, sums of the weighted probabilities of the loci around.

    Parameters
    ----------
    probabilities
        float64[p] of consecutive loci.
    counts
        int64[p]: how often each is added.
    kernel
        float64[2 * wing + 1].
    """
    states = np.zeros(probabilities.size, dtype=np.float64)
    _add_all(read_only(probabilities), read_only(counts), read_only(kernel), states)
    return states


@njit
def _add_all(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    states: NDArray[np.float64],
) -> None:
    # A state is the same in every window: its loci are added in ascending order.
    wing = kernel.size // 2
    for locus in range(probabilities.size):
        probability = probabilities[locus]
        if probability > 0.0:
            left, right = max(locus - wing, 0), min(locus + wing + 1, states.size)
            for _ in range(counts[locus]):
                for at in range(left, right):
                    states[at] += probability * kernel[at - locus + wing]


@njit
def state_without(
    probabilities: NDArray[np.float64],
    counts: NDArray[np.int64],
    kernel: NDArray[np.float64],
    position: int,
    last: int,
) -> float:
    """Return the state of a position as it is before the loci from `last` on are added."""
    wing = kernel.size // 2
    state = 0.0
    for locus in range(max(position - wing, 0), min(last, probabilities.size)):
        probability = probabilities[locus]
        if probability > 0.0:
            for _ in range(counts[locus]):
                state += probability * kernel[position - locus + wing]
    return state

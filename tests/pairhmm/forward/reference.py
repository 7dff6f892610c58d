"""Reference implementation of GATK's pair-HMM.

The forward algorithm of LoglessPairHMM of GATK 4, in float64, scaled by 2**1020: the lowest log10
likelihood is about -610.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hapgpu.pairhmm.batches import HmmBatch

_SCALE = 2.0**1020


def likelihood_reference(
    bases: NDArray[np.uint8],
    base_qualities: NDArray[np.uint8],
    insertion_qualities: NDArray[np.uint8],
    deletion_qualities: NDArray[np.uint8],
    gap_continuations: NDArray[np.uint8],
    haplotype: NDArray[np.uint8],
) -> float:
    """Compute log10 P(read | haplotype); O(m * n) time and memory.

    Parameters
    ----------
    bases, base_qualities, insertion_qualities, deletion_qualities, gap_continuations
        uint8[m], m >= 1: the read as text and its Phred qualities.
    haplotype
        uint8[n], n >= 1, text.

    Returns
    -------
    At most 0; -inf where the probability is 0 or out of range.
    """
    rows, columns = bases.size, haplotype.size
    error, insertion_open, deletion_open, extend = (
        10.0 ** (-column.astype(np.float64) / 10.0)
        for column in (base_qualities, insertion_qualities, deletion_qualities, gap_continuations)
    )
    stay = np.maximum(1.0 - (insertion_open + deletion_open), 0.0)
    close = 1.0 - extend
    match = np.zeros((rows + 1, columns + 1))
    insertion = np.zeros((rows + 1, columns + 1))
    deletion = np.zeros((rows + 1, columns + 1))
    deletion[0, :] = _SCALE / columns
    for i in range(1, rows + 1):
        k = i - 1
        for j in range(1, columns + 1):
            emission = _emission(int(bases[k]), int(haplotype[j - 1]), float(error[k]))
            gap = insertion[i - 1, j - 1] + deletion[i - 1, j - 1]
            match[i, j] = emission * (stay[k] * match[i - 1, j - 1] + close[k] * gap)
            insertion[i, j] = insertion_open[k] * match[i - 1, j] + extend[k] * insertion[i - 1, j]
            deletion[i, j] = deletion_open[k] * match[i, j - 1] + extend[k] * deletion[i, j - 1]
    total = float((match[rows, 1:] + insertion[rows, 1:]).sum())
    return min(math.log10(total) - math.log10(_SCALE), 0.0) if total else -math.inf


def log10_likelihoods_reference(batch: HmmBatch) -> NDArray[np.float64]:
    """Compute all likelihoods of a batch, float64[batch.pairs], one pair after the other."""
    likelihoods = []
    reads = batch.reads
    for group in range(len(batch)):
        haplotypes = range(*batch.haplotype_offsets[group : group + 2])
        for read in range(*batch.read_offsets[group : group + 2]):
            start, end = reads.bases.offsets[read : read + 2]
            base, insertion, deletion, gap = (column[start:end] for column in reads.qualities)
            bases = reads.bases[read]
            likelihoods += [
                likelihood_reference(
                    bases, base, insertion, deletion, gap, batch.haplotypes[haplotype]
                )
                for haplotype in haplotypes
            ]
    return np.array(likelihoods, dtype=np.float64)


def _emission(base: int, haplotype_base: int, error: float) -> float:
    if base == haplotype_base or ord("N") in {base, haplotype_base}:
        return 1.0 - error
    return error / 3.0

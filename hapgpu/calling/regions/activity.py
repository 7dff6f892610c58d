"""Probability that a position is active, from its pileup."""

from __future__ import annotations

from math import lgamma, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.regions.pileup import FRACTION_BITS, Pileup
from hapgpu.runtime.jit import njit, njit_inlined

_MAX_CONFIDENCE: Final = 4.0
"""Phred: with several samples, a lower QUAL gives probability 0."""
MAX_COUNT_CHANGE: Final = 0.1
"""Allele counts are final if none changed by more."""
_UNIT: Final = 10.0 / 2.0**FRACTION_BITS
_MAX_PL: Final = 2147483647.0


def activity_probabilities(pileup: Pileup, options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[p]: the probability that each locus is variant.

    Source: `HaplotypeCallerEngine.isActive` of broadinstitute/gatk. With elements of one sample,
    the posterior of diploid allele counts; with several, 1 - 10**(-QUAL/10), but 0 for a QUAL of at
    most 4 (or the minimum confidence of calls, if that is lower). The alternate allele then has the
    prior of an indel: GATK's allele for it is symbolic, without length.
    """
    probabilities = np.zeros(pileup.is_covered.shape[1], dtype=np.float64)
    _fill(
        read_only(pileup.ratios),
        read_only(pileup.is_covered),
        read_only(single_sample_priors(options)),
        read_only(allele_priors(options)),
        min_quality_of(options),
        probabilities,
    )
    return probabilities


def min_quality_of(options: VariantOptions) -> float:
    """Return the QUAL below which a locus of several samples is not active."""
    return min(options.min_confidence, _MAX_CONFIDENCE)


def single_sample_priors(options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[3]: log10 of the weight of 0, 1 and 2 alternate alleles, not normalised."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    alternate = options.heterozygosity * reference
    natural = [
        log((1, 2, 1)[n]) + lgamma(n + alternate) + lgamma(2 - n + reference) for n in range(3)
    ]
    return np.array(natural) / log(10.0)


def allele_priors(options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[2]: pseudocounts of the reference and of the alternate allele."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    return np.array([reference, options.indel_heterozygosity * reference])


@njit
def _fill(
    ratios: NDArray[np.int64],
    is_covered: NDArray[np.bool_],
    priors: NDArray[np.float64],
    pseudocounts: NDArray[np.float64],
    min_quality: float,
    probabilities: NDArray[np.float64],
) -> None:
    """Write the probability that each locus is active, float64[loci], from its covered samples."""
    samples, loci = is_covered.shape
    phreds = np.empty((samples, 3), dtype=np.float64)
    weights = np.empty((samples, 3), dtype=np.float64)
    for locus in range(loci):
        covered = np.int64(0)
        for sample in range(samples):
            if is_covered[sample, locus]:
                first, second = ratios[sample, locus, 0], ratios[sample, locus, 1]
                best = max(np.int64(0), first, second)
                phreds[covered, 0] = _phred(np.int64(0), best)
                phreds[covered, 1] = _phred(first, best)
                phreds[covered, 2] = _phred(second, best)
                covered += 1
        if covered == 1:
            if phreds[0, 0] > 0.0:
                probabilities[locus] = _of_one_sample(phreds, priors)
        elif covered > 1:
            quality = _quality(phreds, covered, pseudocounts, weights)
            if quality >= min_quality and -quality / 10.0 + 1e-10 < -min_quality / 10.0:
                probabilities[locus] = 1.0 - 10.0 ** (-quality / 10.0)


@njit_inlined
def _phred(ratio: Integer, best: Integer) -> float:
    """Return the PL of a genotype, as a float."""
    phred: float = min(np.floor(np.float64(best - ratio) * _UNIT + 0.5), _MAX_PL)
    return phred


@njit_inlined
def _of_one_sample(phreds: NDArray[np.float64], priors: NDArray[np.float64]) -> float:
    """Return the posterior of 1 or 2 alternate alleles; 0 if none is the most likely number."""
    none = priors[0] - phreds[0, 0] / 10.0
    one = priors[1] - phreds[0, 1] / 10.0
    two = priors[2] - phreds[0, 2] / 10.0
    best = max(none, one, two)
    if none == best:
        return 0.0
    absent = 10.0 ** (none - best)
    present = 10.0 ** (one - best) + 10.0 ** (two - best)
    return float(1.0 - absent / (absent + present))


@njit
def _quality(
    phreds: NDArray[np.float64],
    samples: Integer,
    pseudocounts: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> float:
    """Return QUAL, from frequencies that begin equal and are made likely by expected counts."""
    for sample in range(samples):
        for k in range(3):
            weights[sample, k] = 10.0 ** (phreds[sample, k] / -10.0)
    reference = alternate = 0.5
    references = alternates = 0.0
    change = np.inf
    while change > MAX_COUNT_CHANGE:
        new_references = new_alternates = 0.0
        for sample in range(samples):
            none = weights[sample, 0] * reference * reference
            one = weights[sample, 1] * 2.0 * reference * alternate
            two = weights[sample, 2] * alternate * alternate
            total = none + one + two
            new_references += (2.0 * none + one) / total
            new_alternates += (one + 2.0 * two) / total
        change = max(abs(new_references - references), abs(new_alternates - alternates))
        references, alternates = new_references, new_alternates
        reference = pseudocounts[0] + references
        alternate = pseudocounts[1] + alternates
        total = reference + alternate
        reference, alternate = reference / total, alternate / total
    quality = 0.0
    for sample in range(samples):
        total = weights[sample, 0] * reference * reference
        total += weights[sample, 1] * 2.0 * reference * alternate
        total += weights[sample, 2] * alternate * alternate
        quality += phreds[sample, 0] - 20.0 * np.log10(reference) + 10.0 * np.log10(total)
    return quality

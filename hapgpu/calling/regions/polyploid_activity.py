"""Probability that a position of three or more copies is active, from its pileup.

The pileup adds up two likelihood ratios per locus. A ploidy of P has P, so the reads are added up
once per two of them: ploidies above 2 are rare, and diploid pileups keep their loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import comb, lgamma, log
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.options import VariantOptions
from hapgpu.calling.regions.activity import MAX_COUNT_CHANGE, allele_priors, min_quality_of
from hapgpu.calling.regions.pileup import FRACTION_BITS, Pileup, element_pair, log10_sum
from hapgpu.runtime.jit import njit

_UNIT: Final = 10.0 / 2.0**FRACTION_BITS
_MAX_PL: Final = 2147483647.0

PileupOf = Callable[[NDArray[np.int64]], Pileup]
"""Returns the pileup of some loci by a table of two ratios per element, as `element_table`."""


def polyploid_probabilities(
    pileup_by: PileupOf, ploidy: int, options: VariantOptions, min_quality: int
) -> NDArray[np.float64]:
    """Return float64[p]: the probability that each locus is variant, as `activity_probabilities`.

    Parameters
    ----------
    pileup_by
        Returns the pileup of the loci by a table.
    ploidy
        Copies, at least 2.
    options
        Heterozygosity, and the minimum confidence.
    min_quality
        Bases count above this quality.
    """
    parts, is_covered = [], np.empty((0, 0), dtype=np.bool_)
    for copies in range(1, ploidy + 1, 2):
        pileup = pileup_by(copies_table(min_quality, ploidy, copies))
        parts.append(pileup.ratios)
        is_covered = pileup.is_covered
    probabilities = np.zeros(is_covered.shape[1], dtype=np.float64)
    samples = len(is_covered)
    _fill(
        read_only(np.concatenate(parts, axis=2)[:, :, :ploidy]),
        read_only(is_covered),
        read_only(single_sample_priors(ploidy, options)),
        read_only(allele_priors(options)),
        min_quality_of(options),
        np.empty((samples, ploidy + 1)),
        np.empty((samples, ploidy + 1)),
        probabilities,
    )
    return probabilities


@cache
def copies_table(min_quality: int, ploidy: int, copies: int) -> NDArray[np.int64]:
    """Return int64[512, 2] as `element_table`: ratios of two genotypes to homozygous REF.

    Parameters
    ----------
    min_quality
        Bases count above this quality.
    ploidy
        Copies in all.
    copies
        ALT copies of the first genotype; the second has one more, or as many if those are all.
    """
    table = np.zeros((512, 2), dtype=np.int64)
    genotypes = (copies, min(copies + 1, ploidy))
    for quality in range(max(min_quality, 0) + 1, 256):
        correct, error = element_pair(quality)
        same = [_mixture(correct, error, n, ploidy) - correct for n in genotypes]
        other = [_mixture(error, correct, n, ploidy) - error for n in genotypes]
        table[quality] = np.rint(np.ldexp(same, FRACTION_BITS))
        table[256 + quality] = np.rint(np.ldexp(other, FRACTION_BITS))
    table.flags.writeable = False
    return table


def _mixture(reference: float, alternate: float, copies: int, ploidy: int) -> float:
    """Return log10 of the likelihood of an element given a genotype with so many ALT copies."""
    if copies == ploidy:
        return alternate
    weights = np.log10([ploidy - copies, copies, ploidy]).tolist()
    return log10_sum(reference + weights[0], alternate + weights[1]) - float(weights[2])


def single_sample_priors(ploidy: int, options: VariantOptions) -> NDArray[np.float64]:
    """Return float64[ploidy + 1]: log10 of the weight of each number of ALT copies, unscaled."""
    reference = allele_priors(options)[0]
    alternate = options.heterozygosity * reference
    natural = [
        log(comb(ploidy, n)) + lgamma(n + alternate) + lgamma(ploidy - n + reference)
        for n in range(ploidy + 1)
    ]
    return np.array(natural) / log(10.0)


@njit
def _fill(
    ratios: NDArray[np.int64],
    is_covered: NDArray[np.bool_],
    priors: NDArray[np.float64],
    pseudocounts: NDArray[np.float64],
    min_quality: float,
    phreds: NDArray[np.float64],
    posteriors: NDArray[np.float64],
    probabilities: NDArray[np.float64],
) -> None:
    """Write the probability that each locus is active, float64[loci], from its covered samples."""
    samples, loci = is_covered.shape
    ploidy = ratios.shape[2]
    for locus in range(loci):
        covered = np.int64(0)
        for sample in range(samples):
            if not is_covered[sample, locus]:
                continue
            best = np.int64(0)
            for n in range(ploidy):
                best = max(best, ratios[sample, locus, n])
            for n in range(ploidy + 1):
                ratio = ratios[sample, locus, n - 1] if n else np.int64(0)
                phreds[covered, n] = min(np.floor((best - ratio) * _UNIT + 0.5), _MAX_PL)
            covered += 1
        if covered == 1:
            if phreds[0, 0] > 0.0:
                probabilities[locus] = _of_one_sample(phreds[0], priors)
        elif covered > 1:
            quality = _quality(phreds, covered, pseudocounts, posteriors)
            if quality >= min_quality and -quality / 10.0 + 1e-10 < -min_quality / 10.0:
                probabilities[locus] = 1.0 - 10.0 ** (-quality / 10.0)


@njit
def _of_one_sample(phreds: NDArray[np.float64], priors: NDArray[np.float64]) -> float:
    """Return the posterior of any ALT; 0 if none is the most likely number of copies."""
    best = -np.inf
    for n in range(priors.size):
        best = max(best, priors[n] - phreds[n] / 10.0)
    absent = priors[0] - phreds[0] / 10.0
    if absent == best:
        return 0.0
    total = 0.0
    for n in range(priors.size):
        total += 10.0 ** (priors[n] - phreds[n] / 10.0 - best)
    return float(1.0 - 10.0 ** (absent - best) / total)


@njit
def _quality(
    phreds: NDArray[np.float64],
    samples: Integer,
    pseudocounts: NDArray[np.float64],
    posteriors: NDArray[np.float64],
) -> float:
    """Return QUAL, from frequencies that begin equal and are made likely by expected counts."""
    ploidy = phreds.shape[1] - 1
    reference = alternate = 0.5
    references = alternates = 0.0
    change = np.inf
    while change > MAX_COUNT_CHANGE:
        new_alternates = 0.0
        for sample in range(samples):
            _put_posteriors(phreds[sample], reference, alternate, posteriors[sample])
            for n in range(1, ploidy + 1):
                new_alternates += n * 10.0 ** posteriors[sample, n]
        new_references = samples * ploidy - new_alternates
        change = max(abs(new_references - references), abs(new_alternates - alternates))
        references, alternates = new_references, new_alternates
        reference = pseudocounts[0] + references
        alternate = pseudocounts[1] + alternates
        total = reference + alternate
        reference, alternate = reference / total, alternate / total
    quality = 0.0
    for sample in range(samples):
        _put_posteriors(phreds[sample], reference, alternate, posteriors[sample])
        quality -= 10.0 * posteriors[sample, 0]
    return quality


@njit
def _put_posteriors(
    phreds: NDArray[np.float64], reference: float, alternate: float, out: NDArray[np.float64]
) -> None:
    """Write log10 of the probability of each number of ALT copies."""
    ploidy = phreds.size - 1
    best, arrangements = -np.inf, 0.0
    for n in range(phreds.size):
        if n:
            arrangements += np.log10((ploidy - n + 1) / n)
        out[n] = arrangements - phreds[n] / 10.0
        out[n] += (ploidy - n) * np.log10(reference) + n * np.log10(alternate)
        best = max(best, out[n])
    total = 0.0
    for n in range(phreds.size):
        total += 10.0 ** (out[n] - best)
    for n in range(phreds.size):
        out[n] -= best + np.log10(total)

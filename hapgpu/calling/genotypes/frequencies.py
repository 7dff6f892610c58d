"""Allele frequencies of a site, and the probability that alleles are absent, as in GATK.

Follows AlleleFrequencyCalculator of GATK 4: expectation maximisation with Dirichlet priors.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.options import GenotypingOptions
from hapgpu.runtime.jit import njit, njit_inlined

_CONVERGED: Final = 0.1  # largest change of an allele count
_LOG10_2: Final = math.log10(2.0)
_LN_10: Final = math.log(10.0)

NO_ALLELE: Final = -1


class PseudoCounts(NamedTuple):
    """Prior of allele frequencies, as counts."""

    reference: float
    snp: float
    indel: float


class Work(NamedTuple):
    """Scratch memory of a site, and its results.

    Attributes
    ----------
    phreds
        int32[n, g]: PL of the genotypes of n samples.
    posteriors
        float64[g].
    priors, frequencies
        float64[a]: pseudo-counts, and log10 frequencies.
    counts, new_counts
        float64[a]: expected numbers of the alleles.
    absent
        float64[a]: log10 of the probability that no sample has the allele.
    """

    phreds: NDArray[np.int32]
    posteriors: NDArray[np.float64]
    priors: NDArray[np.float64]
    frequencies: NDArray[np.float64]
    counts: NDArray[np.float64]
    new_counts: NDArray[np.float64]
    absent: NDArray[np.float64]


def pseudo_counts(options: GenotypingOptions) -> PseudoCounts:
    """Return the prior of REF, and of ALTs as long as REF (SNPs) and others (indels)."""
    reference = options.heterozygosity / options.heterozygosity_deviation**2
    return PseudoCounts(
        reference,
        options.heterozygosity * reference,
        options.indel_heterozygosity * reference,
    )


def new_work(samples: int, alleles: int) -> Work:
    """Allocate for sites of at most so many alleles, REF included."""
    genotypes = alleles * (alleles + 1) // 2
    return Work(
        np.empty((samples, genotypes), dtype=np.int32),
        np.empty(genotypes),
        *(np.empty(alleles) for _ in range(5)),
    )


@njit
def estimate(work: Work, samples: int, alleles: Integer, spanned: Integer) -> float:
    """Estimate the frequencies of the first `alleles` of `work`, from its PL and priors.

    Fills in its expected counts and `absent`. Returns log10 of the probability that no sample has
    an allele other than REF and `*`.
    """
    for allele in range(alleles):
        work.counts[allele] = 0.0
        work.frequencies[allele] = -math.log10(alleles)
    difference = np.inf
    while difference > _CONVERGED:
        _expect_counts(work, samples, alleles)
        difference = 0.0
        total = 0.0
        for allele in range(alleles):
            difference = max(difference, abs(work.new_counts[allele] - work.counts[allele]))
            work.counts[allele] = work.new_counts[allele]
            total += work.priors[allele] + work.counts[allele]
        for allele in range(alleles):
            pseudo_count = work.priors[allele] + work.counts[allele]
            work.frequencies[allele] = math.log10(pseudo_count) - math.log10(total)
    return _find_absent(work, samples, alleles, spanned)


@njit
def _expect_counts(work: Work, samples: int, alleles: Integer) -> None:
    """Write the expected number of each allele to `new_counts`."""
    for allele in range(alleles):
        work.new_counts[allele] = 0.0
    for sample in range(samples):
        _put_posteriors(work, sample, alleles)
        genotype = 0
        for high in range(alleles):
            for low in range(high + 1):
                probability = math.exp(_LN_10 * work.posteriors[genotype])
                work.new_counts[low] += probability
                work.new_counts[high] += probability
                genotype += 1


@njit
def _put_posteriors(work: Work, sample: int, alleles: Integer) -> None:
    """Write log10 of the probabilities of the genotypes of a sample to `posteriors`."""
    genotype, best = 0, -np.inf
    for high in range(alleles):
        for low in range(high + 1):
            value = work.phreds[sample, genotype] / -10.0
            value += work.frequencies[low] + work.frequencies[high]
            if low != high:
                value += _LOG10_2
            work.posteriors[genotype] = value
            best = max(best, value)
            genotype += 1
    total = 0.0
    for k in range(genotype):
        total += math.exp(_LN_10 * (work.posteriors[k] - best))
    for k in range(genotype):
        work.posteriors[k] -= best + math.log10(total)


@njit
def _find_absent(work: Work, samples: int, alleles: Integer, spanned: Integer) -> float:
    """Fill in `absent`; return log10 of the probability that no sample has a variant."""
    no_variant = 0.0
    for allele in range(alleles):
        work.absent[allele] = 0.0
    for sample in range(samples):
        _put_posteriors(work, sample, alleles)
        no_variant += _no_variant(work.posteriors, spanned)
        for allele in range(alleles):
            work.absent[allele] += _without(work.posteriors, alleles, allele)
    return no_variant


@njit_inlined
def _no_variant(posteriors: NDArray[np.float64], spanned: Integer) -> float:
    """Return log10 of the probability of the genotypes of REF and `*` only."""
    if spanned == NO_ALLELE:
        return float(posteriors[0])
    first = spanned * (spanned + 1) // 2
    best = max(posteriors[0], posteriors[first], posteriors[first + spanned])
    total = math.exp(_LN_10 * (posteriors[0] - best))
    total += math.exp(_LN_10 * (posteriors[first] - best))
    total += math.exp(_LN_10 * (posteriors[first + spanned] - best))
    return min(float(best) + math.log10(total), 0.0)


@njit_inlined
def _without(posteriors: NDArray[np.float64], alleles: Integer, absent: Integer) -> float:
    """Return log10 of the probability of the genotypes without an allele."""
    genotype, best = 0, -np.inf
    for high in range(alleles):
        for low in range(high + 1):
            if low != absent != high:
                best = max(best, posteriors[genotype])
            genotype += 1
    genotype, total = 0, 0.0
    for high in range(alleles):
        for low in range(high + 1):
            if low != absent != high:
                total += math.exp(_LN_10 * (posteriors[genotype] - best))
            genotype += 1
    return min(float(best) + math.log10(total), 0.0)

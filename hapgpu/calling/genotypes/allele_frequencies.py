"""Allele frequencies of a site, estimated from the likelihoods of its genotypes."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.calling.genotypes.genotype_tables import GenotypeTables, copies_of
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit, njit_inlined

NO_ALLELE: Final = -1
_CONVERGED: Final = 0.1  # largest change of an allele count
_LOG10_2: Final = math.log10(2.0)
_LN_10: Final = math.log(10.0)


class FrequencyScratch(NamedTuple):
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


def new_work(samples: int, alleles: int, genotypes: int) -> FrequencyScratch:
    """Allocate for sites of at most so many alleles, REF included, and genotypes."""
    return FrequencyScratch(
        np.empty((samples, genotypes), dtype=np.int32),
        np.empty(genotypes),
        *(np.empty(alleles) for _ in range(5)),
    )


@njit
def estimate(
    work: FrequencyScratch,
    samples: int,
    alleles: Integer,
    spanned: Integer,
    tables: GenotypeTables,
    ploidy: Integer,
) -> float:
    """Estimate the frequencies of the first `alleles` of `work`, from its PL and priors.

    Fills in its expected counts and `absent`. Returns log10 of the probability that no sample has
    an allele other than REF and `*`.
    """
    for allele in range(alleles):
        work.counts[allele] = 0.0
        work.frequencies[allele] = -math.log10(alleles)
    difference = np.inf
    while difference > _CONVERGED:
        _expect_counts(work, samples, alleles, tables, ploidy)
        difference = 0.0
        total = 0.0
        for allele in range(alleles):
            difference = max(difference, abs(work.new_counts[allele] - work.counts[allele]))
            work.counts[allele] = work.new_counts[allele]
            total += work.priors[allele] + work.counts[allele]
        for allele in range(alleles):
            pseudo_count = work.priors[allele] + work.counts[allele]
            work.frequencies[allele] = math.log10(pseudo_count) - math.log10(total)
    return _find_absent(work, samples, alleles, spanned, tables, ploidy)


@njit
def _expect_counts(
    work: FrequencyScratch, samples: int, alleles: Integer, tables: GenotypeTables, ploidy: Integer
) -> None:
    """Write the expected number of each allele to `new_counts`."""
    for allele in range(alleles):
        work.new_counts[allele] = 0.0
    for sample in range(samples):
        if ploidy != DIPLOID:
            _expect_any(work, sample, alleles, tables, ploidy)
            continue
        _put_posteriors(work, sample, alleles)
        genotype = 0
        for high in range(alleles):
            for low in range(high + 1):
                probability = math.exp(_LN_10 * work.posteriors[genotype])
                work.new_counts[low] += probability
                work.new_counts[high] += probability
                genotype += 1


@njit
def _put_posteriors(work: FrequencyScratch, sample: int, alleles: Integer) -> None:
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
def _expect_any(
    work: FrequencyScratch, sample: int, alleles: Integer, tables: GenotypeTables, ploidy: Integer
) -> None:
    """Add the expected copies of a sample of any ploidy to `new_counts`."""
    _put_any_posteriors(work, sample, alleles, tables, ploidy)
    for genotype in range(tables.steps[ploidy, alleles]):
        row = tables.firsts[ploidy] + genotype
        probability = math.exp(_LN_10 * work.posteriors[genotype])
        for k in range(tables.offsets[row], tables.offsets[row + 1]):
            work.new_counts[tables.alleles[k]] += tables.copies[k] * probability


@njit
def _put_any_posteriors(
    work: FrequencyScratch, sample: int, alleles: Integer, tables: GenotypeTables, ploidy: Integer
) -> None:
    """Write `posteriors` as `_put_posteriors`, of any ploidy."""
    best, count = -np.inf, tables.steps[ploidy, alleles]
    for genotype in range(count):
        row = tables.firsts[ploidy] + genotype
        value = work.phreds[sample, genotype] / -10.0 + tables.arrangements[row]
        for k in range(tables.offsets[row], tables.offsets[row + 1]):
            value += tables.copies[k] * work.frequencies[tables.alleles[k]]
        work.posteriors[genotype] = value
        best = max(best, value)
    total = 0.0
    for k in range(count):
        total += math.exp(_LN_10 * (work.posteriors[k] - best))
    for k in range(count):
        work.posteriors[k] -= best + math.log10(total)


@njit
def _find_absent(
    work: FrequencyScratch,
    samples: int,
    alleles: Integer,
    spanned: Integer,
    tables: GenotypeTables,
    ploidy: Integer,
) -> float:
    """Fill in `absent`; return log10 of the probability that no sample has a variant."""
    no_variant = 0.0
    for allele in range(alleles):
        work.absent[allele] = 0.0
    for sample in range(samples):
        if ploidy != DIPLOID:
            no_variant += _find_any_absent(work, sample, alleles, spanned, tables, ploidy)
            continue
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


@njit
def _find_any_absent(
    work: FrequencyScratch,
    sample: int,
    alleles: Integer,
    spanned: Integer,
    tables: GenotypeTables,
    ploidy: Integer,
) -> float:
    """Add a sample of any ploidy to `absent`; return log10 of its probability of no variant."""
    _put_any_posteriors(work, sample, alleles, tables, ploidy)
    for allele in range(alleles):
        work.absent[allele] += _without_any(work.posteriors, alleles, allele, tables, ploidy)
    if spanned == NO_ALLELE:
        return float(work.posteriors[0])
    return _no_variant_any(work.posteriors, alleles, spanned, tables, ploidy)


@njit
def _no_variant_any(
    posteriors: NDArray[np.float64],
    alleles: Integer,
    spanned: Integer,
    tables: GenotypeTables,
    ploidy: Integer,
) -> float:
    """Return `_no_variant` of any ploidy, at a site with `*`."""
    first, best, total = tables.firsts[ploidy], posteriors[0], 0.0
    for summing in range(2):
        for genotype in range(tables.steps[ploidy, alleles]):
            own = copies_of(tables, first + genotype, np.int64(0))
            if own + copies_of(tables, first + genotype, spanned) < ploidy:
                continue
            if summing:
                total += math.exp(_LN_10 * (posteriors[genotype] - best))
            else:
                best = max(best, posteriors[genotype])
    return min(float(best) + math.log10(total), 0.0)


@njit
def _without_any(
    posteriors: NDArray[np.float64],
    alleles: Integer,
    absent: Integer,
    tables: GenotypeTables,
    ploidy: Integer,
) -> float:
    """Return log10 of the probability of the genotypes without an allele, of any ploidy."""
    count, first, best, total = tables.steps[ploidy, alleles], tables.firsts[ploidy], -np.inf, 0.0
    for genotype in range(count):
        if copies_of(tables, first + genotype, absent) == 0:
            best = max(best, posteriors[genotype])
    for genotype in range(count):
        if copies_of(tables, first + genotype, absent) == 0:
            total += math.exp(_LN_10 * (posteriors[genotype] - best))
    return min(float(best) + math.log10(total), 0.0)

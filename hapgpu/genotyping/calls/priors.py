"""Prior probabilities of genotypes."""

from __future__ import annotations

from math import factorial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.genotyping.calls.chromosome_counts import add_chromosomes
from hapgpu.genotyping.calls.genotype_order import genotype_counts, genotype_table
from hapgpu.genotyping.options import Prior
from hapgpu.haplotypes.batches import Sites

_RARITY: Final = 0.145  # 1 / ln(1000): the spectrum 1/f of variants down to one in a thousand


def log10_priors(sites: Sites, prior: Prior, ploidy: int) -> Ragged:
    """Compute the prior probabilities of the genotypes of each site; they sum to 1.

    `flat`: all genotypes of a site are equally probable.

    `population`: the P chromosomes are drawn from a population whose allele frequencies follow a
    Dirichlet distribution with the weights w, 1 for REF and 0.145 for each ALT. With one ALT its
    frequency f has the density 0.145 f**-0.855. That is close to the distribution at a variant
    site without further knowledge: neutral variants have frequencies in proportion to 1/f
    (Watterson 1975, Ewens 1972), and 0.145 = 1 / ln(1000) is their density at f = 1 if they range
    down to one in a thousand. One of two chromosomes differs with probability 0.12, both with 0.07.

    The chromosomes counted in INFO (AC and AN) are added to the weights of their alleles; without
    AC, AF is used with AN chromosomes, or with 100 without AN. With W the sum of the weights, and
    c_a copies of allele a, which may be drawn in P! / prod c_a! orders (a Polya urn),

        P(genotype) = orders * prod over a of w_a (w_a + 1) ... (w_a + c_a - 1)
                      / (W (W + 1) ... (W + P - 1)).

    Parameters
    ----------
    sites
        s sites.
    prior
        Kind of prior.
    ploidy
        Copies of the chromosome, P, at least 1.

    Returns
    -------
    Ragged
        float64, s rows: log10, a value for each genotype in the order of VCF 4.3; none for a site
        with more than `MAX_GENOTYPES`.
    """
    allele_counts = np.diff(sites.allele_offsets)
    counts = genotype_counts(allele_counts, ploidy)
    if prior is Prior.FLAT:
        uniform = -np.log10(np.maximum(counts, 1))
        return Ragged.from_lengths(np.repeat(uniform, counts), counts)
    offsets = offsets_of(counts)
    values = np.empty(int(offsets[-1]), dtype=np.float64)
    weights = _weights(sites)
    for alleles in np.unique(allele_counts[counts > 0]):
        table = genotype_table(int(alleles), ploidy)
        rows = np.flatnonzero(allele_counts == alleles)[:, np.newaxis]
        allele_weights = weights[sites.allele_offsets[rows] + np.arange(alleles)]
        values[offsets[rows] + np.arange(len(table))] = _polya(allele_weights, table)
    return Ragged(values, offsets)


def _polya(weights: NDArray[np.float64], table: NDArray[np.int16]) -> NDArray[np.float64]:
    """Return float64[n, G], log10, for n sites with allele weights float64[n, A]."""
    ploidy = table.shape[1]
    # For each copy, the number of earlier copies of the same allele.
    before = np.column_stack(
        [(table[:, :k] == table[:, k : k + 1]).sum(axis=1) for k in range(ploidy)]
    )
    orders = factorial(ploidy) / (before + 1).prod(axis=1)
    steps = np.arange(ploidy)
    grown = np.log10(weights[:, :, np.newaxis] + steps)
    totals = np.log10(weights.sum(axis=1, keepdims=True) + steps).sum(axis=1, keepdims=True)
    priors: NDArray[np.float64] = np.log10(orders) - totals
    for copy in range(ploidy):
        priors += grown[:, table[:, copy], before[:, copy]]
    return priors


def _weights(sites: Sites) -> NDArray[np.float64]:
    """Return float64[a]: the weight of each allele."""
    weights = np.full(sites.kinds.size, _RARITY)
    weights[sites.allele_offsets[:-1]] = 1.0
    add_chromosomes(sites, weights)
    return weights

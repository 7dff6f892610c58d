"""Genotypes of any ploidy by brute force: over all orders of the copies, in plain numbers.

A genotype is a sorted tuple of alleles; its probability is the sum over the distinct orders of its
copies, so no multinomial coefficient and no table of genotypes is shared with the code.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement, product

Genotype = tuple[int, ...]


@cache
def genotypes(alleles: int, ploidy: int) -> tuple[Genotype, ...]:
    """Return the genotypes in the order of VCF: by the highest allele, then the next."""
    every = combinations_with_replacement(range(alleles), ploidy)
    return tuple(sorted(every, key=lambda genotype: genotype[::-1]))


def log10_likelihoods(
    reads: Sequence[Sequence[float]], alleles: int, ploidy: int
) -> dict[Genotype, float]:
    """Return log10 of the likelihood of each genotype: a read comes from any of its copies."""
    return {
        genotype: math.fsum(
            math.log10(math.fsum(10.0 ** read[allele] for allele in genotype) / ploidy)
            for read in reads
        )
        for genotype in genotypes(alleles, ploidy)
    }


@dataclass(frozen=True, slots=True)
class Frequencies:
    """QUAL, log10 P(absent) of each allele, and the expected copies of each."""

    quality: float
    absent: list[float]
    counts: list[float]


def frequencies_of(
    samples: Sequence[Sequence[int]], priors: Sequence[float], ploidy: int, spanned: int | None
) -> Frequencies:
    """Estimate allele frequencies from PL, by Hardy and Weinberg's probability of each order."""
    alleles = range(len(priors))
    frequencies = [1.0 / len(priors)] * len(priors)
    counts, change = [0.0] * len(priors), math.inf
    while change > 0.1:
        posteriors = [_posteriors(phreds, frequencies, ploidy) for phreds in samples]
        new = [
            float(sum(p * g.count(a) for row in posteriors for g, p in row.items()))
            for a in alleles
        ]
        change = max(abs(one - other) for one, other in zip(new, counts, strict=True))
        counts = new
        weights = [prior + count for prior, count in zip(priors, counts, strict=True)]
        frequencies = [weight / sum(weights) for weight in weights]
    posteriors = [_posteriors(phreds, frequencies, ploidy) for phreds in samples]

    def log10_of(chosen: set[Genotype]) -> float:
        return sum(float(sum(row[g] for g in chosen).log10()) for row in posteriors)

    every = genotypes(len(priors), ploidy)
    absent = [log10_of({g for g in every if a not in g}) for a in alleles]
    none = log10_of({g for g in every if set(g) <= {0, spanned}})
    return Frequencies(-10.0 * none, absent, counts)


def _posteriors(
    phreds: Sequence[int], frequencies: Sequence[float], ploidy: int
) -> dict[Genotype, Decimal]:
    """Return the probability of each genotype, in decimal numbers that do not underflow."""
    every = genotypes(len(frequencies), ploidy)
    found = dict.fromkeys(every, Decimal(0))
    values = [Decimal(10) ** (Decimal(-phred) / 10) for phred in phreds]
    likelihoods = dict(zip(every, values, strict=True))
    for order in product(range(len(frequencies)), repeat=ploidy):
        genotype = tuple(sorted(order))
        prior = Decimal(math.prod(frequencies[allele] for allele in order))
        found[genotype] += prior * likelihoods[genotype]
    total = sum(found.values())
    return {genotype: value / total for genotype, value in found.items()}


@dataclass(frozen=True, slots=True)
class Call:
    """GT (None for no call), GQ and PL of a sample, of the kept alleles."""

    genotype: Genotype | None
    quality: int
    phreds: list[int]


def call_of(phreds: Sequence[int], alleles: int, ploidy: int, kept: Sequence[int]) -> Call:
    """Call a genotype of the kept alleles, by the lowest PL."""
    by_genotype = dict(zip(genotypes(alleles, ploidy), phreds, strict=True))
    own = [
        by_genotype[tuple(kept[allele] for allele in genotype)]
        for genotype in genotypes(len(kept), ploidy)
    ]
    shifted = [phred - min(own) for phred in own]
    best = shifted.index(0)
    quality = min([99, *(phred for row, phred in enumerate(shifted) if row != best)])
    genotype = genotypes(len(kept), ploidy)[best]
    return Call(None if best == 0 and quality < 1 else genotype, quality, shifted)


def considered_of(
    samples: Sequence[Sequence[int]], alleles: int, ploidy: int, most: int
) -> Iterator[int]:
    """Yield REF and at most so many ALTs, those of the likeliest genotypes."""
    scores = [0] * alleles
    for phreds in samples:
        best = list(phreds).index(min(phreds))
        for allele in set(genotypes(alleles, ploidy)[best]):
            scores[allele] += phreds[0] - phreds[best]
    ranked = sorted(range(1, alleles), key=lambda allele: -scores[allele])
    yield from (0, *sorted(ranked[:most]))

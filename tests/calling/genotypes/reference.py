"""Reference implementation of genotypes, QUAL and kept alleles, one site at a time.

The rules are those of GATK's GenotypeLikelihoodCalculator, AlleleFrequencyCalculator,
GenotypingEngine and AlleleSubsettingUtils. Sums are exact, by `math.fsum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Genotype = tuple[int, int]

_LOWEST = -1e300


def genotypes_reference(alleles: int) -> list[Genotype]:
    """Return the diploid genotypes in the order of VCF."""
    return [(low, high) for high in range(alleles) for low in range(high + 1)]


def phreds_reference(reads: Sequence[Sequence[float]], alleles: int) -> list[int]:
    """Return PL of each genotype from the likelihoods of reads given each allele, log10."""
    totals = [
        math.fsum(_log10_mean(read[low], read[high]) for read in reads)
        for low, high in genotypes_reference(alleles)
    ]
    return [math.floor(-10.0 * (total - max(totals)) + 0.5) for total in totals]


def _log10_mean(one: float, other: float) -> float:
    """Return log10 of the mean of two likelihoods, rounded as in GATK's table."""
    if one == other:
        return one
    steps = math.floor(abs(one - other) * 1e4 + 0.5)
    added = math.log10(1.0 + 10.0 ** (steps * -1e-4)) if abs(one - other) < 8.0 else 0.0
    return max(one, other) + added - math.log10(2.0)


@dataclass(frozen=True, slots=True)
class SiteFrequencies:
    """Result of `frequencies_reference`: QUAL, log10 P(absent) and the count of each allele."""

    quality: float
    log10_absent: list[float]
    counts: list[float]


def frequencies_reference(
    samples: Sequence[Sequence[int]], priors: Sequence[float], spanned: int | None = None
) -> SiteFrequencies:
    """Estimate the allele frequencies of a site.

    Parameters
    ----------
    samples
        PL of each sample.
    priors
        Pseudo-count of each allele.
    spanned
        The number of the allele `*`.
    """
    genotypes = genotypes_reference(len(priors))
    counts = [0.0] * len(priors)
    frequencies = [1.0 / len(priors)] * len(priors)
    has_converged = False
    while not has_converged:
        posteriors = [_posteriors(phreds, frequencies) for phreds in samples]
        new = [
            math.fsum(
                genotype.count(allele) * 10.0**value
                for row in posteriors
                for genotype, value in zip(genotypes, row, strict=True)
            )
            for allele in range(len(priors))
        ]
        has_converged = all(abs(a - b) <= 0.1 for a, b in zip(new, counts, strict=True))
        counts = new
        weights = [prior + count for prior, count in zip(priors, counts, strict=True)]
        frequencies = [weight / math.fsum(weights) for weight in weights]
    final = [_posteriors(phreds, frequencies) for phreds in samples]
    no_variant = _total(final, [set(genotype) <= {0, spanned} for genotype in genotypes])
    absent = [
        _total(final, [allele not in genotype for genotype in genotypes])
        for allele in range(len(priors))
    ]
    return SiteFrequencies(-10.0 * no_variant, absent, counts)


def _posteriors(phreds: Sequence[int], frequencies: Sequence[float]) -> list[float]:
    """Return log10 of the probability of each genotype of a sample."""
    values = [
        phred / -10.0
        + math.log10((1 if low == high else 2) * frequencies[low])
        + math.log10(frequencies[high])
        for phred, (low, high) in zip(phreds, genotypes_reference(len(frequencies)), strict=True)
    ]
    total = _log10_total(values)
    return [value - total for value in values]


def _total(samples: Sequence[Sequence[float]], mask: Sequence[bool]) -> float:
    """Return log10 of the probability that all samples have genotypes of a mask."""
    return math.fsum(
        min(0.0, _log10_total([v for v, chosen in zip(row, mask, strict=True) if chosen]))
        for row in samples
    )


def _log10_total(values: Sequence[float]) -> float:
    best = max(values, default=_LOWEST)
    return best + math.log10(math.fsum(10.0 ** (value - best) for value in values))


@dataclass(frozen=True, slots=True)
class SiteVariant:
    """Result of `variant_reference`: a record.

    Attributes
    ----------
    quality
        QUAL.
    kept
        Numbers of the alleles of the record.
    alleles
        These alleles, without common suffix.
    counts
        MLEAC of each.
    phreds, genotypes, qualities
        PL, GT and GQ of each sample; None as GT for no call.
    """

    quality: float
    kept: list[int]
    alleles: list[str]
    counts: list[int]
    phreds: list[list[int]]
    genotypes: list[Genotype | None]
    qualities: list[int]


def variant_reference(
    alleles: Sequence[str],
    samples: Sequence[Sequence[int]],
    priors: tuple[float, float, float],
    is_covered: bool,
    min_confidence: float,
    max_alternates: int,
) -> SiteVariant | None:
    """Call a site, or return None.

    Parameters
    ----------
    alleles
        REF and ALTs.
    samples
        PL of each sample.
    priors
        Pseudo-counts of REF, SNPs and indels.
    is_covered
        Whether a deletion of an earlier record covers the site.
    min_confidence, max_alternates
        As in `VariantOptions`.
    """
    numbers = _considered(samples, len(alleles), max_alternates)
    length = len(alleles[0])
    pseudo_counts = [priors[1] if len(alleles[k]) == length else priors[2] for k in numbers]
    pseudo_counts[0] = priors[0]
    spanned = next((row for row, k in enumerate(numbers) if alleles[k] == "*"), None)
    subset = [_subset(phreds, numbers) for phreds in samples]
    result = frequencies_reference(subset, pseudo_counts, spanned)
    kept = [0] + [
        k
        for row, k in enumerate(numbers)
        if row > 0
        and result.log10_absent[row] + 1e-10 < min_confidence / -10.0
        and (alleles[k] != "*" or is_covered)
    ]
    if not {alleles[k] for k in kept[1:]} - {"*"} or result.quality < min_confidence:
        return None
    phreds = [_subset(row, kept) for row in samples]
    calls = [_call(row, len(kept)) for row in phreds]
    return SiteVariant(
        result.quality,
        kept,
        _trimmed([alleles[k] for k in kept]),
        [math.floor(result.counts[numbers.index(k)] + 0.5) for k in kept],
        phreds,
        [genotype for genotype, _ in calls],
        [quality for _, quality in calls],
    )


def _considered(samples: Sequence[Sequence[int]], alleles: int, most: int) -> list[int]:
    """Return REF and at most so many ALTs: those of the most likely genotypes."""
    scores = [0] * alleles
    for phreds in samples:
        best = phreds.index(min(phreds))
        for allele in set(genotypes_reference(alleles)[best]):
            scores[allele] += phreds[0] - phreds[best]
    ranked = sorted(range(1, alleles), key=lambda allele: -scores[allele])
    return [0, *sorted(ranked[:most])]


def _subset(phreds: Sequence[int], kept: Sequence[int]) -> list[int]:
    """Return PL of the genotypes of some alleles, 0 for the best."""
    rows = [
        kept[high] * (kept[high] + 1) // 2 + kept[low]
        for low, high in genotypes_reference(len(kept))
    ]
    return [phreds[row] - min(phreds[k] for k in rows) for row in rows]


def _call(phreds: Sequence[int], alleles: int) -> tuple[Genotype | None, int]:
    best = phreds.index(0)
    quality = min(99, *(phred for row, phred in enumerate(phreds) if row != best))
    if best == 0 and quality < 1:
        return None, quality
    return genotypes_reference(alleles)[best], quality


def _trimmed(alleles: Sequence[str]) -> list[str]:
    """Remove the common suffix of all alleles but `*`; a base stays."""
    sequences = [allele for allele in alleles if allele != "*"]
    while min(map(len, sequences)) > 1 and len({allele[-1] for allele in sequences}) == 1:
        sequences = [allele[:-1] for allele in sequences]
    remaining = iter(sequences)
    return ["*" if allele == "*" else next(remaining) for allele in alleles]

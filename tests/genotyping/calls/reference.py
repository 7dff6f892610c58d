"""Reference implementation of genotyping, for one site of one sample.

The rules are those of GATK's AlleleLikelihoods (cap of reads) and GenotypeLikelihoodCalculator.
Two rules differ from GATK: the fragments used (`hapgpu.genotyping.reads.spanning`), and a lower
weight for reads that GATK excludes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_WORST_DIFFERENCE = 4.5
_CLEARLY_BETTER = 0.2
_MIN_SPANNING_FRACTION = Fraction(1, 10)


@dataclass(frozen=True, slots=True)
class SiteCall:
    """Genotype of one sample at one site, and its quality.

    Attributes
    ----------
    genotype
        Numbers of alleles, ascending.
    quality
        -10 log10 P(another genotype), neither rounded nor capped.
    phred_likelihoods
        PL of each genotype, 0 for the best, not rounded.
    reference_quality
        -10 log10 P(homozygous REF), not rounded.
    """

    genotype: tuple[int, ...]
    quality: float
    phred_likelihoods: list[float]
    reference_quality: float


def genotypes_reference(alleles: int, ploidy: int) -> Iterator[tuple[int, ...]]:
    """Yield genotypes in the order of VCF 4.3, section 1.6.2, by the recursion given there."""
    for highest in range(alleles):
        if ploidy == 1:
            yield (highest,)
        else:
            for others in genotypes_reference(highest + 1, ploidy - 1):
                yield (*others, highest)


def fragment_reference(
    parts: Sequence[NDArray[np.float64]], lengths: Sequence[int]
) -> NDArray[np.float64]:
    """Compute log10 P(fragment | haplotype) from its clipped reads, at least one.

    Parameters
    ----------
    parts
        float64[H] each, log10 P(clipped read | haplotype).
    lengths
        Bases of each clipped read.

    Returns
    -------
    float64[H], finite.
    """
    ranges = [
        _range_reference(part.max(), length) for part, length in zip(parts, lengths, strict=True)
    ]
    total = sum(_capped(part, range_) for part, range_ in zip(parts, ranges, strict=True))
    return _capped(np.asarray(total), max(ranges))


def _range_reference(best: float, length: int) -> float:
    """Return the largest difference between the likelihoods of a clipped read, log10."""
    if best >= -4.0 * min(2.0, math.ceil(0.02 * length)):
        return _WORST_DIFFERENCE
    return 1.5 if best >= -24.0 else 1.0


def _capped(likelihoods: NDArray[np.float64], range_: float) -> NDArray[np.float64]:
    best = likelihoods.max()
    if best == -math.inf:
        return np.zeros_like(likelihoods)
    capped: NDArray[np.float64] = np.maximum(likelihoods, best - range_)
    return capped


def used_fragments_reference(
    fragments: Sequence[Sequence[range]], site: int, shift_ranges: Sequence[range], shown: range
) -> list[int]:
    """Choose the fragments of one sample that are used at one site of a locus.

    Parameters
    ----------
    fragments
        The positions that each clipped read of each fragment covers.
    site
        Number of the site in the locus.
    shift_ranges
        Shift ranges of the sites of the locus.
    shown
        The reference positions of the haplotypes of the locus.

    Returns
    -------
    Rows of `fragments`, ascending.
    """
    joined = set(shift_ranges[site])
    for _ in shift_ranges:  # each turn adds at least one shift range, or all are added
        joined.update(
            *(shift_range for shift_range in shift_ranges if not joined.isdisjoint(shift_range))
        )
    if len(joined) > 1:
        joined |= {min(joined) - 1, max(joined) + 1} & set(shown)
    spanning, overlapping = [], []
    for fragment, parts in enumerate(fragments):
        if any(joined.issubset(part) for part in parts):
            spanning.append(fragment)
        if not all(set(shift_ranges[site]).isdisjoint(part) for part in parts):
            overlapping.append(fragment)
    is_enough = len(spanning) >= _MIN_SPANNING_FRACTION * len(overlapping)
    return spanning if is_enough else overlapping


def allele_likelihoods_reference(
    fragments: NDArray[np.float64], carried: Sequence[int], alleles: int
) -> NDArray[np.float64]:
    """Compute log10 P(fragment | allele), float64[F, A].

    Parameters
    ----------
    fragments
        float64[F, H], log10 P(fragment | haplotype).
    carried
        The allele of each of the H haplotypes.
    alleles
        A, REF included.
    """
    likelihoods = np.empty((len(fragments), alleles))
    likelihoods[:] = fragments.max(axis=1, keepdims=True) - _WORST_DIFFERENCE
    for allele in set(carried):
        haplotypes = [k for k, other in enumerate(carried) if other == allele]
        likelihoods[:, allele] = fragments[:, haplotypes].max(axis=1)
    return likelihoods


def allele_depths_reference(likelihoods: NDArray[np.float64]) -> list[int]:
    """Count the fragments that support each of at least two alleles, given float64[F, A]."""
    depths = [0] * likelihoods.shape[1]
    for row in likelihoods:
        *_, second, best = np.sort(row)
        if best - second > _CLEARLY_BETTER:
            depths[int(row.argmax())] += 1
    return depths


def genotype_likelihoods_reference(likelihoods: NDArray[np.float64], ploidy: int) -> list[float]:
    """Compute log10 P(fragments | genotype) of each genotype, given float64[F, A]."""
    return [
        sum(
            math.log10(sum(10.0 ** row[allele] for allele in genotype) / ploidy)
            for row in likelihoods
        )
        for genotype in genotypes_reference(likelihoods.shape[1], ploidy)
    ]


def call_reference(
    likelihoods: Sequence[float], priors: Sequence[float], alleles: int, ploidy: int
) -> SiteCall:
    """Call a genotype from log10 likelihoods and log10 priors, in the order of VCF 4.3."""
    joint = [likelihood + prior for likelihood, prior in zip(likelihoods, priors, strict=True)]
    best = joint.index(max(joint))
    relative = [10.0 ** (value - joint[best]) for value in joint]
    others = math.fsum(relative[:best] + relative[best + 1 :]) / math.fsum(relative)
    reference = joint[0] - joint[best] - math.log10(math.fsum(relative))
    return SiteCall(
        list(genotypes_reference(alleles, ploidy))[best],
        -10.0 * math.log10(others) if others else math.inf,
        [10.0 * (max(likelihoods) - value) for value in likelihoods],
        -10.0 * reference,
    )

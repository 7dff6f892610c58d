"""Plain removal of contaminating reads: GATK's AlleleBiasedDownsamplingUtils, from its rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement


def score(counts: Sequence[int]) -> int:
    """Return how far counts are from a homozygous and from a heterozygous genotype, the nearer."""
    if len(counts) < 2:
        return 0
    *rest, second, largest = sorted(counts)
    return min(largest - second + sum(rest), second + sum(rest))


def target_counts(counts: Sequence[int], number: int) -> list[int]:
    """Return the counts after the removal of `number` reads."""
    candidates = [list(counts)]
    for one, other in combinations_with_replacement(range(len(counts)), 2):
        removed = [0] * len(counts)
        removed[one] = removed[other] = number if one == other else number // 2
        candidates.append([max(c - r, 0) for c, r in zip(counts, removed, strict=True)])
    return min(candidates, key=score)  # the first of equal ones


def best_allele(likelihoods: Sequence[float]) -> int | None:
    """Return the allele that a read supports, if it does."""
    best = max(range(len(likelihoods)), key=lambda k: (likelihoods[k], -k))
    others = [value for k, value in enumerate(likelihoods) if k != best]
    is_informative = not others or likelihoods[best] - max(others) > 0.2
    return best if is_informative else None


def kept_reads(
    likelihoods: Sequence[Sequence[float]],
    samples: Sequence[int],
    ranks: Sequence[int],
    fractions: Sequence[float],
) -> list[bool]:
    """Return which reads of a site are kept; those with the lowest ranks are removed first."""
    kept = [fractions[sample] < 1 for sample in samples]
    alleles = len(likelihoods[0]) if likelihoods else 0
    for sample, fraction in enumerate(fractions):
        if not 0 < fraction < 1:
            continue
        by_allele: list[list[int]] = [[] for _ in range(alleles)]
        for read, values in enumerate(likelihoods):
            allele = best_allele(values)
            if samples[read] == sample and allele is not None:
                by_allele[allele].append(read)
        counts = [len(rows) for rows in by_allele]
        targets = target_counts(counts, int(sum(counts) * fraction))
        for rows, count, target in zip(by_allele, counts, targets, strict=True):
            for read in sorted(rows, key=lambda read: ranks[read])[: count - target]:
                kept[read] = False
    return kept

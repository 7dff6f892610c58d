"""Reference implementation of annotations: one record at a time, by their definitions.

The rules are those of the annotations of GATK (broadinstitute/gatk): DepthPerAlleleBySample,
Coverage, RMSMappingQuality, QualByDepth, FisherStrand, StrandOddsRatio, RankSumTest, ExcessHet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist

_INFORMATIVE = 0.2


@dataclass(frozen=True, slots=True)
class Read:
    """A read at a site, realigned.

    Attributes
    ----------
    sample, is_reverse, mapping_quality
        Of the record.
    likelihoods
        log10, for each allele of the site.
    start
        0-based.
    cigar
        Lengths and letters of M, I and D.
    qualities
        Base qualities.
    clipped
        Bases of the whole read before and after, that are clipped.
    """

    sample: int
    is_reverse: bool
    mapping_quality: int
    likelihoods: Sequence[float]
    start: int
    cigar: Sequence[tuple[int, str]]
    qualities: Sequence[int]
    clipped: tuple[int, int]


def supported(likelihoods: Sequence[float], alleles: Sequence[int]) -> int | None:
    """Return the informative best of some alleles."""
    ordered = sorted(alleles, key=lambda allele: -likelihoods[allele])
    second = likelihoods[ordered[1]] if len(ordered) > 1 else -math.inf
    return ordered[0] if likelihoods[ordered[0]] - second > _INFORMATIVE else None


def strand_table(
    reads: Sequence[Read], alleles: Sequence[int], samples: int, min_reads: int
) -> list[int]:
    """Count reads of REF and of all ALTs, forward and reverse, of samples with enough reads."""
    total = [0, 0, 0, 0]
    for sample in range(samples):
        cells = [0, 0, 0, 0]
        for read in reads:
            allele = supported(read.likelihoods, range(len(read.likelihoods)))
            if read.sample == sample and allele in alleles:
                cells[2 * (allele != 0) + read.is_reverse] += 1
        if sum(cells) >= min_reads:
            total = [a + b for a, b in zip(total, cells, strict=True)]
    return total


def fisher_strand(table: Sequence[int]) -> float:
    """Return FS of a table."""
    return abs(-10 * math.log10(fisher_p(table)))


def fisher_p(table: Sequence[int]) -> float:
    """Return the two-sided p-value by exact probabilities of all tables with the same sums."""
    if sum(table) > 400:
        table = [int(cell / (sum(table) / 200)) for cell in table]
    a, b, c, d = table
    ways = {
        x: math.comb(a + b, x) * math.comb(c + d, a + c - x)
        for x in range(max(0, a - d), min(a + b, a + c) + 1)
    }
    total = sum(ways.values())
    limit = math.log(Fraction(ways[a], total)) * (1 - 1e-6)
    kept = [n for n in ways.values() if math.log(Fraction(n, total)) <= limit]
    return float(Fraction(sum(kept), total)) if len(ways) > 1 else 1.0


def odds_ratio(table: Sequence[int]) -> float:
    """Return SOR of a table."""
    a, b, c, d = (cell + 1 for cell in table)
    ratio = (a * d) / (b * c) + (b * c) / (a * d)
    return math.log(ratio) + math.log(min(a, b) / max(a, b)) - math.log(min(c, d) / max(c, d))


def rank_sum(alternates: Sequence[float], references: Sequence[float]) -> float:
    """Return the z score of Mann and Whitney's test; NaN if one side is empty."""
    if not alternates or not references:
        return math.nan
    pooled = sorted([*alternates, *references])
    ranks = {v: pooled.index(v) + (pooled.count(v) + 1) / 2 for v in pooled}
    n1, n2, n = len(alternates), len(references), len(pooled)
    observed = sum(ranks[v] for v in alternates)
    if n1 < 10 and n2 < 10:
        sums = [sum(chosen) for chosen in combinations([ranks[v] for v in pooled], n1)]
        lower = sum(s < observed for s in sums) + sum(s == observed for s in sums) / 2
        return NormalDist().inv_cdf(lower / len(sums))
    groups = [pooled.count(v) for v in ranks]
    ties = sum(t**3 - t for t in groups if t < n)
    u = observed - n1 * (n1 + 1) / 2
    deviation = math.sqrt(n1 * n2 / 12 * (n + 1 - ties / (n * (n - 1))))
    return (u - n1 * n2 / 2 + (0.5 if ties else 0.0)) / deviation


def values_at(read: Read, start: int, end: int) -> tuple[int | None, int | None]:
    """Return the base quality at a position, and the distance from the nearer end of the read."""
    columns: list[tuple[int, int | None]] = []  # base, or the base after, and position
    base, position = 0, read.start
    for length, operation in read.cigar:
        for _ in range(length):
            columns.append((base, None if operation == "I" else position))
            base += operation != "D"
            position += operation != "I"
    found = [k for k, (_, at) in enumerate(columns) if at == start]
    starts_inserted = read.cigar[0][1] == "I" and read.start == end
    if not found:
        return None, 0 if starts_inserted else None
    at = columns[found[0]][0]
    letters = "".join(operation * length for length, operation in read.cigar)
    quality = read.qualities[at] if letters[found[0]] == "M" else None
    distance = min(read.clipped[0] + at, base - 1 - at + read.clipped[1])
    return quality, 0 if starts_inserted else distance


def excess_heterozygosity(homozygous: int, heterozygous: int, other: int) -> float:
    """Return the Phred-scaled probability of at least as many heterozygotes."""
    n = homozygous + heterozygous + other
    copies = heterozygous + 2 * other
    weights = {
        hets: math.factorial(n)
        * 2**hets
        // math.factorial(hets)
        // math.factorial((copies - hets) // 2)
        // math.factorial(n - (copies + hets) // 2)
        for hets in range(copies % 2, min(copies, 2 * n - copies) + 1, 2)
    }
    tail = sum(weight for hets, weight in weights.items() if hets >= heterozygous)
    return abs(-10 * math.log10(Fraction(tail, sum(weights.values()))))


def quality_by_depth(
    quality: float,
    genotypes: Sequence[Sequence[int]],
    depths: Sequence[Sequence[int]],
    reads: Sequence[int],
) -> float:
    """Return QD, from genotypes, AD and all reads of the samples; NaN without reads."""
    variant = [k for k, g in enumerate(genotypes) if min(g) >= 0 and max(g) > 0]
    supported_well = [k for k in variant if sum(depths[k][1:]) > 1]
    depth = sum(sum(depths[k]) for k in supported_well)
    if depth == 0:
        depth = sum(sum(depths[k]) or reads[k] for k in variant)
    if depth == 0:
        return math.nan
    return 30.0 if quality / depth >= 35 else quality / depth

"""Allele frequencies and QUAL: GATK's cases, and the reference implementation."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from hapgpu.calling.genotypes.allele_frequencies import NO_ALLELE, estimate, new_work
from hapgpu.calling.genotypes.kept_alleles import pseudo_counts as pseudo_counts_of
from hapgpu.calling.options import VariantOptions
from tests.calling.genotypes.made_sites import genotypes_of, random_phreds
from tests.calling.genotypes.reference import frequencies_reference, genotypes_reference

DEFAULTS = VariantOptions()
CONFIDENT = 20


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Alleles of a site in n samples.

    Attributes
    ----------
    quality
        QUAL: -10 log10 of the probability that no sample has an ALT other than `*`.
    log10_absent
        float64[a]: log10 of the probability that no sample has the allele.
    counts
        int64[a]: the expected number of each allele, rounded (MLEAC).
    """

    quality: float
    log10_absent: NDArray[np.float64]
    counts: NDArray[np.int64]


def frequencies_of(
    phreds: NDArray[np.int32], priors: NDArray[np.float64], spanned: int = NO_ALLELE
) -> Frequencies:
    """Estimate the allele frequencies of a site from PL.

    Parameters
    ----------
    phreds
        int32[n, g]: PL of the g diploid genotypes of n samples, in the order of VCF.
    priors
        float64[a]: the pseudo-count of each allele, REF first.
    spanned
        The number of the allele `*`, if there is one.
    """
    genotypes = genotypes_of([priors.size])
    work = new_work(len(phreds), priors.size, phreds.shape[1])
    work.phreds[:] = phreds
    work.priors[:] = priors
    log10_no_variant = estimate(
        work, len(phreds), priors.size, spanned, genotypes.tables, np.int64(2)
    )
    counts = np.floor(work.counts + 0.5).astype(np.int64)
    return Frequencies(-10.0 * log10_no_variant + 0.0, work.absent, counts)


def frequencies(alleles: str, phreds: str) -> Frequencies:
    """Estimate the frequencies of a site of one sample with GATK's default priors."""
    reference, *others = alleles.split(",")
    priors = pseudo_counts_of(DEFAULTS)
    values = [priors.snp if len(alt) == len(reference) else priors.indel for alt in others]
    spanned = 1 + others.index("*") if "*" in others else NO_ALLELE
    row = np.array([[int(phred) for phred in phreds.split(",")]], dtype=np.int32)
    return frequencies_of(row, np.array([priors.reference, *values]), spanned)


def test_the_default_priors_are_those_of_gatk() -> None:
    assert pseudo_counts_of(DEFAULTS) == pytest.approx((10.0, 0.01, 0.00125), rel=1e-12)


@pytest.mark.parametrize(
    ("alleles", "phreds", "quality"),
    [
        # Calls of GATK on 20:10,000,000-10,050,000.
        ("C,T", "934,0,1248", 926.64),
        ("T,G", "2833,240,0", 2819.06),
        ("A,AAGGCT", "2339,156,0", 2325.03),
        ("CACACACACACA,C,CCACACACACA", "1717,539,803,595,0,533", 1700.02),
        ("A,G,AGGGAGG", "2406,645,532,697,0,574", 2389.06),
        # By the same formula.
        ("A,C", "50,0,500", 42.64),
        ("A,C", "45,6,0", 33.32),
        ("A,C", "39,3,0", 29.48),
        ("A,AC", "60,6,0", 48.28),
    ],
)
def test_quality_as_gatk(alleles: str, phreds: str, quality: float) -> None:
    assert frequencies(alleles, phreds).quality == pytest.approx(quality, abs=0.005)


def test_a_spanning_deletion_is_no_variant() -> None:
    """AlleleFrequencyCalculatorUnitTest, priors 1, 0.1 and 0.1, alleles A, B and `*`."""
    phreds = np.array([[50, 100, 100, 0, 100, 100]], dtype=np.int32)
    result = frequencies_of(phreds, np.array([1.0, 0.1, 0.1]), 2)
    assert 1.0 - 10.0 ** (result.quality / -10.0) < 1e-10
    assert frequencies_of(phreds, np.array([1.0, 0.1, 0.1])).quality > 30.0


@pytest.mark.parametrize(
    ("genotypes", "counts"),
    [
        ([(0, 0), (1, 1)], [2, 0]),
        ([(0, 0), (0, 1), (0, 2)], [1, 1]),
        ([(0, 0), (0, 1)], [1, 0]),
    ],
)
def test_maximum_likelihood_counts_as_gatk(
    genotypes: list[tuple[int, int]], counts: list[int]
) -> None:
    """AlleleFrequencyCalculatorUnitTest, priors 1: a sample of each genotype, PL 20 for others."""
    order = genotypes_reference(3)
    rows = [[0 if other == own else CONFIDENT for other in order] for own in genotypes]
    result = frequencies_of(np.array(rows, dtype=np.int32), np.ones(3))
    assert result.counts.tolist()[1:] == counts


@pytest.mark.parametrize("seed", range(300))
def test_equal_to_the_reference_implementation(seed: int) -> None:
    random = Random(seed)  # noqa: S311  (the same data on every run)
    alleles, samples = random.randint(2, 7), random.choice([1, 1, 2, 5])
    genotypes = alleles * (alleles + 1) // 2
    rows = [random_phreds(random, genotypes) for _ in range(samples)]
    priors = [10.0, *random.choices([0.01, 0.00125, 1.0], k=alleles - 1)]
    spanned = random.choice([None, random.randint(1, alleles - 1)])
    expected = frequencies_reference(rows, priors, spanned)
    row = NO_ALLELE if spanned is None else spanned
    result = frequencies_of(np.array(rows, dtype=np.int32), np.array(priors), row)
    assert result.quality == pytest.approx(expected.quality, rel=1e-9, abs=1e-9)
    assert result.log10_absent == pytest.approx(expected.log10_absent, rel=1e-9, abs=1e-9)
    assert np.abs(result.counts - expected.counts).max() <= 0.5 + 1e-9

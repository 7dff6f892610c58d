"""Reference implementation of genotyping, against definitions that share no code with it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.genotyping.calls.reference import (
    allele_depths_reference,
    allele_likelihoods_reference,
    call_reference,
    fragment_reference,
    genotype_likelihoods_reference,
    genotypes_reference,
)


@pytest.mark.parametrize(
    ("alleles", "ploidy", "written"),
    [
        (3, 1, "0 1 2"),
        (2, 2, "00 01 11"),
        (3, 2, "00 01 11 02 12 22"),
        (2, 3, "000 001 011 111"),
        (3, 3, "000 001 011 111 002 012 112 022 122 222"),
        (2, 4, "0000 0001 0011 0111 1111"),
    ],
)
def test_genotypes_are_in_the_order_of_the_specification(
    alleles: int, ploidy: int, written: str
) -> None:
    genotypes = ["".join(map(str, genotype)) for genotype in genotypes_reference(alleles, ploidy)]
    assert genotypes == written.split()


@given(
    st.integers(1, 4),
    st.lists(st.lists(st.floats(-4.5, 0.0), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_every_read_comes_from_any_of_the_chromosomes(
    ploidy: int, reads: list[list[float]]
) -> None:
    likelihoods = genotype_likelihoods_reference(np.array(reads), ploidy)
    for genotype, likelihood in zip(genotypes_reference(3, ploidy), likelihoods, strict=True):
        ways = itertools.product(range(ploidy), repeat=len(reads))
        total = sum(
            math.prod(10.0 ** read[genotype[copy]] for read, copy in zip(reads, way, strict=True))
            for way in ways
        )
        assert likelihood == pytest.approx(math.log10(total / ploidy ** len(reads)), abs=1e-9)


@given(st.integers(1, 4), st.floats(0.001, 0.5))
def test_probabilities_of_all_reads_of_a_genotype_sum_to_1(ploidy: int, error: float) -> None:
    allele_read = {0: (1.0 - error, error), 1: (error, 1.0 - error)}
    totals = np.zeros(ploidy + 1)
    for pile in itertools.product((0, 1), repeat=3):
        likelihoods = np.log10([allele_read[base] for base in pile])
        totals += 10.0 ** np.array(genotype_likelihoods_reference(likelihoods, ploidy))
    assert totals == pytest.approx(1.0, abs=1e-12)


def test_mates_are_multiplied_and_capped_together() -> None:
    mates = [np.array([-1.0, -4.0, -9.0]), np.array([-2.0, -0.5, -8.0])]
    assert fragment_reference(mates, [101, 101]) == pytest.approx([-3.0, -4.5, -7.5])


def test_a_read_without_explanation_has_less_weight() -> None:
    poor, good = np.array([-4.5, -14.25]), np.array([-1.0, -2.0])
    assert fragment_reference([poor, good], [50, 50]) == pytest.approx([-5.5, -8.0])
    assert fragment_reference([poor, good], [51, 50]) == pytest.approx([-5.5, -10.0])
    assert fragment_reference([poor], [50]) == pytest.approx([-4.5, -6.0])
    assert fragment_reference([poor - 20.0], [50]) == pytest.approx([-24.5, -25.5])
    assert fragment_reference([poor, poor], [50, 50]) == pytest.approx([-9.0, -10.5])


def test_an_impossible_read_prefers_no_haplotype() -> None:
    impossible = np.array([-math.inf, -math.inf])
    assert fragment_reference([impossible], [150]).tolist() == [0.0, 0.0]
    assert fragment_reference([impossible, np.array([-1.0, -2.0])], [150, 50]).tolist() == [
        -1.0,
        -2.0,
    ]


def test_likelihood_of_an_allele_is_from_its_best_haplotype() -> None:
    fragments = np.array([[-1.0, -2.0, -1.5], [-3.0, -0.5, -0.25]])
    likelihoods = allele_likelihoods_reference(fragments, [0, 2, 2], 3)
    assert likelihoods == pytest.approx(np.array([[-1.0, -5.5, -1.5], [-3.0, -4.75, -0.25]]))


def test_only_fragments_with_a_clear_preference_support_an_allele() -> None:
    likelihoods = np.array([[-1.0, -1.125], [-1.0, -1.25], [-2.0, -0.5], [-1.0, -1.0]])
    assert allele_depths_reference(likelihoods) == [1, 1]


@given(st.lists(st.integers(1, 1000), min_size=6, max_size=6))
def test_calls_follow_the_rule_of_bayes(weights: list[int]) -> None:
    probabilities = [Fraction(weight, 1000) for weight in weights[:3]]
    priors = [Fraction(weight, sum(weights[3:])) for weight in weights[3:]]
    joint = [probability * prior for probability, prior in zip(probabilities, priors, strict=True)]
    best = joint.index(max(joint))
    call = call_reference(
        [math.log10(probability) for probability in probabilities],
        [math.log10(prior) for prior in priors],
        2,
        2,
    )
    # Genotypes equal to the best may be called instead: logarithms are rounded.
    assert sum(call.genotype) in {k for k in range(3) if math.isclose(joint[k], joint[best])}
    wrong, reference = 1 - joint[best] / sum(joint), joint[0] / sum(joint)
    assert call.quality == pytest.approx(-10.0 * math.log10(wrong), abs=1e-9)
    assert call.reference_quality == pytest.approx(-10.0 * math.log10(reference), abs=1e-9)
    expected = [
        -10.0 * math.log10(probability / max(probabilities)) for probability in probabilities
    ]
    assert call.phred_likelihoods == pytest.approx(expected, abs=1e-9)

"""Genotype priors, against drawing chromosomes from an urn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.genotyping.calls import chromosome_counts
from hapgpu.genotyping.calls.chromosome_counts import add_chromosomes
from hapgpu.genotyping.calls.priors import log10_priors
from hapgpu.genotyping.options import Prior
from tests.genotyping.calls.reference import genotypes_reference
from tests.haplotypes.made_records import made_sites
from tests.haplotypes.made_sites import insertions, record_of

ALTERNATIVES = st.lists(st.sampled_from(["C", "AC", "ACC", "*", "<DEL>", "G"]), max_size=4)


def population(alternatives: list[str], info: str = ".", ploidy: int = 2) -> NDArray[np.float64]:
    """Return the probabilities of the genotypes of one site."""
    priors = log10_priors(made_sites([record_of(0, alternatives, info)]), Prior.POPULATION, ploidy)
    probabilities: NDArray[np.float64] = 10.0 ** priors[0]
    return probabilities


@given(
    st.lists(st.tuples(ALTERNATIVES, st.lists(st.floats(0.0, 1.0), max_size=4)), max_size=5),
    st.sampled_from(Prior),
    st.integers(1, 4),
)
def test_priors_sum_to_1_at_every_site(
    sites: list[tuple[list[str], list[float]]], prior: Prior, ploidy: int
) -> None:
    records = [
        record_of(site, alternatives, f"X;AF={','.join(map(str, frequencies))}")
        for site, (alternatives, frequencies) in enumerate(sites)
    ]
    priors = log10_priors(made_sites(records), prior, ploidy)
    assert priors.lengths.tolist() == [
        math.comb(len(alternatives) + ploidy, ploidy) for alternatives, _ in sites
    ]
    for row in priors:
        assert (10.0**row).sum() == pytest.approx(1.0, abs=1e-12)


@given(ALTERNATIVES, st.integers(1, 4))
def test_flat_priors_are_equal(alternatives: list[str], ploidy: int) -> None:
    (row,) = log10_priors(made_sites([record_of(0, alternatives)]), Prior.FLAT, ploidy)
    assert (row == row[0]).all()


def urn(weights: Sequence[Fraction], ploidy: int) -> dict[tuple[int, ...], Fraction]:
    """Draw alleles in turn, each time returning one more of the drawn kind to the urn.

    Returns the probability of each draw, in its order.
    """
    drawn = {}
    for draw in itertools.product(range(len(weights)), repeat=ploidy):
        urn, drawn[draw] = list(weights), Fraction(1)
        for allele in draw:
            drawn[draw] *= urn[allele] / sum(urn)
            urn[allele] += 1
    return drawn


def genotypes_drawn(weights: Sequence[Fraction], ploidy: int) -> list[float]:
    """Return the probabilities of genotypes, in the order of VCF."""
    genotypes = dict.fromkeys(genotypes_reference(len(weights), ploidy), Fraction(0))
    for draw, probability in urn(weights, ploidy).items():
        genotypes[tuple(sorted(draw))] += probability
    return [float(probability) for probability in genotypes.values()]


WEIGHTS = st.lists(st.fractions(Fraction(1, 1000), 1000), min_size=1, max_size=3)


@given(WEIGHTS, st.integers(1, 4))
def test_order_does_not_matter_in_the_urn(weights: list[Fraction], ploidy: int) -> None:
    drawn = urn(weights, ploidy)
    assert sum(drawn.values()) == 1
    assert all(probability == drawn[tuple(sorted(draw))] for draw, probability in drawn.items())


@given(st.integers(0, 3), st.integers(1, 4))
def test_chromosomes_are_drawn_from_an_urn(alternatives: int, ploidy: int) -> None:
    weights = [Fraction(1), *[Fraction("0.145")] * alternatives]
    expected = genotypes_drawn(weights, ploidy)
    assert population(insertions(alternatives), ploidy=ploidy) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=4), st.integers(1, 4))
def test_chromosomes_of_info_are_in_the_urn(seen: list[int], ploidy: int) -> None:
    info = f"AC={','.join(map(str, seen[1:]))};AN={sum(seen)}"
    fresh = [Fraction(1), *[Fraction("0.145")] * (len(seen) - 1)]
    expected = genotypes_drawn([Fraction(a) + b for a, b in zip(seen, fresh, strict=True)], ploidy)
    assert population(insertions(len(seen) - 1), info, ploidy) == pytest.approx(expected, rel=1e-12)


@given(st.integers(1, 4), st.integers(0, 20), st.integers(0, 20))
def test_frequencies_of_one_alt_follow_a_beta_distribution(
    ploidy: int, references: int, variants: int
) -> None:
    """The density f**(0.145 - 1 + n) * (1 - f)**m has no pole in the variable f**0.145."""
    nodes, widths = np.polynomial.legendre.leggauss(100)
    frequency = ((nodes + 1.0) / 2.0) ** (1.0 / 0.145)
    density = widths * frequency**variants * (1.0 - frequency) ** references
    expected = [
        math.comb(ploidy, copies)
        * (density * frequency**copies * (1.0 - frequency) ** (ploidy - copies)).sum()
        / density.sum()
        for copies in range(ploidy + 1)
    ]
    info = f"AC={variants};AN={references + variants}"
    assert population(["C"], info, ploidy) == pytest.approx(expected, rel=1e-9)


def test_how_often_two_chromosomes_differ() -> None:
    assert population(["C"]) == pytest.approx([0.81, 0.12, 0.07], abs=0.005)


@pytest.mark.parametrize("allele", ["AC", "*", "<DEL>"])
def test_the_kind_of_an_allele_does_not_matter(allele: str) -> None:
    assert np.array_equal(population([allele]), population(["C"]))


@given(st.lists(st.integers(1, 100), min_size=2, max_size=4), st.integers(1, 4))
def test_many_chromosomes_make_it_hardy_weinberg(weights: list[int], ploidy: int) -> None:
    frequencies = np.array(weights) / sum(weights)
    expected = dict.fromkeys(genotypes_reference(len(weights), ploidy), 0.0)
    for drawn in itertools.product(range(len(weights)), repeat=ploidy):
        expected[tuple(sorted(drawn))] += math.prod(frequencies[list(drawn)])
    info = f"AN=2147483647;AF={','.join(map(str, frequencies[1:]))}"
    computed = population(insertions(len(weights) - 1), info, ploidy)
    assert computed == pytest.approx(list(expected.values()), rel=1e-5)


@pytest.mark.parametrize(
    ("info", "references", "variants"),
    [
        ("AF=0.25", 75, 25),
        ("AF=0", 100, 0),
        ("AF=1", 0, 100),
        ("AN=8;AF=0.25", 6, 2),
        ("AN=x;AF=0.25", 75, 25),
        ("AN=-4;AF=0.25", 75, 25),
        ("AN=2147483648;AF=0.25", 75, 25),
        ("DP=3;AF=2.5e-1;AC=9;AN=10", 1, 9),
        ("AC=1;AN=6", 5, 1),
        ("AN=6;AC=1;AF=.", 5, 1),
        ("AC=7;AN=6;AF=0.5", 3, 3),
        ("AC=3;AF=0.25", 75, 25),
        ("AC=0;AF=0.25", 75, 25),
        ("AC=0;AN=0;AF=0.25", 75, 25),
        ("AC=2;AN=2", 0, 2),
        ("AC=0;AN=2000000000", 2_000_000_000, 0),
        ("AC=1;AN=6;DB", 5, 1),
        ("AC=1;AN=6;ANN=C|x", 5, 1),
        ("AF=0e0", 100, 0),
    ],
)
def test_chromosomes_in_info(info: str, references: int, variants: int) -> None:
    expected = genotypes_drawn([Fraction(1 + references), Fraction("0.145") + variants], 2)
    assert population(["C"], info) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "info",
    [
        *("AF", "AF=", "AF=x", "AF=.", "AF=nan", "AF=inf", "AF=-0.1", "AF=1.5", "AF=0.1,0.2"),
        *("MAF=0.2", "AN=4", "AC=1", "AC=.;AN=4", "AC=1,2;AN=9", "AC=3;AN=2", "AC=1;AN=inf"),
        *("AC=1;AN=0", "AC=0;AN=0", "AF=0.25,", "AC=1;AN=6;AC", "AC=1;AN=6;AC="),
    ],
)
def test_info_without_valid_frequencies_is_ignored(info: str) -> None:
    assert np.array_equal(population(["C"], info), population(["C"]))


def test_sites_with_too_many_genotypes_have_no_priors() -> None:
    sites = made_sites([record_of(0, insertions(20)), record_of(1, ["C"])])
    for prior in Prior:
        assert log10_priors(sites, prior, 4).lengths.tolist() == [0, 5]


@pytest.mark.parametrize("prior", Prior)
def test_no_sites(prior: Prior) -> None:
    assert len(log10_priors(made_sites([]), prior, 2)) == 0


NUMBERS = st.one_of(
    st.floats(0.0, 1.0).map(repr),
    st.floats(0.0, 2.0).map(lambda value: f"{value:.4f}"),
    st.integers(0, 40).map(str),
    st.sampled_from(
        ["0.1234567890123456789", "1e-3", "1E2", ".5", "5.", ".", "", "+1", "1_0", " 1", "1..2"]
    ),
)


@example(alternatives=1, items=[("AF", "=", "0.9007199254740993")])  # 2**53 + 1
@example(alternatives=1, items=[("AF", "=", f"{1e-23:.23f}")])
@example(alternatives=2, items=[("AF", "=", "0.25")])
@given(
    alternatives=st.integers(0, 3),
    items=st.lists(
        st.tuples(
            st.sampled_from(["AC", "AF", "AN", "A", "AFX", "XAC"]),
            st.sampled_from(["=", "=", "=", "", "=="]),
            st.lists(NUMBERS, max_size=4).map(",".join),
        ),
        max_size=4,
    ),
)
def test_any_info_is_read_as_by_python(
    alternatives: int, items: list[tuple[str, str, str]]
) -> None:
    info = ";".join("".join(item) for item in items) or "."
    record = record_of(0, insertions(alternatives), info)
    weights = np.zeros(alternatives + 1)
    add_chromosomes(made_sites([record]), weights)
    expected = chromosome_counts._chromosome_counts(record)
    assert weights.tolist() == (expected or [0.0] * (alternatives + 1))

"""Excess heterozygosity, against all genotypes of the same allele counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.annotations.heterozygosity import (
    excess_heterozygosity,
    genotype_row,
    right_tail,
)
from tests.calling.annotations import reference
from tests.calling.made_calls import likelihood_calls

COUNTS = st.one_of(st.integers(0, 3), st.integers(0, 40))


@given(st.tuples(COUNTS, COUNTS, COUNTS))
def test_random_counts(counts: tuple[int, int, int]) -> None:
    p = right_tail(*counts, np.empty(sum(counts) + 3))
    assert -10 * np.log10(p) == pytest.approx(reference.excess_heterozygosity(*counts), 1e-9, 1e-9)


def phred_of(genotypes: list[tuple[int, int]], alleles: int) -> list[list[int]]:
    """Return likelihoods of certain genotypes."""
    size = alleles * (alleles + 1) // 2
    rows = [[99] * size for _ in genotypes]
    for row, (one, other) in zip(rows, genotypes, strict=True):
        row[genotype_row(one, other)] = 0
    return rows


@pytest.mark.parametrize(
    ("alleles", "genotypes", "counts"),
    [
        (2, [(0, 1)], (0, 1, 0)),
        (2, [(1, 1)], (0, 0, 1)),
        (2, [(0, 1)] * 4, (0, 4, 0)),
        (2, [(0, 0), (0, 1), (0, 1), (1, 1)], (1, 2, 1)),
        (3, [(0, 2), (0, 1), (1, 2), (2, 2), (0, 0)], (1, 2, 2)),
    ],
)
def test_genotypes_are_counted(
    alleles: int, genotypes: list[tuple[int, int]], counts: tuple[int, int, int]
) -> None:
    calls = likelihood_calls([phred_of(genotypes, alleles)], [alleles])
    (found,) = excess_heterozygosity(calls, len(genotypes))
    assert found == pytest.approx(reference.excess_heterozygosity(*counts), abs=1e-9)


@pytest.mark.parametrize(
    ("phred", "counts"),
    [
        ([0, 0, 200], (1, 0, 0)),
        ([200, 0, 0], (0, 1, 0)),
        ([0, 200, 0], (1, 0, 1)),
        ([0, 0, 50], (0, 0, 0)),
        ([0, 0, 0], (0, 0, 0)),
        ([0, 1, 2], (0, 0, 0)),
        ([0, 3, 10], (1, 0, 0)),
        ([], (0, 0, 0)),  # a sample without likelihoods
    ],
)
def test_uncertain_genotypes(phred: list[int], counts: tuple[int, int, int]) -> None:
    others = [[99, 0, 99]] * 3
    calls = likelihood_calls([[phred, *others]], [2])
    expected = reference.excess_heterozygosity(counts[0], counts[1] + 3, counts[2])
    assert excess_heterozygosity(calls, 4)[0] == pytest.approx(expected, abs=1e-9)


def test_limits() -> None:
    many = 300
    calls = likelihood_calls([phred_of([(0, 1)] * many, 2), [[]] * many], [2, 2])
    found = excess_heterozygosity(calls, many)
    assert found[0] == 160.0
    assert np.isnan(found[1])


def test_genotypes_of_gatk() -> None:
    assert [genotype_row(0, 1), genotype_row(1, 1), genotype_row(0, 100)] == [1, 2, 5050]

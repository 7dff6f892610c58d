"""Genotypes in the order of VCF, against the formula and the recursion of the specification."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.genotyping.calls.genotype_order import common_table, genotype_counts, genotype_table
from tests.genotyping.calls.reference import genotypes_reference

MAX_GENOTYPES = 10_000  # docs/methods/genotype.md

ALLELES, PLOIDIES = st.integers(1, 12), st.integers(1, 4)


@given(ALLELES, PLOIDIES)
def test_order_equals_the_recursion(alleles: int, ploidy: int) -> None:
    table = genotype_table(alleles, ploidy)
    assert list(map(tuple, table.tolist())) == list(genotypes_reference(alleles, ploidy))


@given(ALLELES, PLOIDIES)
def test_the_formula_gives_the_row_of_each_genotype(alleles: int, ploidy: int) -> None:
    for row, genotype in enumerate(genotype_table(alleles, ploidy).tolist()):
        assert row == sum(comb(allele + m, m + 1) for m, allele in enumerate(sorted(genotype)))


@given(st.lists(ALLELES, min_size=1, max_size=5), PLOIDIES)
def test_the_common_table_starts_with_the_table_of_each_site(
    alleles: list[int], ploidy: int
) -> None:
    common = common_table(np.array(alleles), ploidy)
    for count in alleles:
        table = genotype_table(count, ploidy)
        assert np.array_equal(common[: len(table)], table)


@pytest.mark.parametrize(
    ("alleles", "ploidy", "count"),
    [
        (1, 4, 1),
        (2, 2, 3),
        (4, 2, 10),
        (20, 4, 8855),
        (21, 4, 0),
        (10**6, 4, 0),
        (10_000, 1, 10_000),
    ],
)
def test_counts(alleles: int, ploidy: int, count: int) -> None:
    assert genotype_counts(np.array([alleles, 1]), ploidy).tolist() == [count, 1]


def test_sites_with_too_many_genotypes_need_no_table() -> None:
    assert len(common_table(np.array([3, MAX_GENOTYPES + 1]), 1)) == 3
    assert len(common_table(np.array([], dtype=np.int64), 2)) == 1

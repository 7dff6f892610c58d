"""Genotype likelihoods on the GPU against the CPU: all bits are equal."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from hapgpu.genotyping.batches import SiteLikelihoods
from hapgpu.genotyping.calls.genotype_order import MAX_GENOTYPES
from tests.genotyping.calls.device_likelihoods import device_likelihoods
from tests.genotyping.calls.test_likelihoods import Case, Fragment, cases, likelihoods_of

pytestmark = pytest.mark.gpu


def on_gpu(case: Case) -> SiteLikelihoods:
    cupy = pytest.importorskip("cupy")
    return device_likelihoods(case, cupy.asarray)


def check(case: Case) -> SiteLikelihoods:
    expected, found = likelihoods_of(case), on_gpu(case)
    np.testing.assert_array_equal(found.depths, expected.depths)
    assert found.depths.shape == expected.depths.shape
    for name in ("allele_depths", "genotypes"):
        rows, expected_rows = getattr(found, name), getattr(expected, name)
        assert rows.data.dtype == expected_rows.data.dtype
        np.testing.assert_array_equal(rows.offsets, expected_rows.offsets)
    np.testing.assert_array_equal(found.allele_depths.data, expected.allele_depths.data)
    np.testing.assert_array_equal(found.genotypes.data, expected.genotypes.data)
    return found


@settings(max_examples=60)
@given(cases())
def test_random_cases(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("ploidy", [1, 2, 4])
def test_deep_sites_of_many_alleles(ploidy: int) -> None:
    """Products that would underflow, and more alleles, haplotypes and genotypes than lanes."""
    random = np.random.default_rng(ploidy)
    alleles = [[2, 12], [40]] if ploidy < 4 else [[2, 7], [9]]
    carried = [
        [[int(random.integers(0, count)) for count in sites] for _ in range(45)]
        for sites in alleles
    ]
    fragments = [
        Fragment(locus, sample, [(-40, 400)], (-4.5 * random.random(45)).tolist())
        for locus in range(2)
        for sample in range(2)
        for _ in range(700)
    ]
    found = check(Case(alleles, carried, fragments, 2, ploidy))
    assert (found.depths == 700).all()
    assert found.genotypes.data.min() < -300


def test_a_site_with_too_many_genotypes() -> None:
    alleles = 2 * int(MAX_GENOTYPES**0.5)
    case = Case([[alleles]], [[[0], [1]]], [Fragment(0, 0, [(0, 5)], [0.0, -3.0])], 1, 2)
    found = check(case)
    assert not found.genotypes.data.size
    assert found.depths.sum() == found.allele_depths.data.sum() == 1


def test_no_fragments() -> None:
    case = Case([[2], [3, 2]], [[[0], [1]], [[0, 1], [2, 0]]], [], 3, 2)
    assert not check(case).genotypes.data.any()
    check(Case([], [], [], 1, 2))

"""InbreedingCoeff, against its definition; and GATK's cases of ExcessHet."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.annotations.heterozygosity import (
    excess_heterozygosity,
    inbreeding_coefficients,
)
from tests.calling.annotations.test_heterozygosity import phred_of
from tests.calling.made_calls import likelihood_calls

CASE = [(0, 1)] * 5 + [(1, 1)] * 4 + [(1, 2)]
"""ExcessHetUnitTest: A/T five times, T/T four times, T/C."""


@pytest.mark.parametrize(
    ("genotypes", "alleles", "expected"),
    [(CASE, 3, 2.8389324060524004), ([(0, 1)] * 10, 2, 22.562985944843152), ([(0, 1)], 2, 0.0)],
)
def test_excess_heterozygosity(
    genotypes: list[tuple[int, int]], alleles: int, expected: float
) -> None:
    calls = likelihood_calls([phred_of(genotypes, alleles)], [alleles])
    (found,) = excess_heterozygosity(calls, len(genotypes))
    assert found == pytest.approx(expected, 1e-12)


def oracle(phreds: list[list[int]], alleles: int) -> float:
    """Return the coefficient by the fractions of three kinds of genotypes."""
    order = [(i, j) for j in range(alleles) for i in range(j + 1)]
    totals = [0.0, 0.0, 0.0]
    for row in phreds:
        best = order[row.index(min(row))]
        if alleles > 2 and best[0] > 0:
            totals[2] += 1
            continue
        hets = [row[order.index((0, j))] for j in range(1, alleles)]
        j = 1 + hets.index(min(hets))
        own = [row[order.index(g)] for g in ((0, 0), (0, j), (j, j))]
        weights = [10 ** (-(value - min(own)) / 10) for value in own]
        totals = [t + w / sum(weights) for t, w in zip(totals, weights, strict=True)]
    p = (2 * totals[0] + totals[1]) / (2 * sum(totals))
    expected = 2 * p * (1 - p) * len(phreds)
    return 1 - totals[1] / expected if expected > 0 else math.nan


PHRED = st.one_of(st.integers(0, 5), st.integers(0, 300))


@given(st.integers(2, 4), st.integers(10, 14), st.data())
def test_random_likelihoods(alleles: int, samples: int, data: st.DataObject) -> None:
    size = alleles * (alleles + 1) // 2
    rows = data.draw(
        st.lists(st.lists(PHRED, min_size=size, max_size=size), min_size=samples, max_size=samples)
    )
    rows = [[value - min(row) for value in row] for row in rows]
    (found,) = inbreeding_coefficients(likelihood_calls([rows], [alleles]), samples)
    assert found == pytest.approx(oracle(rows, alleles), 1e-9, 1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("genotypes", "expected"),
    [
        ([(0, 1)] * 10, -1.0),
        ([(0, 0)] * 5 + [(1, 1)] * 5, 1.0),
        ([(0, 0)] * 3 + [(0, 1)] * 5 + [(1, 1)] * 2, 1 - 5 / (2 * 0.55 * 0.45 * 10)),
    ],
)
def test_certain_genotypes(genotypes: list[tuple[int, int]], expected: float) -> None:
    phred = [[5000 * (value > 0) for value in row] for row in phred_of(genotypes, 2)]
    calls = likelihood_calls([phred], [2])
    assert inbreeding_coefficients(calls, 10)[0] == pytest.approx(expected)


def test_not_defined() -> None:
    """Less than ten samples, or samples with likelihoods; one allele; another ploidy."""
    phred = phred_of([(0, 1)] * 12, 2)
    calls = likelihood_calls([phred], [2])
    assert inbreeding_coefficients(calls, 12)[0] == pytest.approx(-1.0)
    haploid = replace(calls, ploidies=np.array([1]))
    assert np.isnan(inbreeding_coefficients(haploid, 12)[0])
    assert np.isnan(excess_heterozygosity(haploid, 12)[0])
    few = likelihood_calls([phred[:9]], [2])
    assert np.isnan(inbreeding_coefficients(few, 9)[0])
    empty = likelihood_calls([[*phred[:9], [], [], []]], [2])
    assert np.isnan(inbreeding_coefficients(empty, 12)[0])
    only_reference = likelihood_calls([[[0, 5000, 9000]] * 10], [2])
    assert np.isnan(inbreeding_coefficients(only_reference, 10)[0])

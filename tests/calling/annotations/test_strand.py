"""Strand bias, against GATK's cases and exact probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.calling.annotations.strand_bias import fisher_p, odds_ratio, strand_statistics
from tests.calling.annotations import reference


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ((0, 0, 0, 0), 0.693),
        ((100, 100, 100, 0), 9.230),
        ((66, 14, 64, 4), 2.248),
        ((2068, 6796, 1133, 0), 14.067),
    ],
)
def test_odds_ratios_of_gatk(table: tuple[int, ...], expected: float) -> None:
    assert odds_ratio(*table) == pytest.approx(expected, abs=5e-4)
    assert reference.odds_ratio(table) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("table", "expected"),
    [((66, 14, 64, 4), 0.0424333), ((12, 4, 26, 7), 1.0), ((9, 13, 12, 10), 0.5466948)],
)
def test_p_values_of_gatk(table: tuple[int, ...], expected: float) -> None:
    assert fisher_p(*table) == pytest.approx(expected, abs=5e-8)
    assert reference.fisher_p(table) == pytest.approx(expected, abs=5e-8)


CELLS = st.one_of(st.integers(0, 4), st.integers(0, 60), st.integers(0, 3000))


@given(st.tuples(CELLS, CELLS, CELLS, CELLS))
def test_random_tables(table: tuple[int, int, int, int]) -> None:
    assert fisher_p(*table) == pytest.approx(reference.fisher_p(table), 1e-9)
    assert odds_ratio(*table) == pytest.approx(reference.odds_ratio(table), 1e-12, 1e-12)


def test_scaled_tables_are_truncated() -> None:
    # 401 reads: cells of 100.25 x 200 / 401 = 50 and less.
    assert fisher_p(101, 100, 100, 100) == fisher_p(50, 49, 49, 49)
    assert fisher_p(100, 100, 100, 100) == pytest.approx(1.0)
    # 400 reads: not scaled.
    assert fisher_p(130, 70, 100, 100) == pytest.approx(reference.fisher_p((130, 70, 100, 100)))


def test_few_reads_of_a_sample_count_in_sor_only() -> None:
    tables = np.array([[[9, 0, 0, 9], [1, 0, 1, 0]]])
    fisher, odds = strand_statistics(tables)
    assert fisher[0] == pytest.approx(-10 * math.log10(reference.fisher_p((9, 0, 0, 9))))
    assert odds[0] == pytest.approx(reference.odds_ratio((10, 0, 1, 9)))
    fisher, odds = strand_statistics(np.array([[[2, 0, 0, 0]], [[0, 0, 0, 0]]]))
    assert fisher.tolist() == [0.0, 0.0]
    assert odds[1] == pytest.approx(math.log(2))

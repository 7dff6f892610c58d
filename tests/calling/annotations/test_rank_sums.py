"""Rank sums, against GATK's cases and all choices of ranks."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.calling.annotations.rank_sums import MISSING, normal_quantile, rank_sums
from hapgpu.calling.genotypes.evidence import ALTERNATE, NEITHER, REFERENCE
from tests.calling.annotations import reference
from tests.example_counts import many


def z_scores(records: list[tuple[list[int], list[int]]]) -> list[float]:
    """Return the scores of several records: values of ALT, values of REF."""
    values, sides, ends = [], [], [0]
    for alternates, references in records:
        values += [MISSING, *alternates, 77, *references]
        sides += [REFERENCE, *([ALTERNATE] * len(alternates)), NEITHER]
        sides += [REFERENCE] * len(references)
        ends.append(len(values))
    rows = np.array(ends[:-1], dtype=np.int64), np.array(ends[1:], dtype=np.int64)
    sides_of = np.array(sides, dtype=np.int8)
    return rank_sums(rows, sides_of, np.array(values, dtype=np.int64)).tolist()


GATK = [
    ([1], [1, 2, 3], -0.67449),
    ([3, 3], [1, 2, 3], 1.03643),
    ([20], [20, 20, 20], 0.0),
    ([60, 70, 70, 60, 60, 60, 60, 60], [60] * 5, 0.91732),
]


def test_scores_of_gatk() -> None:
    for found, (alternates, references, expected) in zip(
        z_scores([case[:2] for case in GATK]), GATK, strict=True
    ):
        assert found == pytest.approx(expected, abs=6e-6)
        assert reference.rank_sum(alternates, references) == pytest.approx(expected, abs=6e-6)


@pytest.mark.parametrize(
    ("references", "expected"),
    [([16, 20, 20, 21, 21], 0.00396825), ([16, 20, 20, 21, 21, 21, 21, 22, 23, 27], 0.001469)],
)
def test_probabilities_of_gatk(references: list[int], expected: float) -> None:
    (score,) = z_scores([([13, 14, 15, 15, 16], references)])
    assert NormalDist().cdf(score) == pytest.approx(expected, abs=5e-7)


VALUES = st.one_of(
    st.lists(st.integers(0, 3), max_size=6),
    st.lists(st.integers(0, 3), max_size=30),
    st.lists(st.integers(0, 300), max_size=30),
)


@settings(max_examples=many(200))
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=3))
def test_random_values(records: list[tuple[list[int], list[int]]]) -> None:
    expected = [reference.rank_sum(*record) for record in records]
    assert z_scores(records) == pytest.approx(expected, 1e-9, 1e-9, nan_ok=True)


def test_edges() -> None:
    assert np.isnan(z_scores([([], [1]), ([1], []), ([], [])])).all()
    tied, nine = z_scores([([7] * 40, [7] * 50), ([5] * 9, list(range(9)))])
    assert tied == 0.0
    assert math.copysign(1.0, tied) == 1.0
    assert nine == pytest.approx(reference.rank_sum([5] * 9, list(range(9))))
    assert rank_sums((np.zeros(0, int),) * 2, np.zeros(0, np.int8), np.zeros(0, int)).size == 0


@given(st.floats(1e-12, 1.0, exclude_max=True))
def test_quantiles(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), 1e-12, 1e-12)

"""QUAL per read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.annotations.annotator import quality_by_depth
from tests.calling.annotations import reference
from tests.calling.made_calls import joined, likelihood_calls

HET, HOM, REF, NONE = [0, 1], [1, 1], [0, 0], [-1, -1]


@pytest.mark.parametrize(
    ("genotypes", "depths", "reads", "quality", "expected"),
    [
        ([HET], [[5, 5]], [10], 50.0, 5.0),
        ([HET, HET], [[5, 5], [8, 2]], [10, 10], 50.0, 2.5),
        ([HET, HET], [[5, 5], [9, 1]], [10, 10], 50.0, 5.0),
        ([HET, HET], [[9, 1], [8, 0]], [10, 10], 36.0, 2.0),
        ([HET, REF, NONE], [[5, 5], [30, 0], [0, 7]], [10, 30, 9], 50.0, 5.0),
        ([HOM, HET], [[0, 0], [9, 1]], [6, 10], 32.0, 2.0),
        ([HET, HET], [[0, 0], [2, 2]], [6, 10], 32.0, 8.0),
        ([HET], [[0, 0]], [0], 50.0, np.nan),
        ([REF], [[9, 9]], [20], 50.0, np.nan),
        ([HOM], [[0, 10]], [10], 350.0, 30.0),
        ([HOM], [[0, 10]], [10], 349.9, 34.99),
    ],
)
def test_cases(
    genotypes: list[list[int]],
    depths: list[list[int]],
    reads: list[int],
    quality: float,
    expected: float,
) -> None:
    calls = likelihood_calls([[[0, 0, 0]] * len(genotypes)], [2], [genotypes], quality)
    rows = joined([np.array(row) for row in depths], np.int32)
    (found,) = quality_by_depth(calls, rows, np.array([reads]))
    assert found == pytest.approx(expected, nan_ok=True)
    plain = reference.quality_by_depth(quality, genotypes, depths, reads)
    assert plain == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("genotype", "is_variant"),
    [
        ([1, -2], True),  # one copy; the second column is padding
        ([0, -2], False),
        ([-1, -2], False),
        ([0, 0, 1], True),
        ([0, 0, 0], False),
        ([-1, -1, -1], False),
    ],
)
def test_other_ploidies(genotype: list[int], is_variant: bool) -> None:
    calls = likelihood_calls([[[0, 9, 9]]], [2])
    calls = replace(calls, genotypes=np.array([[genotype]], dtype=np.int16))
    depths = Ragged.from_lengths(np.array([3, 7], dtype=np.int32), np.array([2]))
    (found,) = quality_by_depth(calls, depths, np.array([[12]]))
    assert found == (pytest.approx(5.0) if is_variant else pytest.approx(np.nan, nan_ok=True))

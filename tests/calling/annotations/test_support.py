"""Alleles that reads support: single cases."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.calling.batches import ReadsAtSites
from hapgpu.calling.genotypes.evidence import ALTERNATE, NEITHER, REFERENCE, support_of
from tests.calling.made_calls import joined, likelihood_calls


@pytest.mark.parametrize(
    ("likelihoods", "side", "depths"),
    [
        ([0.0, -0.2], NEITHER, [0, 0]),
        ([-0.2, 0.0], NEITHER, [0, 0]),
        ([0.0, -0.21], REFERENCE, [1, 0]),
        ([-0.21, 0.0], ALTERNATE, [0, 1]),
    ],
)
def test_an_allele_is_more_than_a_fifth_above_the_next(
    likelihoods: list[float], side: int, depths: list[int]
) -> None:
    """GATK: the confidence is above LOG_10_INFORMATIVE_THRESHOLD."""
    none = np.zeros(0, dtype=np.int64)
    rows = joined([np.array(likelihoods)], np.float64)
    offsets, no_others = np.array([0, 1]), np.zeros(2, dtype=np.int64)
    reads = ReadsAtSites(offsets, np.zeros(1, dtype=np.int64), rows, no_others, none)
    calls = likelihood_calls([[[0, 0, 0]]], [2])
    found = support_of(calls, reads, np.zeros(1, dtype=np.int32), 1)
    assert found.sides.tolist() == [side]
    assert found.allele_depths[0].tolist() == depths

"""The cap of likelihoods and the filter of reads, against GATK's rules in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.pairhmm.normalize import is_well_modelled, normalized
from tests.pairhmm import preparation_oracle

VALUES = st.lists(st.floats(-700, 0), min_size=1, max_size=5)


@given(st.lists(VALUES, max_size=8))
def test_no_value_is_far_below_the_best_of_its_read(reads: list[list[float]]) -> None:
    values = np.array([value for read in reads for value in read], dtype=np.float64)
    counts = np.array([len(read) for read in reads], dtype=np.int64)
    raised, best = normalized(values, counts)
    expected = [value for read in reads for value in preparation_oracle.normalized(read)]
    assert raised.tolist() == expected
    assert best.tolist() == [max(read) for read in reads]


@given(st.floats(-20, 0), st.integers(1, 20_000))
def test_well_modelled_reads(best: float, length: int) -> None:
    (well,) = is_well_modelled(np.array([best]), np.array([length]))
    assert well == preparation_oracle.is_well_modelled([best], length)


@pytest.mark.parametrize(
    ("length", "threshold"), [(1, -4.0), (50, -4.0), (51, -8.0), (100, -8.0), (5_000, -8.0)]
)
def test_the_threshold_itself_is_enough(length: int, threshold: float) -> None:
    best = np.array([threshold, np.nextafter(threshold, -9.0)])
    assert is_well_modelled(best, np.full(2, length)).tolist() == [True, False]

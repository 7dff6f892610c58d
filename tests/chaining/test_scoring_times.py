"""What is measured of the kernels that score anchors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.chaining.options import ChainOptions
from hapgpu.chaining.rules import chain_rules
from tests.chaining.chain_oracle import Anchor, colinear_reads, made_reads, to_batch

pytest.importorskip("cupy")

from hapgpu.chaining.benchmark_cuda import (
    count_pairs,
    time_scores,
    time_successors,
)
from hapgpu.device import CudaDevice


def pairs_within_reach(read: list[Anchor], reach: int, most: int) -> int:
    return sum(
        min(most, sum(a.sequence == b.sequence and a.target - b.target <= reach for b in read[:i]))
        for i, a in enumerate(read)
    )


@given(
    made_reads() | colinear_reads(),
    st.sampled_from([0, 10, 60, 5000]),
    st.sampled_from([0, 1, 7, 5000]),
)
def test_pairs(reads: list[list[Anchor]], reach: int, most: int) -> None:
    rules = chain_rules(ChainOptions(max_gap=reach, bandwidth=0, max_iterations=most), 15)
    expected = sum(pairs_within_reach(read, reach, most) for read in reads)
    assert count_pairs(to_batch(reads), rules) == expected


@pytest.mark.gpu
@pytest.mark.parametrize("time", [time_scores, time_successors])
def test_times(time: object) -> None:
    read = [Anchor(0, place, place, 15) for place in np.arange(0, 900, 3).tolist()]
    rules = chain_rules(ChainOptions(), 15)
    assert callable(time)
    found = time(to_batch([read, []]), rules, CudaDevice(0, ""), copies=4, repeats=3)
    assert found.anchors == 4 * 300
    assert found.pairs == 4 * 300 * 299 // 2
    assert 0 < found.best_seconds <= found.median_seconds

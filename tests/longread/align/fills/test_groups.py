"""Groups of pairs that share a band."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.vectors import LANES
from hapgpu.longread.align.dp.fills import Width, next_group, sort_pairs

LENGTHS = st.integers(1, 400) | st.integers(1, 100_000)


@given(
    lengths=st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=100),
    diagonals=st.integers(1, 300),
)
def test_groups_have_every_pair_once_in_a_band_that_suits_it(
    lengths: list[tuple[int, int]], diagonals: int
) -> None:
    targets, queries = np.array(lengths, np.int32).T.copy()
    order = np.arange(targets.size)
    width = Width(diagonals, 220)
    sort_pairs(order, targets, queries, width)
    assert sorted(order) == list(range(targets.size))
    first = 0
    while first < order.size:
        end, band = next_group(order, first, targets, queries, width)
        group = order[first:end]
        assert 0 < group.size <= LANES
        assert (band.rows, band.query_length) == (targets[group].max(), queries[group].max())
        min_diagonal = band.max_diagonal - band.columns + 1
        for target, query in zip(targets[group], queries[group], strict=True):
            below, above = min(0, int(target) - query), max(0, int(target) - query)
            assert min_diagonal <= max(below - diagonals, -query)
            assert band.max_diagonal >= min(above + diagonals, target)
        first = end

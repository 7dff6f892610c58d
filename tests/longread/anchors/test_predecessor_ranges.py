"""Predecessor ranges against a search of all pairs, and their statistics."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.longread.batches import Anchors
from hapgpu.longread.options import ChainOptions
from hapgpu.longread.parameters import chain_parameters
from hapgpu.longread.seed.predecessor_ranges import predecessor_ranges, range_statistics

PARAMETERS = chain_parameters(ChainOptions(), 15)


def anchors_of(reads: list[list[int]]) -> Anchors:
    x = np.array([key for read in reads for key in sorted(read)], dtype=np.uint64)
    return Anchors(x, np.zeros_like(x), np.cumsum([0, *map(len, reads)]))


def expected(keys: list[int], max_iterations: int) -> int:
    """Count the anchors within reach among the `max_iterations` before the last one."""
    *before, last = keys
    return sum(
        key >> 32 == last >> 32 and last - key <= PARAMETERS.max_distance_x
        for key in before[max(len(before) - max_iterations, 0) :]
    )


POSITIONS = st.integers(0, 12_000) | st.integers(2**31 - 6000, 2**31 - 1)
KEYS = st.tuples(st.booleans(), st.sampled_from([0, 1, 2**31 - 1]), POSITIONS).map(
    lambda key: key[0] << 63 | key[1] << 32 | key[2]
)


@given(st.lists(st.lists(KEYS, max_size=80), max_size=4), st.sampled_from([1, 3, 20, 5000]))
def test_made_anchors(reads: list[list[int]], max_iterations: int) -> None:
    ranges = predecessor_ranges(
        anchors_of(reads), replace(PARAMETERS, max_iterations=max_iterations)
    )
    assert ranges.dtype == np.int32
    assert ranges.tolist() == [
        expected(sorted(read)[: number + 1], max_iterations)
        for read in reads
        for number in range(len(read))
    ]


def test_bins() -> None:
    """Anchor i of many at one position has i predecessors."""
    statistics = range_statistics(anchors_of([[7] * 1100, [], [7]]), PARAMETERS)
    assert asdict(statistics) == {
        "reads": 3,
        "anchors": 1101,
        "mean": 1099 * 550 / 1101,
        "max": 1099,
        "cut_points": 2,
        "histogram": {
            "0": 2,
            "1-5": 5,
            "6-16": 11,
            "17-64": 48,
            "65-256": 192,
            "257-1024": 768,
            ">1024": 75,
        },
    }


def test_no_anchors() -> None:
    statistics = range_statistics(anchors_of([]), PARAMETERS)
    assert statistics.anchors == statistics.max == statistics.cut_points == 0
    assert statistics.mean == 0
    assert sum(statistics.histogram.values()) == 0


@pytest.mark.parametrize("kind", ["bacterial", "repeat_rich"])
def test_real_anchors(data_dir: Path, kind: str) -> None:
    """Predecessors chosen without skipping are within the range."""
    with np.load(data_dir / "longread" / "chain" / f"anchors_{kind}.npz") as file:
        anchors = Anchors(file["x"], file["y"], file["offsets"])
        predecessors = file["p_inf"]
    ranges = predecessor_ranges(anchors, PARAMETERS)
    starts = np.repeat(anchors.offsets[:-1], np.diff(anchors.offsets))
    distances = np.arange(anchors.x.size) - starts - predecessors
    assert (distances <= ranges)[predecessors >= 0].all()
    for row in np.random.default_rng(1).integers(0, anchors.x.size, 300).tolist():
        keys = anchors.x[starts[row] : row + 1].tolist()
        assert ranges[row] == expected(keys, PARAMETERS.max_iterations)

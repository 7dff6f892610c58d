"""Predecessor ranges against a search of all pairs, and what is counted of them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.chaining.anchors.predecessor_ranges import (
    predecessor_ranges,
    range_statistics,
)
from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.options import ChainOptions
from hapgpu.chaining.parameters import chain_parameters

RULES = chain_parameters(ChainOptions(), 15)


def anchors_of(reads: list[list[int]]) -> Anchors:
    x = np.array([key for read in reads for key in sorted(read)], dtype=np.uint64)
    return Anchors(x, np.zeros_like(x), np.cumsum([0, *map(len, reads)]))


def expected(keys: list[int], most: int) -> int:
    """Count, of the `most` anchors before the last one, those that are near enough to it."""
    *before, last = keys
    return sum(
        key >> 32 == last >> 32 and last - key <= RULES.max_distance_x
        for key in before[max(len(before) - most, 0) :]
    )


POSITIONS = st.integers(0, 12_000) | st.integers(2**31 - 6000, 2**31 - 1)
KEYS = st.tuples(st.booleans(), st.sampled_from([0, 1, 2**31 - 1]), POSITIONS).map(
    lambda key: key[0] << 63 | key[1] << 32 | key[2]
)


@given(st.lists(st.lists(KEYS, max_size=80), max_size=4), st.sampled_from([1, 3, 20, 5000]))
def test_made_anchors(reads: list[list[int]], most: int) -> None:
    ranges = predecessor_ranges(anchors_of(reads), replace(RULES, max_iterations=most))
    assert ranges.dtype == np.int32
    assert ranges.tolist() == [
        expected(sorted(read)[: number + 1], most) for read in reads for number in range(len(read))
    ]


def test_bins() -> None:
    """Anchor i of a crowd on one position has i predecessors."""
    statistics = range_statistics(anchors_of([[7] * 1100, [], [7]]), RULES)
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
    statistics = range_statistics(anchors_of([]), RULES)
    assert statistics.anchors == statistics.max == statistics.cut_points == 0
    assert statistics.mean == 0
    assert sum(statistics.histogram.values()) == 0


@pytest.mark.parametrize("kind", ["bacterial", "repeat_rich"])
def test_real_anchors(data_dir: Path, kind: str) -> None:
    """Predecessors that were chosen, with none skipped, are within the range."""
    with np.load(data_dir / "longread" / "chain" / f"anchors_{kind}.npz") as file:
        anchors = Anchors(file["x"], file["y"], file["offsets"])
        predecessors = file["p_inf"]
    ranges = predecessor_ranges(anchors, RULES)
    starts = np.repeat(anchors.offsets[:-1], np.diff(anchors.offsets))
    distances = np.arange(anchors.x.size) - starts - predecessors
    assert (distances <= ranges)[predecessors >= 0].all()
    for place in np.random.default_rng(1).integers(0, anchors.x.size, 300).tolist():
        keys = anchors.x[starts[place] : place + 1].tolist()
        assert ranges[place] == expected(keys, RULES.max_iterations)

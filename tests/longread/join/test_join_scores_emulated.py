"""Scores of the long join by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest

from hapgpu.longread.batches import SPAN_SHIFT, Anchors
from hapgpu.longread.chain.join_scores import JoinLimits, join_space, score_joins
from hapgpu.longread.options import UNLIMITED_SKIP, ChainOptions
from hapgpu.longread.parameters import JoinParameters, join_parameters
from tests.emulation.emulator import emulate

SIZES = [1, 2, 3, 5, 8, 16, 31, 32, 33, 70]


def made_parameters(random: np.random.Generator) -> JoinParameters:
    skip = int(random.choice([0, 1, 3, 25, UNLIMITED_SKIP]))
    narrow = (
        {"max_gap": 100, "bandwidth": 50, "long_bandwidth": 600} if random.random() < 0.5 else {}
    )
    parameters = join_parameters(ChainOptions(max_skip=skip, **narrow), 15)
    assert parameters is not None
    return replace(
        parameters,
        inner_distance=int(random.choice([0, 10, 50, parameters.inner_distance])),
        max_candidates=int(random.choice([3, 40, parameters.max_candidates])),
    )


def made_read(random: np.random.Generator, distance: int) -> tuple[list[int], list[int]]:
    """Make x and y of a read whose segments have few positions in the read, or one diagonal."""
    x: list[int] = []
    y: list[int] = []
    for size in random.choice(SIZES, random.integers(1, 5)):
        width = int(random.choice([2, 4, 20, 100])) * size
        start = (x[-1] if x else 0) + distance + 1 + int(random.integers(0, 50_000))
        targets = np.sort(random.integers(0, width, size))
        queries = (
            60
            + [
                random.integers(0, max(size // 2, 3), size),
                targets + random.integers(0, 7, size),
                random.integers(0, 2 * width, size),
            ][random.integers(0, 3)]
        )
        x += (start + targets).tolist()
        y += (queries | random.integers(15, 60, size) << SPAN_SHIFT).tolist()
    return x, y


@pytest.mark.parametrize("seed", range(40))
def test_segments_of_any_size(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda import join, scores  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, join, scores)
    random = np.random.default_rng(seed)
    parameters = made_parameters(random)
    reads = [made_read(random, parameters.max_distance) for _ in range(random.integers(1, 4))]
    ends = np.cumsum([0, *(len(x) for x, _ in reads)])
    columns = (np.array([*chain(*each)], dtype=np.uint64) for each in zip(*reads, strict=True))
    anchors = Anchors(*columns, ends.astype(np.int64))
    found = join.score_joins(anchors, parameters)
    limits = JoinLimits(
        parameters.max_distance,
        parameters.inner_distance,
        parameters.max_candidates,
        0.5 * parameters.slope,
        parameters.max_skip,
    )
    penalties = parameters.penalties.astype(np.int32)
    for start, end in pairwise(ends):
        x, y = anchors.x[start:end].copy(), anchors.y[start:end].copy()
        expected, predecessors = np.zeros((2, x.size), dtype=np.int32)
        space = join_space(x.size)
        score_joins(x, y, x.size, penalties, limits, space, expected, predecessors)
        np.testing.assert_array_equal(found.scores[start:end], expected)
        np.testing.assert_array_equal(found.predecessors[start:end], predecessors)

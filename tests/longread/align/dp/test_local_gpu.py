"""Local alignment on the GPU against the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.longread.align.dp import local_pairs
from tests.longread.align.dp.made_pairs import DEFAULT

pytestmark = pytest.mark.gpu


def check(pairs: list[local_pairs.Pair], scoring: AlignScoring) -> None:
    cupy = pytest.importorskip("cupy")
    local_pairs.check_pairs(pairs, scoring, cupy.asarray, cupy.asnumpy)


def test_recorded_cases(data_dir: Path) -> None:
    for scoring, pairs in local_pairs.recorded_pairs(data_dir, max_cells=10**9):
        check(pairs, scoring)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "scoring", [DEFAULT, align_scoring(1, 1, (1, 1), (1, 1)), align_scoring(4, 2, (3, 2), (3, 2))]
)
def test_random_pairs(seed: int, scoring: AlignScoring) -> None:
    sizes = [*local_pairs.EDGES, 1023, 1024, 1025, 2049, 3000, *[100] * 50]
    check(local_pairs.random_pairs(seed, sizes), scoring)


def test_long_pairs() -> None:
    pairs = local_pairs.random_pairs(5, [9000, 10_000])
    query, target = pairs[1]
    check([*pairs, (query, target[:50]), (query[:50], target), (query, pairs[0][1])], DEFAULT)


def test_empty_sequences() -> None:
    empty, one = np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    check([(empty, one), (one, empty), (empty, empty), (one, one)], DEFAULT)


def test_scores_end_at_16_bits() -> None:
    pairs = local_pairs.saturated_pairs()
    check([*pairs, *(pair[::-1] for pair in pairs)], local_pairs.SATURATING)

"""Local alignment by the kernel, run on the CPU, against the CPU's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.align.parameters import AlignScoring, align_scoring
from tests.emulation.emulator import emulate
from tests.longread.align.dp import local_pairs
from tests.longread.align.dp.made_pairs import DEFAULT


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import local  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, local)


def check(pairs: list[local_pairs.Pair], scoring: AlignScoring) -> None:
    local_pairs.check_pairs(pairs, scoring, np.copy, np.asarray)


def test_recorded_cases(data_dir: Path) -> None:
    for scoring, pairs in local_pairs.recorded_pairs(data_dir, max_cells=3000):
        check(pairs[:5], scoring)


@pytest.mark.parametrize(
    "scoring", [DEFAULT, align_scoring(1, 1, (1, 1), (1, 1)), align_scoring(4, 2, (3, 2), (3, 2))]
)
def test_random_pairs(scoring: AlignScoring) -> None:
    check(local_pairs.random_pairs(1, [*local_pairs.EDGES] + [20] * 20), scoring)


def test_empty_sequences() -> None:
    empty, one = np.zeros(0, dtype=np.uint8), np.zeros(1, dtype=np.uint8)
    check([(empty, one), (one, empty), (empty, empty), (one, one)], DEFAULT)


def test_several_passes() -> None:
    query, target = local_pairs.random_pairs(3, [1300])[0]
    check([(query, target[:150]), (query[:1025], target[-40:])], DEFAULT)


def test_scores_end_at_16_bits() -> None:
    check([pair[::-1] for pair in local_pairs.saturated_pairs()], local_pairs.SATURATING)

"""Fills aligned on the GPU against the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.align.parameters import AlignScoring
from tests.longread.align.device_arrays import uploaded
from tests.longread.align.fills.device_cases import (
    DEFAULT,
    SCORINGS,
    UNFIT,
    any_pairs,
    check,
    long_pairs,
    pair,
    recorded_batches,
)
from tests.longread.align.fills.made_pairs import Codes, packed

pytestmark = pytest.mark.gpu


def aligned(pairs: list[tuple[Codes, Codes]], scoring: AlignScoring) -> int:
    """Return how many pairs are aligned."""
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align.fills import DeviceFills, align_fills  # noqa: PLC0415

    pieces, sequences = uploaded(tuple(packed(pairs)), cupy.asarray)
    found = align_fills(pieces, sequences, scoring)
    return check(DeviceFills._make(column.get() for column in found), pairs, scoring)


@pytest.mark.parametrize("name", list(SCORINGS))
def test_any_pairs(name: str) -> None:
    for seed in range(4):
        pairs = any_pairs(seed)
        empty = sum(not (query.size and target.size) for query, target in pairs)
        assert aligned(pairs, SCORINGS[name]) == (empty if name in UNFIT else len(pairs))


def test_long_pairs() -> None:
    assert aligned(long_pairs(), DEFAULT) == 4


def test_recorded_alignments(data_dir: Path) -> None:
    batches = recorded_batches(data_dir)
    assert sum(aligned(*batch) for batch in batches) > 300


def test_a_sequence_is_empty() -> None:
    empty, some = np.zeros(0, np.uint8), np.zeros(3, np.uint8)
    assert aligned([(empty, empty), (empty, some), (some, empty)], DEFAULT) == 3


@pytest.mark.parametrize("rate", [0.002, 0.08, 0.15])
@pytest.mark.parametrize("name", ["default", "accurate", "transitions"])
def test_usual_batches(name: str, rate: float) -> None:
    generator = np.random.default_rng(7)
    pairs = [pair(generator, int(length), rate) for length in generator.integers(180, 270, 2000)]
    assert aligned(pairs, SCORINGS[name]) > 1990

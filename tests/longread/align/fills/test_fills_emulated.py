"""Fills aligned by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from hapgpu.longread.align.parameters import AlignScoring
from tests.emulation.emulator import emulate
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


@pytest.fixture
def fills(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the module with emulated kernels."""
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.align import fills as module  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, module, cuda)
    return module


def aligned(module: ModuleType, pairs: list[tuple[Codes, Codes]], scoring: AlignScoring) -> int:
    """Return how many pairs are aligned."""
    return check(module.align_fills(*packed(pairs), scoring), pairs, scoring)


@pytest.mark.parametrize("name", list(SCORINGS))
def test_any_pairs(name: str, fills: ModuleType) -> None:
    pairs = any_pairs(len(name))
    empty = sum(not (query.size and target.size) for query, target in pairs)
    assert aligned(fills, pairs, SCORINGS[name]) == (empty if name in UNFIT else len(pairs))


def test_long_pairs(fills: ModuleType) -> None:
    assert aligned(fills, long_pairs(), DEFAULT) == 4


def test_recorded_alignments(data_dir: Path, fills: ModuleType) -> None:
    for pairs, scoring in recorded_batches(data_dir):
        short = [each for each in pairs if max(map(len, each)) < 200]
        if short:
            aligned(fills, short[:25], scoring)


def test_a_sequence_is_empty(fills: ModuleType) -> None:
    empty, some = np.zeros(0, np.uint8), np.zeros(3, np.uint8)
    assert aligned(fills, [(empty, empty), (empty, some), (some, empty)], DEFAULT) == 3


def test_no_pairs(fills: ModuleType) -> None:
    pieces, sequences = packed([(np.zeros(1, np.uint8), np.zeros(1, np.uint8))])
    found = fills.align_fills(pieces.take(np.empty(0, np.int64)), sequences, DEFAULT)
    assert [column.size for column in found] == [0, 0, 0, 1]


def test_many_chunks(fills: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fills, "_CHUNK_BYTES", 30_000)
    pairs = any_pairs(3)
    assert aligned(fills, pairs, DEFAULT) == len(pairs)


def test_more_operations_than_memory_for_them(
    fills: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fills, "_POOL_MINIMUM", 0)
    monkeypatch.setattr(fills, "_POOL_FRACTION", 1000)
    generator = np.random.default_rng(3)
    pairs = [pair(generator, 150, 0.1) for _ in range(20)]
    assert 0 < aligned(fills, pairs, DEFAULT) < len(pairs)

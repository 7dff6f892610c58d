"""Pieces aligned by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hapgpu.longread.align.batches import FILL, REFILL
from hapgpu.longread.align.parameters import AlignScoring
from hapgpu.longread.options import MAX_DROP
from tests.emulation.emulator import emulate
from tests.longread.align.device.piece_cases import (
    EXTREME_SCORINGS,
    REAL_READS,
    SCORINGS,
    Case,
    assert_equal,
    case_of,
    expected_alignments,
    long_pieces,
    made_pieces,
    real_pieces,
    recorded_pieces,
)

MAX_LENGTH, MAX_PIECES = 200, 20


def check(case: Case, patch: pytest.MonkeyPatch, **limits: int | tuple[int, ...]) -> None:
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.align import fills, pairs, pieces_alignment  # noqa: PLC0415

    emulate(patch, cuda, fills, pairs, pieces_alignment)
    for name, limit in limits.items():
        patch.setattr(pairs, f"_{name}", limit)
    assert_equal(pieces_alignment.align_pieces(*case), expected_alignments(case))


def test_recorded_cases(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in recorded_pieces(data_dir, max_cells=300):
        check(case, monkeypatch)


def test_extensions_of_real_reads(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = real_pieces(data_dir, *REAL_READS[0])
    longest = np.maximum(case.pieces.query_lengths, case.pieces.target_lengths)
    is_short = (case.pieces.kinds != FILL) & (case.pieces.kinds != REFILL) & (longest < MAX_LENGTH)
    some = case.pieces.take(np.flatnonzero(is_short)[:MAX_PIECES])
    assert some.kinds.size == MAX_PIECES
    check(case._replace(pieces=some), monkeypatch)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_made_pieces(monkeypatch: pytest.MonkeyPatch, scoring: AlignScoring) -> None:
    for seed, bonus in enumerate((-1, 0, 10)):
        check(case_of(made_pieces(seed, 40, 80), scoring, end_bonus=bonus), monkeypatch)


@pytest.mark.parametrize("scoring", EXTREME_SCORINGS)
def test_extreme_scores(monkeypatch: pytest.MonkeyPatch, scoring: AlignScoring) -> None:
    check(case_of(made_pieces(5, 30, 60), scoring, end_bonus=MAX_DROP), monkeypatch)


def test_long_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    check(case_of(long_pieces(3, 300, (20,)), SCORINGS[0]), monkeypatch)


@pytest.mark.parametrize("limits", [(0, 224, 992), (0, 0, 992), (0, 0, 0)])
def test_pieces_by_thread_blocks(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, ...]) -> None:
    check(case_of(made_pieces(0, 7, 40), SCORINGS[0]), monkeypatch, MOST_LANES=limits)


def test_narrow_bands_of_long_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    fills = [piece for piece in long_pieces(5, 700, (30001,)) if piece.kind == FILL]
    check(case_of(fills, SCORINGS[0]), monkeypatch)


@pytest.mark.parametrize("pool_bytes", [0, 1 << 18])
def test_little_memory(monkeypatch: pytest.MonkeyPatch, pool_bytes: int) -> None:
    pieces = [*long_pieces(1, 300, (60,)), *made_pieces(1, 40, 60)]
    check(case_of(pieces, SCORINGS[0]), monkeypatch, POOL_BYTES=pool_bytes)


def test_pieces_with_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    check(case_of(made_pieces(7, 40, 60), SCORINGS[0], max_cells=900), monkeypatch)


def test_no_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    check(case_of([], SCORINGS[0]), monkeypatch)

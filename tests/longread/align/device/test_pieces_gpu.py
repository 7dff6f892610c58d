"""Pieces aligned on the GPU against the CPU."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from hapgpu.longread.align import cpu
from hapgpu.longread.align.batches import FILL, PieceAlignments
from hapgpu.longread.align.parameters import AlignScoring
from hapgpu.longread.options import MAX_DROP
from tests.longread.align.device.piece_cases import (
    EXTREME_SCORINGS,
    REAL_READS,
    SCORINGS,
    Case,
    Piece,
    assert_equal,
    case_of,
    expected_alignments,
    long_pieces,
    made_pieces,
    real_pieces,
    recorded_pieces,
)
from tests.longread.align.device_arrays import uploaded

pytestmark = pytest.mark.gpu


def check(case: Case) -> None:
    cupy = pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align.pieces_alignment import (  # noqa: PLC0415  (needs CuPy)
        align_pieces,
    )

    pieces, sequences = uploaded((case.pieces, case.sequences), cupy.asarray)
    found = align_pieces(pieces, sequences, case.scoring, case.parameters)
    assert_equal(PieceAlignments(*map(cupy.asnumpy, found)), expected_alignments(case))


def test_recorded_cases(data_dir: Path) -> None:
    for case in recorded_pieces(data_dir, max_cells=1 << 60):
        check(case)


@pytest.mark.parametrize(("reads", "reference", "name"), REAL_READS)
def test_real_reads(data_dir: Path, reads: str, reference: str, name: str) -> None:
    check(real_pieces(data_dir, reads, reference, name))


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("max_length", [40, 200, 1500])
def test_made_pieces(scoring: AlignScoring, max_length: int) -> None:
    for seed, bonus in enumerate((-1, 0, 10)):
        check(case_of(made_pieces(seed, 500, max_length), scoring, end_bonus=bonus))


@pytest.mark.parametrize("scoring", EXTREME_SCORINGS)
def test_extreme_scores(scoring: AlignScoring) -> None:
    check(case_of(made_pieces(5, 500, 300), scoring, end_bonus=MAX_DROP))


@pytest.mark.parametrize("limits", [(0, 224, 992), (0, 0, 992), (0, 0, 0)])
def test_pieces_by_thread_blocks(monkeypatch: pytest.MonkeyPatch, limits: tuple[int, ...]) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import pairs  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(pairs, "_MOST_LANES", limits)
    for seed, scoring in enumerate(SCORINGS):
        check(case_of(made_pieces(seed, 300, 300), scoring))
    check(case_of(long_pieces(1, 3000, (100, 751)), SCORINGS[0]))


@pytest.mark.parametrize("length", [700, 5000])
@pytest.mark.parametrize("scoring", SCORINGS[:2])
def test_long_pieces(length: int, scoring: AlignScoring) -> None:
    check(case_of(long_pieces(2, length, (0, 20, 100, 751, 30001)), scoring))


def test_the_longest_pieces() -> None:
    made = [piece._replace(drop=-1) for piece in long_pieces(4, 10_000, (751, 30001))]
    check(case_of(made, SCORINGS[0]))


@pytest.mark.parametrize("pool_bytes", [0, 1 << 20])
def test_little_memory(monkeypatch: pytest.MonkeyPatch, pool_bytes: int) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import pairs  # noqa: PLC0415  (needs CuPy)

    monkeypatch.setattr(pairs, "_POOL_BYTES", pool_bytes)
    pieces = [*long_pieces(1, 2000, (100, 751)), *made_pieces(1, 200, 300)]
    check(case_of(pieces, SCORINGS[0]))


def test_a_base_with_a_long_sequence() -> None:
    long, base = bytes([0, 1, 2, 3] * 25_000), b"\1"
    made = [
        Piece(kind, *pair, 30001, 400) for kind in range(5) for pair in ((long, base), (base, long))
    ]
    check(case_of([*made, Piece(FILL, base, long, 1 << 30, 400)], SCORINGS[0]))


def test_many_pieces() -> None:
    made = made_pieces(9, 1000, 100)
    check(case_of(made * 8, SCORINGS[0]))


def test_pieces_with_too_many_cells() -> None:
    check(case_of(made_pieces(7, 200, 60), SCORINGS[0], max_cells=900))


def test_no_pieces() -> None:
    check(case_of([], SCORINGS[0]))


def test_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import pieces_alignment  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(pieces_alignment.align_pieces).parameters
    assert list(parameters) == list(inspect.signature(cpu.align_pieces).parameters)

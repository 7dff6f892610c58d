"""Kernels that follow alignments back from known end cells, on a GPU, against the oracle."""

from __future__ import annotations

import pytest

from hapgpu.realign.scoring import Overhang, Scoring
from tests.realign.align.band_cases import (
    check_bands,
    check_diagonals,
    check_large_weights,
    check_long_gaps,
    check_small_pool,
    check_what_is_left,
    made_case,
)
from tests.realign.align.band_runs import Runner
from tests.realign.align.ended_pairs import SCORINGS

pytestmark = pytest.mark.gpu


@pytest.fixture
def runner() -> Runner:
    cupy = pytest.importorskip("cupy")
    return Runner(cupy.asarray, cupy.asnumpy)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_diagonals(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_diagonals(runner, scoring, overhang, made_case(scoring, overhang, 150))


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_bands(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_bands(runner, scoring, overhang, made_case(scoring, overhang, 150))


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
def test_long_gaps(runner: Runner, overhang: Overhang) -> None:
    check_long_gaps(runner, overhang)


@pytest.mark.parametrize("overhang", [Overhang.SOFTCLIP, Overhang.IGNORE])
def test_large_weights(runner: Runner, overhang: Overhang) -> None:
    check_large_weights(runner, overhang)


def test_what_is_left(runner: Runner) -> None:
    check_what_is_left(runner)


def test_small_pool(runner: Runner) -> None:
    check_small_pool(runner)

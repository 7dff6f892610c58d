"""Kernels that follow alignments back from known end cells, run on the CPU, against the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.realign.scoring import Overhang, Scoring
from tests.emulation.emulator import EmulatedKernel, emulate
from tests.realign.align.band_cases import (
    check_bands,
    check_diagonals,
    check_long_gaps,
    check_small_pool,
    check_what_is_left,
)
from tests.realign.align.band_runs import Runner
from tests.realign.align.ended_pairs import SCORINGS


class _Kernel(EmulatedKernel):
    def blocks_per_multiprocessor(self, _threads: int) -> int:
        """Return the thread blocks of a multiprocessor."""
        return 1


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda import bands, diagonals, outputs  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, bands, diagonals, outputs)
    monkeypatch.setattr(bands, "load_kernel", lambda kernel, _device: _Kernel(kernel))
    monkeypatch.setattr(bands, "multiprocessors", lambda _device: 1)
    return Runner(np.asarray, np.asarray)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_diagonals(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_diagonals(runner, scoring, overhang, 60)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_bands(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_bands(runner, scoring, overhang, 40)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
def test_long_gaps(runner: Runner, overhang: Overhang) -> None:
    check_long_gaps(runner, overhang)


def test_what_is_left(runner: Runner) -> None:
    check_what_is_left(runner)


def test_small_pool(runner: Runner) -> None:
    check_small_pool(runner)

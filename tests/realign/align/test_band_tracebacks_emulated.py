"""Kernels that follow alignments back from known end cells, run on the CPU, against the oracle."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.realign.scoring import Overhang, Scoring
from tests.emulation.emulator import EmulatedKernel, emulate
from tests.example_counts import FEWER
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
from tests.realign.align.ended_pairs import SCORINGS, ended, made_sequences


class _Kernel(EmulatedKernel):
    def blocks_per_multiprocessor(self, _threads: int) -> int:
        """Return the thread blocks of a multiprocessor."""
        return 1


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    pytest.importorskip("cupy")
    from hapgpu.realign.align.cuda import bands, diagonals, outputs  # noqa: PLC0415  (imports CuPy)

    with pytest.MonkeyPatch.context() as patch:
        emulate(patch, bands, diagonals, outputs)
        patch.setattr(bands, "load_kernel", lambda kernel, _device: _Kernel(kernel))
        patch.setattr(bands, "multiprocessors", lambda _device: 1)
        yield Runner(np.asarray, np.asarray)


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_diagonals(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_diagonals(runner, scoring, overhang, made_case(scoring, overhang, 60))


@pytest.mark.parametrize("overhang", Overhang, ids=lambda overhang: overhang.name)
@pytest.mark.parametrize("scoring", SCORINGS, ids=str)
def test_bands(runner: Runner, scoring: Scoring, overhang: Overhang) -> None:
    check_bands(runner, scoring, overhang, made_case(scoring, overhang, 40))


@settings(max_examples=FEWER)
@given(
    st.integers(0, 2**32),
    st.tuples(*(st.integers(-5, 5),) * 2, *(st.integers(-5, 0),) * 2),
    st.sampled_from(Overhang),
)
def test_any_weights(
    runner: Runner, seed: int, weights: tuple[int, int, int, int], overhang: Overhang
) -> None:
    scoring = Scoring(*weights)
    case = ended(made_sequences(12, seed, 25), scoring, overhang)
    check_diagonals(runner, scoring, overhang, case)
    check_bands(runner, scoring, overhang, case)


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

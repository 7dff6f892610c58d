"""Drops and inversions by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulation.emulator import emulate
from tests.longread.align.rounds import made_rounds
from tests.longread.align.rounds.checked_stages import CheckedStages


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> CheckedStages:
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.align import (  # noqa: PLC0415  (imports CuPy)
        drops,
        inversions,
        local,
    )

    emulate(monkeypatch, cuda, drops, inversions, local)
    stages = CheckedStages(np.array)
    made_rounds.use_stages(stages, monkeypatch)
    return stages


@pytest.mark.parametrize("seed", range(8))
def test_random_fills(seed: int, stages: CheckedStages) -> None:
    made_rounds.check_random_fills(stages, seed, (1, 0, 40, 150)[seed % 4])


@pytest.mark.usefixtures("stages")
def test_literal_drops() -> None:
    made_rounds.check_literal_drops()


@pytest.mark.usefixtures("stages")
def test_literal_splits() -> None:
    made_rounds.check_literal_splits()


@pytest.mark.parametrize("seed", range(3))
def test_made_stretches(seed: int, stages: CheckedStages) -> None:
    made_rounds.check_made_stretches(stages, seed, 20)


@pytest.mark.usefixtures("stages")
def test_random_reads() -> None:
    assert sum(made_rounds.check_random_reads(seed, 4) for seed in range(4)) > 4

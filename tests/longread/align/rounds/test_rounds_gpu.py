"""Drops and inversions on the GPU against the CPU."""

from __future__ import annotations

import inspect

import pytest

from hapgpu.longread.align import drops as drops_on_cpu
from hapgpu.longread.align import inversions as inversions_on_cpu
from tests.longread.align.rounds import made_rounds
from tests.longread.align.rounds.checked_stages import CheckedStages

pytestmark = pytest.mark.gpu


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> CheckedStages:
    cupy = pytest.importorskip("cupy")
    stages = CheckedStages(cupy.array)
    made_rounds.use_stages(stages, monkeypatch)
    return stages


@pytest.mark.parametrize("seed", range(20))
def test_random_fills(seed: int, stages: CheckedStages) -> None:
    made_rounds.check_random_fills(stages, seed, (1, 0, 31, 150, 5000)[seed % 5])


@pytest.mark.usefixtures("stages")
def test_literal_drops() -> None:
    made_rounds.check_literal_drops()


@pytest.mark.usefixtures("stages")
def test_literal_splits() -> None:
    made_rounds.check_literal_splits()


@pytest.mark.parametrize("seed", range(3))
def test_made_stretches(seed: int, stages: CheckedStages) -> None:
    made_rounds.check_made_stretches(stages, seed, 1000)


@pytest.mark.usefixtures("stages")
def test_random_reads() -> None:
    assert sum(made_rounds.check_random_reads(seed, 8) for seed in range(20)) > 20


def test_signatures() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import drops, inversions  # noqa: PLC0415  (imports CuPy)

    for on_gpu, on_cpu in (
        (drops.find_drops, drops_on_cpu.find_drops),
        (inversions.find_stretches, inversions_on_cpu.find_stretches),
        (inversions.insert_inversions, inversions_on_cpu.insert_inversions),
    ):
        assert list(inspect.signature(on_gpu).parameters) == list(
            inspect.signature(on_cpu).parameters
        )

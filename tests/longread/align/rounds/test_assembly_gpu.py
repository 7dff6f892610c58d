"""Assembly on the GPU against the CPU."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from hapgpu.longread.align import assembly as on_cpu
from tests.longread.align.rounds.made_assemblies import check_made, check_reads, check_real_reads

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", range(10))
def test_made_pieces(seed: int) -> None:
    cupy = pytest.importorskip("cupy")
    for fills in ([], [0], [3, 0, 1, 40] * 50, [200, 5], [20_000, 1, 700]):
        for operations in (1, 5, 40):
            check_made(cupy.asarray, seed, fills, operations)


@pytest.mark.parametrize("reads", [0, 1, 12, 40])
def test_rounds(reads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    for seed in range(5):
        check_reads(cupy.asarray, seed, reads, monkeypatch)


def test_real_reads(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    check_real_reads(cupy.asarray, data_dir, 1 << 30, monkeypatch)


@pytest.mark.parametrize("name", ["assemble", "in_order"])
def test_signature(name: str) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import assembly  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(getattr(assembly, name)).parameters
    assert list(parameters) == list(inspect.signature(getattr(on_cpu, name)).parameters)

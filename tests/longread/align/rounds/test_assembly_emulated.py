"""Assembly by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.emulation.emulator import emulate
from tests.longread.align.rounds.made_assemblies import check_made, check_reads, check_real_reads


def emulated(patch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.arrays import cuda  # noqa: PLC0415  (imports CuPy)
    from hapgpu.longread.cuda.align import assembly, cigars  # noqa: PLC0415  (imports CuPy)

    emulate(patch, assembly, cigars, cuda)


@pytest.mark.parametrize(
    ("fills", "operations"),
    [
        ([], 3),
        ([0], 3),
        ([3, 0, 1, 40], 5),
        ([200, 5], 12),
        ([700], 1),
        ([31, 32, 33, 64], 3),
    ],
)
def test_made_pieces(
    fills: Sequence[int], operations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulated(monkeypatch)
    for seed in range(3):
        check_made(np.array, seed, fills, operations)


@pytest.mark.parametrize("reads", [0, 1, 12])
def test_rounds(reads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated(monkeypatch)
    for seed in range(2):
        check_reads(np.array, seed, reads, monkeypatch)


def test_real_reads(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated(monkeypatch)
    check_real_reads(np.array, data_dir, 20, monkeypatch)

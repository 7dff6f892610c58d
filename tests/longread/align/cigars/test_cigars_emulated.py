"""Final CIGARs by the kernels, run on the CPU, against the CPU's own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulation.emulator import emulate
from tests.longread.align.cigars.made_cigars import check_literal, check_made


@pytest.fixture(autouse=True)
def _emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import cigars  # noqa: PLC0415  (imports CuPy)

    emulate(monkeypatch, cigars)


def test_literal_cases() -> None:
    check_literal(np.array)


@pytest.mark.parametrize(
    ("size", "longest"), [(1, 40), (2, 5), (9, 3), (40, 40), (300, 2), (600, 5)]
)
def test_made_alignments(size: int, longest: int) -> None:
    for seed in range(3 if size < 100 else 1):
        check_made(np.array, seed, size, longest)

"""Final CIGARs on the GPU against the CPU."""

from __future__ import annotations

import inspect

import pytest

from hapgpu.longread.align import cigars as on_cpu
from tests.longread.align.cigars.made_cigars import check_literal, check_made

pytestmark = pytest.mark.gpu


def test_literal_cases() -> None:
    check_literal(pytest.importorskip("cupy").asarray)


@pytest.mark.parametrize(
    ("size", "longest"),
    [(1, 40), (2, 5), (3, 5), (9, 3), (40, 40), (300, 2), (3000, 9), (100_000, 20), (60, 50_000)],
)
def test_made_alignments(size: int, longest: int) -> None:
    for seed in range(6):
        check_made(pytest.importorskip("cupy").asarray, seed, size, longest)


def test_signature() -> None:
    pytest.importorskip("cupy")
    from hapgpu.longread.cuda.align import cigars  # noqa: PLC0415  (needs CuPy)

    parameters = inspect.signature(cigars.finish_alignments).parameters
    assert list(parameters) == list(inspect.signature(on_cpu.finish_alignments).parameters)

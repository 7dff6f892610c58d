"""Suffixes sorted on a GPU, in any amount of its memory, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

from hapgpu.errors import DeviceError
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress
from tests.shortread.index.suffixes.reference import (
    TEXTS,
    assert_sorted,
    codes_of,
    packed,
    sorted_suffixes,
)

pytestmark = pytest.mark.gpu


def sort(codes: NDArray[np.uint8], memory: int | None = None) -> NDArray[np.uint32]:
    from hapgpu.shortread.index.suffixes import cuda  # noqa: PLC0415  (imports CuPy)

    with Pool(2) as pool:
        return cuda.sort_suffixes(
            packed(codes), CudaDevice(0, memory_limit=memory), pool, NoProgress()
        )


def made_text() -> NDArray[np.uint8]:
    random = np.random.default_rng(6)
    repeat = random.integers(0, 4, 3_000, dtype=np.uint8)
    mutated = np.tile(repeat, 60)
    mutated[random.random(mutated.size) < 0.002] = 1
    alike = random.integers(0, 2, 60_000, dtype=np.uint8)
    exact = np.tile(repeat[:171], 900)
    return np.concatenate([repeat, alike, mutated, np.zeros(5_000, np.uint8), exact, alike])


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_suffixes_of_any_text_are_sorted(bases: str) -> None:
    assert sort(codes_of(bases)).tolist() == sorted_suffixes(bases)


@pytest.mark.parametrize("part", [1 << 10, 1 << 14, 1 << 27])
@pytest.mark.parametrize("with_ranks", [True, False])
def test_parts_of_any_size_and_ranks_on_either_side(
    part: int, with_ranks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hapgpu.shortread.index.suffixes import cuda  # noqa: PLC0415  (imports CuPy)

    monkeypatch.setattr(cuda, "_MIN_PART", 1 << 10)
    monkeypatch.setattr(cuda, "_MAX_PART", part)
    codes = made_text()
    ranks = 4 * codes.size if with_ranks else 0
    memory = cuda._text_bytes(codes.size) + ranks + 64 * (1 << 10)
    assert_sorted(codes, sort(codes, memory))


def test_too_little_memory() -> None:
    with pytest.raises(DeviceError, match=r"to index 333,\d+ bases \(about .* use --device cpu"):
        sort(made_text()[:333_333], 1 << 20)

"""Passes over arrays by several threads."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from hapgpu.arrays import large_arrays
from hapgpu.arrays.large_arrays import copy_together, give_back, largest


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
@pytest.mark.parametrize("sizes", [[], [0], [5], [0, 1, 1000, 3]])
def test_all_bytes_are_copied(
    chunk: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_arrays, "_MIN_SHARE", chunk)
    rng = np.random.default_rng(1)
    sources = [rng.integers(0, 256, size, dtype=np.uint8) for size in sizes]
    targets = [np.zeros(size + 4, dtype=np.uint8) for size in sizes]
    copy_together(list(zip(targets, sources, strict=True)))
    for target, source in zip(targets, sources, strict=True):
        assert np.array_equal(target, [*source, 0, 0, 0, 0])


@pytest.mark.parametrize("chunk", [1, 8, 1 << 20])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_largest(chunk: int, dtype: type[np.generic], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_arrays, "_MIN_SHARE", chunk)
    for size in (1, 2, 100):
        data = np.arange(size).astype(dtype)
        assert largest(np.roll(data, 1)) == size - 1


def test_memory_within_an_array_is_given_back() -> None:
    data = np.ones(1 << 20, dtype=np.uint64)
    given = data[5:-7]
    give_back(given)
    assert data[:5].all()
    assert data[-7:].all()
    assert np.count_nonzero(given) < 2 * mmap.PAGESIZE // given.itemsize


@pytest.mark.parametrize("size", [0, 1, 500])
def test_an_array_without_a_whole_page_stays(size: int) -> None:
    data = np.ones(size, dtype=np.uint8)
    give_back(data)
    assert data.all()

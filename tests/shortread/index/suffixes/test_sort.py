"""Suffixes sorted on the CPU, against a plain sort and the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import NoProgress
from hapgpu.shortread.index.suffixes import buckets, cpu, ties
from hapgpu.shortread.index.suffixes.buckets import count_buckets
from tests.example_counts import many
from tests.shortread.index.suffixes.reference import (
    TEXTS,
    assert_sorted,
    codes_of,
    packed,
    sorted_suffixes,
)


def sort(codes: NDArray[np.uint8], threads: int = 2) -> NDArray[np.uint32]:
    with Pool(threads) as pool:
        return cpu.sort_suffixes(packed(codes), pool, NoProgress())


@settings(max_examples=many(200))
@given(TEXTS, st.integers(1, 5))
def test_suffixes_of_any_text_are_sorted(bases: str, threads: int) -> None:
    suffixes = sort(codes_of(bases), threads)
    assert suffixes.dtype == np.uint32
    assert suffixes.tolist() == sorted_suffixes(bases)


@pytest.mark.parametrize("unit", [1, 2, 31, 32, 33, 128, 1000])
def test_long_repeats(unit: int) -> None:
    codes = np.resize(np.random.default_rng(unit).integers(0, 4, unit, dtype=np.uint8), 50_000)
    assert_sorted(codes, sort(codes))


@pytest.mark.parametrize("prefix", [1, 3, 8])
def test_many_parts_and_buckets_of_every_size(prefix: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_MAX_PREFIX", prefix)
    monkeypatch.setattr(buckets, "_BUCKET_ROWS", 1)
    monkeypatch.setattr(cpu, "_MIN_PART", 1000)
    monkeypatch.setattr(ties, "_PAGE_WORDS", 1 << prefix)
    random = np.random.default_rng(prefix)
    repeat = random.integers(0, 4, 700, dtype=np.uint8)
    alike = random.integers(0, 2, 20_000, dtype=np.uint8)
    mutated = np.tile(repeat, 40)
    mutated[random.random(mutated.size) < 0.004] = 2
    codes = np.concatenate([repeat, alike, mutated, np.zeros(3_000, np.uint8), alike[:9_000]])
    assert_sorted(codes, sort(codes, 3))


def test_buckets_count_each_suffix_once() -> None:
    codes = np.random.default_rng(5).integers(0, 4, 100_001, dtype=np.uint8)
    with Pool(3) as pool:
        counted = count_buckets(packed(codes), pool)
    length = 32 - counted.shift // 2
    filled = np.concatenate([codes, np.zeros(length, dtype=np.uint8)]).astype(np.int64)
    words = sum(filled[k : k + codes.size] << 2 * (length - 1 - k) for k in range(length))
    np.testing.assert_array_equal(np.diff(counted.bounds), np.bincount(words, minlength=4**length))
    for rows in (1, 1000, 30_000, 10**9):
        parts = list(counted.parts(rows))
        assert [first for first, _ in parts[1:]] == [end for _, end in parts[:-1]]
        assert (parts[0][0], parts[-1][1]) == (0, 4**length)
        sizes = [int(counted.bounds[end] - counted.bounds[first]) for first, end in parts]
        assert all(
            size <= rows or end == first + 1
            for size, (first, end) in zip(sizes, parts, strict=True)
        )


@pytest.mark.parametrize("page_words", [1, 3, 100])
@pytest.mark.parametrize("max_rows", [1, 500, 10**9])
def test_ties_are_sorted_part_by_part(
    page_words: int, max_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ties, "_PAGE_WORDS", page_words)
    random = np.random.default_rng(page_words)
    copy = random.integers(0, 4, 4_000, dtype=np.uint8)
    other = copy.copy()
    other[::900] ^= 1
    run = np.zeros(1_500, dtype=np.uint8)
    codes = np.concatenate([copy, other, run, copy[:2_000], np.tile(copy[:171], 20)])
    expected = sort(codes)
    assert_sorted(codes, expected)
    # Rows of suffixes with the same 12 bases, in any order.
    filled = np.concatenate([codes, np.zeros(12, dtype=np.uint8)]).astype(np.int64)
    keys = sum(filled[k : k + codes.size] << 2 * (11 - k) for k in range(12))
    rows = np.concatenate([[codes.size], np.argsort(keys, kind="stable")]).astype(np.uint32)
    heads = ties.all_heads(rows.size)
    for row in range(2, rows.size):
        if keys[rows[row]] == keys[rows[row - 1]]:
            heads[row // 64] &= ~(np.uint64(1) << np.uint64(row % 64))
    with Pool(3) as pool:
        refiner = ties.CpuRefiner(rows, heads, pool)
        ties.resolve(rows, heads, refiner, 12, pool, max_rows)
    np.testing.assert_array_equal(rows, expected)
    assert (heads == np.uint64(2**64 - 1)).all()


def test_cuts_of_ties_are_between_groups() -> None:
    groups = np.repeat(np.array([0, 5, 6, 9, 20], np.uint32), [2, 2, 7, 1, 4])
    tied = ties.Ties(np.arange(16, dtype=np.uint32), np.arange(16, dtype=np.uint32), groups)
    for size in (1, 2, 3, 5, 16, 100):
        cuts = tied.cuts(size)
        assert (cuts[0], cuts[-1]) == (0, 16)
        assert set(cuts) <= {0, 2, 4, 11, 12, 16}
        assert cuts == sorted(set(cuts))

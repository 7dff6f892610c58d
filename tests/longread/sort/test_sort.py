"""The order of ties, against the reference implementation."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hapgpu.longread.seed.radix_sort import radix_sort
from tests.longread.sort.reference import sort_ascending


def check(keys: list[int], around: int = 0) -> None:
    """Sort the keys between `around` others on each side, which must stay."""
    others = [2**64 - 1] * around
    columns = np.array([*others, *keys, *[0] * around], dtype=np.uint64)
    numbers = np.arange(columns.size, dtype=np.uint64)
    pairs = list(zip(columns.tolist(), numbers.tolist(), strict=True))
    end = around + len(keys)
    radix_sort(columns, numbers, around, end)
    moved = sort_ascending(pairs[around:end], key=lambda pair: pair[0])
    expected = [*pairs[:around], *moved, *pairs[end:]]
    assert list(zip(columns.tolist(), numbers.tolist(), strict=True)) == expected


@given(
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12, unique=True),
    st.integers(0, 400),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_few_distinct_keys(distinct: list[int], size: int, around: int, random: Random) -> None:
    check(random.choices(distinct, k=size), around)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(range(0, 64, 8)), min_size=1, max_size=8, unique=True),
    st.integers(1, 256),
    st.integers(65, 1500),
    st.integers(0, 2**32),
)
def test_keys_that_differ_in_some_bytes(
    shifts: list[int], digits: int, size: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    keys = np.full(size, 0x0123456789ABCDEF, dtype=np.uint64)
    for shift in shifts:
        keys ^= rng.integers(0, digits, size, dtype=np.uint64) << np.uint64(shift)
    check(keys.tolist())


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 66, 128, 129])
@pytest.mark.parametrize("shift", [0, 8, 56])
def test_sizes_around_the_insertion_sort(size: int, shift: int) -> None:
    rng = np.random.default_rng(size)
    check((rng.integers(0, 3, size, dtype=np.uint64) << np.uint64(shift)).tolist(), around=1)


@pytest.mark.parametrize("size", [64, 65])
def test_buckets_around_the_insertion_sort(size: int) -> None:
    rng = np.random.default_rng(size)
    low = rng.integers(0, 4, 3 * size, dtype=np.uint64) << np.uint64(8)
    high = np.repeat(np.arange(3, dtype=np.uint64), size) << np.uint64(40)
    check(rng.permutation(low | high).tolist())


@pytest.mark.parametrize("order", [1, -1])
def test_sorted_and_reversed(order: int) -> None:
    check(np.repeat(np.arange(300), 3)[::order].tolist())


def test_equal_keys_stay() -> None:
    check([5] * 1000)


def test_every_bucket_is_sorted_on() -> None:
    numbers = np.arange(256 * 70, dtype=np.uint64)
    check(((numbers % np.uint64(256)) << np.uint64(56) | numbers % np.uint64(3)).tolist())

"""Vectors of compiled functions against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays import vectors
from hapgpu.arrays.memory import memory_of
from hapgpu.runtime.jit import njit, njit_inlined

LANES = vectors.LANES


@njit
def _all_operations(one: Any, other: Any, out: Any, sums: Any) -> Any:
    start = np.int64(0)
    a = vectors.load_bytes(memory_of(one), start)
    b = vectors.load_bytes(memory_of(other), start)
    zero = vectors.spread_byte(0)
    yes = vectors.spread_byte(1)
    results, ints = memory_of(out), memory_of(sums)
    is_less = b > a
    both = is_less & (b > zero)
    both &= a > zero
    for k, vector in enumerate(
        (
            a + b,
            a - b,
            a | b,
            a ^ b,
            vectors.where(a > b, yes, zero),
            vectors.where(a >= b, yes, zero),
            vectors.where(a == b, yes, zero),
            vectors.where(both, a, b),
            vectors.where((a > b) | (a == b), a, b),
            vectors.larger(a, b),
            vectors.smaller(a, b),
            vectors.larger_unsigned(a, b),
            vectors.smaller_unsigned(a, b),
            vectors.shifted(a, b),
            vectors.lane_numbers(),
        )
    ):
        vectors.store_bytes(results, k * vectors.LANES, vector)
    wide = vectors.widened(a) + vectors.spread_int(1000) - vectors.widened(b)
    wide = vectors.larger_ints(wide, vectors.spread_int(990))
    wide = vectors.where_ints(is_less, vectors.load_ints(ints, start), wide)
    vectors.store_ints(ints, start, wide)
    return vectors.highest_of(wide)


LANES_OF_BYTES = st.lists(st.integers(-128, 127), min_size=LANES, max_size=LANES)


@given(LANES_OF_BYTES, LANES_OF_BYTES)
def test_operations_are_those_of_numpy(one: list[int], other: list[int]) -> None:
    a, b = np.array(one, dtype=np.int8), np.array(other, dtype=np.int8)
    out = np.zeros((15, LANES), dtype=np.int8)
    sums: NDArray[np.int32] = np.arange(LANES, dtype=np.int32) * 70
    old = sums.copy()
    highest = _all_operations(a, b, out, sums)
    unsigned = a.view(np.uint8), b.view(np.uint8)
    expected = [
        a + b,
        a - b,
        a | b,
        a ^ b,
        a > b,
        a >= b,
        a == b,
        np.where((b > a) & (b > 0) & (a > 0), a, b),
        np.where(a >= b, a, b),
        np.maximum(a, b),
        np.minimum(a, b),
        np.maximum(*unsigned).view(np.int8),
        np.minimum(*unsigned).view(np.int8),
        np.concatenate([a[-1:], b[:-1]]),
        np.arange(LANES),
    ]
    np.testing.assert_array_equal(out, np.array(expected, dtype=np.int8))
    wide = np.maximum(a.astype(np.int32) + 1000 - b, 990)
    np.testing.assert_array_equal(sums, np.where(b > a, old, wide))
    assert highest == sums.max()


@njit
def _unsigned_operations(one: Any, other: Any, out: Any, *, wide: bool) -> None:
    a_memory, b_memory, results = memory_of(one), memory_of(other), memory_of(out)
    if wide:
        _write_unsigned(a_memory, b_memory, results, vectors.spread_word(7), 2 * LANES)
    else:
        _write_unsigned(a_memory, b_memory, results, vectors.spread_byte(7), LANES)


@njit_inlined
def _write_unsigned(one: Any, other: Any, results: Any, seven: Any, size: int) -> None:
    a = vectors.load_like(one, np.int64(0), seven)
    b = vectors.load_like(other, np.int64(0), seven)
    vectors.store_vector(results, np.int64(0), vectors.saturated_sum(a, b))
    vectors.store_vector(results, np.int64(size), vectors.smaller_unsigned(a, b))
    vectors.store_vector(results, np.int64(2 * size), vectors.where_different(a, b, seven))
    vectors.store_vector(results, np.int64(3 * size), vectors.where_not_larger(a, b, seven))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@given(data=st.data())
def test_unsigned_operations_are_those_of_numpy(dtype: type, data: st.DataObject) -> None:
    largest = np.iinfo(dtype).max
    numbers = st.integers(0, largest) | st.sampled_from([0, 1, largest - 1, largest])
    lanes = st.lists(numbers, min_size=LANES, max_size=LANES)
    a, b = (np.array(data.draw(lanes), dtype=dtype) for _ in range(2))
    b[::3] = a[::3]
    out = np.zeros((4, LANES), dtype=dtype)
    _unsigned_operations(a, b, out, wide=dtype == np.uint16)
    sums = np.minimum(a.astype(np.int64) + b, largest)
    expected = [sums, np.minimum(a, b), np.where(a == b, 0, 7), np.where(a <= b, 7, 0)]
    np.testing.assert_array_equal(out, expected)

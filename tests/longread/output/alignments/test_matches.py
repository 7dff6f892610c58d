"""Runs of equal codes and letters, where codes end before a word does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.io.text.builder import SLACK
from hapgpu.longread.output.cigars import LOWER_CASE, UPPER_CASE, WORD, match_length, put_letters
from hapgpu.runtime.jit import njit


@njit
def letters_of(
    codes: NDArray[np.uint8], start: Integer, length: Integer, case: Integer, out: NDArray[np.uint8]
) -> Integer:
    return put_letters(memory_of(out), np.int64(1), memory_of(codes), start, length, case)


@njit
def equal_codes(
    one: NDArray[np.uint8], start: Integer, other: NDArray[np.uint8], to: Integer, length: Integer
) -> Integer:
    return match_length(memory_of(one), start, memory_of(other), to, length)


@pytest.mark.parametrize("case", [UPPER_CASE, LOWER_CASE])
@given(st.lists(st.integers(0, 4), max_size=3 * WORD), st.data())
def test_letters(case: np.uint64, codes: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(codes)))
    length = data.draw(st.integers(0, len(codes) - start))
    out = np.full(1 + length + SLACK, ord("."), dtype=np.uint8)
    assert letters_of(np.array(codes, dtype=np.uint8), start, length, case, out) == 1 + length
    letters = "".join("ACGTN"[code] for code in codes[start : start + length])
    expected = letters if case == UPPER_CASE else letters.lower()
    assert out[: 1 + length].tobytes().decode() == f".{expected}"


def test_letters_without_room_are_not_written() -> None:
    out = np.full(4 + SLACK, ord("."), dtype=np.uint8)
    assert letters_of(np.zeros(9, dtype=np.uint8), 0, 4, UPPER_CASE, out) == 5
    assert set(out) == {ord(".")}


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3), st.integers(0, 3), st.data())
def test_equal_codes(
    equal: int, after: int, start: int, other_start: int, data: st.DataObject
) -> None:
    """Both have equal codes from their starts on, then one that differs, if there is another."""
    one = np.ones(start + equal + after, dtype=np.uint8)
    other = np.ones(other_start + equal + data.draw(st.integers(0, after)), dtype=np.uint8)
    shared = min(one.size - start, other.size - other_start)
    if shared > equal:
        one[start + equal] = 2
    length = data.draw(st.integers(0, shared))
    assert equal_codes(one, start, other, other_start, length) == min(equal, length)

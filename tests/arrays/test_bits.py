"""Bit operations on words, against Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hapgpu.arrays.bits import (
    leading_zeros,
    load_u64,
    popcount,
    reversed_bits,
    trailing_zeros,
)
from hapgpu.runtime.jit import njit

WORDS = st.integers(0, 2**64 - 1)


@njit
def all_of(word: int) -> tuple[int, int, int, int]:
    return popcount(word), reversed_bits(word), trailing_zeros(word), leading_zeros(word)


@njit
def loaded(data: NDArray[np.uint8], at: int) -> int:
    return load_u64(data.ctypes.data + at)


@given(WORDS)
def test_words(word: int) -> None:
    digits = f"{word:064b}"
    assert all_of(np.uint64(word)) == (
        word.bit_count(),
        int(digits[::-1], 2),
        len(digits) - len(digits.rstrip("0")),
        len(digits) - len(digits.lstrip("0")),
    )


@given(st.binary(min_size=8, max_size=40), st.data())
def test_loads_need_no_alignment(text: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 8))
    array = np.frombuffer(text, dtype=np.uint8)
    assert loaded(array, at) == int.from_bytes(text[at : at + 8], "little")

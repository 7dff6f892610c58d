"""Bit operations on words, against Python's integers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hapgpu.arrays.bits import (
    leading_zeros,
    popcount,
    reversed_bits,
    trailing_zeros,
)
from hapgpu.runtime.jit import njit

WORDS = st.integers(0, 2**64 - 1)


@njit
def all_of(word: int) -> tuple[int, int, int, int]:
    return popcount(word), reversed_bits(word), trailing_zeros(word), leading_zeros(word)


@given(WORDS)
def test_words(word: int) -> None:
    digits = f"{word:064b}"
    assert all_of(np.uint64(word)) == (
        word.bit_count(),
        int(digits[::-1], 2),
        len(digits) - len(digits.rstrip("0")),
        len(digits) - len(digits.lstrip("0")),
    )

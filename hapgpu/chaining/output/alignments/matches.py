"""Runs of equal codes of bases, and codes to letters, in words of many bases.

Positions are addresses. Words may lie partly behind the last code that counts, in memory of other
use, but never in another page of memory, which may not exist.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bits import load_u64, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at, store_8_at, store_64_at
from hapgpu.runtime.jit import njit, njit_inlined

WORD: Final = 8
_STEP: Final = 2 * WORD
_PAGE: Final = 4096
_LETTERS: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)

# Sums, in each byte, of 'A' and the differences of the letters of codes with each bit set:
# A + 2 = C, A + 6 = G, A + 2 + 6 + 11 = T, A + 13 = N.
_ONES: Final = np.uint64(0x0101010101010101)
_A: Final = _ONES * np.uint64(ord("A"))
_C_BIT, _G_BIT, _T_BITS, _N_BIT = map(np.uint64, (2, 6, 11, 13))
_LOWER: Final = np.uint64(ord("a") - ord("A"))
_1, _2, _3, _0 = map(np.uint64, (1, 2, 3, 0))

UPPER_CASE: Final = np.uint64(0)
LOWER_CASE: Final = _ONES * _LOWER
"""What `put_letters` adds to each of eight letters."""


@njit_inlined
def _is_in_page(at: Integer, size: Integer) -> bool:
    """Tell whether bytes lie in one page."""
    return bool((np.int64(at) & (_PAGE - 1)) <= _PAGE - size)


@njit
def match_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two addresses before the first difference."""
    same: Integer = np.int64(0)
    while same < length:
        if not (_is_in_page(one + same, _STEP) and _is_in_page(other + same, _STEP)):
            step = min(np.int64(_STEP), length - same)
            for _ in range(step):
                if load_u8_at(one + same) != load_u8_at(other + same):
                    return same
                same += 1
            continue
        first = load_u64(one + same) ^ load_u64(other + same)
        second = load_u64(one + same + WORD) ^ load_u64(other + same + WORD)
        if first | second:
            bits = trailing_zeros(first) + (trailing_zeros(second) if first == 0 else _0)
            same += np.int64(bits >> _3)
            return min(same, length)
        same += _STEP
    return length


@njit
def mismatch_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of different bytes at two addresses before the first equal one."""
    count: Integer = np.int64(0)
    while count < length and load_u8_at(one + count) != load_u8_at(other + count):
        count += 1
    return count


@njit
def backward_match_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two addresses and before, up to a difference."""
    same: Integer = np.int64(0)
    while same < length and load_u8_at(one - same) == load_u8_at(other - same):
        same += 1
    return same


@njit_inlined
def put_letters(at: Integer, codes: Integer, length: Integer, case: Integer) -> Integer:
    """Write the letters of codes; there must be room for `WORD` bytes more.

    Parameters
    ----------
    at
        Where to write.
    codes, length
        Where the codes are, and how many.
    case
        `UPPER_CASE` or `LOWER_CASE`.
    """
    for k in range(0, length, WORD):
        if _is_in_page(codes + k, WORD):
            word = load_u64(codes + k)
            low, high, other = word & _ONES, word >> _1 & _ONES, word >> _2 & _ONES
            letters = low * _C_BIT + high * _G_BIT + (low & high) * _T_BITS + other * _N_BIT
            store_64_at(at + k, np.int64(letters + _A + case))
        else:
            for i in range(k, min(k + WORD, length)):
                letter = _LETTERS[load_u8_at(codes + i)] + (case & np.uint64(255))
                store_8_at(at + i, np.int64(letter))
    return at + length

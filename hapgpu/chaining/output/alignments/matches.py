"""Runs of equal bases."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bits import load_u64, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at
from hapgpu.runtime.jit import njit

_WORD: Final = np.int64(8)


@njit
def match_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two addresses before the first difference."""
    same: Integer = np.int64(0)
    while same + _WORD <= length:
        different = load_u64(one + same) ^ load_u64(other + same)
        if different:
            return same + np.int64(trailing_zeros(different) >> np.uint64(3))
        same += _WORD
    while same < length and load_u8_at(one + same) == load_u8_at(other + same):
        same += 1
    return same


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

"""Characters and numbers written at addresses by compiled functions, for their innermost loops.

Each function writes from the address `at` on, without a check for room, and returns the address
after the last byte. See `hapgpu.arrays.memory`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import copy_at, store_8_at, store_16_at, store_32_at
from hapgpu.runtime.jit import njit, njit_inlined

HEAD_BYTES: Final = 6
"""Bytes of a tab, the name of a tag and its type."""

_MINUS: Final = np.int64(ord("-"))
_ZERO: Final = np.int64(ord("0"))
_POINT: Final = np.int64(ord("."))
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % k for k in range(100)), dtype=np.uint16)
_SHORT: Final = np.frombuffer(b"".join(b"%-2d" % k for k in range(100)), dtype=np.uint16)
_8, _32 = np.int64(8), np.int64(32)
_10, _100 = np.uint64(10), np.uint64(100)

_WHOLE: Final = 2.0**53
_SCALE: Final = np.uint64(625)  # 10**4 / 2**4
_SHIFT: Final = np.uint64(49)
_HALF: Final = np.uint64(1 << 48)
_REST: Final = np.uint64((1 << 49) - 1)
_1: Final = np.uint64(1)


def tag_head(name: str, kind: str) -> np.int64:
    """Return the six characters before the value of a tag, such as `NM` of kind `i`, as a word."""
    return np.int64(int.from_bytes(f"\t{name}:{kind}:".encode("ascii"), "little"))


@njit_inlined
def put_byte(at: Integer, byte: Integer) -> Integer:
    """Write a byte."""
    store_8_at(at, np.int64(byte))
    return at + 1


@njit_inlined
def put_two(at: Integer, first: Integer, second: Integer) -> Integer:
    """Write two bytes."""
    store_16_at(at, np.int64(first) | np.int64(second) << _8)
    return at + 2


@njit_inlined
def put_copy(at: Integer, source: Integer, size: Integer) -> Integer:
    """Write a copy of `size` bytes at an address."""
    copy_at(at, source, size)
    return at + size


@njit_inlined
def put_head(at: Integer, head: Integer) -> Integer:
    """Write what comes before the value of a tag; see `tag_head`."""
    store_32_at(at, head)
    store_16_at(at + 4, head >> _32)
    return at + HEAD_BYTES


@njit_inlined
def put_count_at(at: Integer, value: Integer) -> Integer:
    """Write a number from 0 to 10**19 - 1; there must be room for two digits."""
    rest = np.uint64(value)
    if rest < _100:
        store_16_at(at, np.int64(_SHORT[rest]))
        return at + 1 + np.int64(rest >= _10)
    end = at + 1
    power = _10
    while rest >= power:
        power *= _10
        end += 1
    to = end
    while rest >= _10:
        to -= 2
        store_16_at(to, np.int64(_PAIRS[rest % _100]))
        rest //= _100
    if to > at:
        store_8_at(at, _ZERO + np.int64(rest))
    return end


@njit
def put_number_tag(at: Integer, head: Integer, value: Integer) -> Integer:
    """Write a tag with an integer."""
    at = put_head(at, head)
    if value < 0:
        at = put_byte(at, _MINUS)
        value = -value
    return put_count_at(at, value)


@njit
def put_fraction(at: Integer, value: float) -> Integer:
    """Write a number from 0 to 1 as C's `%.4f` does, or `0` if it is 0.

    The number must be a float32, or the difference between 1 and a float64. It is then a multiple
    of 2**-53, or too small to be written otherwise than `0.0000`.
    """
    if value == 0.0:
        return put_byte(at, _ZERO)
    scaled = np.uint64(value * _WHOLE) * _SCALE
    units, rest = scaled >> _SHIFT, scaled & _REST
    units += np.uint64(rest > _HALF) + (np.uint64(rest == _HALF) & units & _1)
    at = put_two(at, _ZERO + np.int64(units // np.uint64(10000)), _POINT)
    units %= np.uint64(10000)
    store_16_at(at, np.int64(_PAIRS[units // _100]))
    store_16_at(at + 2, np.int64(_PAIRS[units % _100]))
    return at + 4

"""Loads, stores, copies and comparisons of bytes in compiled functions, without bounds checks."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit

Integer: TypeAlias = int | np.integer
"""An integer in compiled functions."""

AnyArray: TypeAlias = NDArray[Any]
"""An array whose dtype varies."""

# With unsigned indices Numba does not test for negative ones, which would prevent vectorisation;
# with unsigned constants it does not mix signs, which would make floats.
_1 = np.uint64(1)
_2 = np.uint64(2)
_3 = np.uint64(3)

FNV_BASIS = np.uint64(0xCBF29CE484222325)
"""First value of the FNV-1a hash."""
FNV_PRIME = np.uint64(0x100000001B3)
"""Factor of the FNV-1a hash."""


@njit
def load_u16(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Read a uint16, little-endian, at an offset of `data`, uint8, as int64."""
    here = np.uint64(at)
    return np.int64(np.uint32(data[here]) | np.uint32(data[here + _1]) << np.uint32(8))


@njit
def load_u32(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Read a uint32, little-endian, at an offset of `data`, uint8, as int64."""
    here = np.uint64(at)
    low = np.uint32(data[here]) | np.uint32(data[here + _1]) << np.uint32(8)
    high = np.uint32(data[here + _2]) | np.uint32(data[here + _3]) << np.uint32(8)
    return np.int64(np.uint32(low | high << np.uint32(16)))


@njit
def load_i32(data: NDArray[np.uint8], at: Integer) -> Integer:
    """Read an int32, little-endian, at an offset of `data`, uint8, as int64."""
    return np.int64(np.int32(load_u32(data, at)))


@njit
def store_32(out: NDArray[np.uint8], at: Integer, value: Integer) -> None:
    """Write the low 32 bits of an integer, little-endian, to `out`, uint8, from an offset on."""
    here = np.uint64(at)
    bits = np.uint32(np.int64(value) & 0xFFFFFFFF)
    out[here] = bits & np.uint32(255)
    out[here + _1] = bits >> np.uint32(8) & np.uint32(255)
    out[here + _2] = bits >> np.uint32(16) & np.uint32(255)
    out[here + _3] = bits >> np.uint32(24)


@njit
def copy_bytes(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    length: Integer,
) -> None:
    """Copy uint8 data[source : source + length] to uint8 out[target : target + length]."""
    start = np.uint64(source)
    to = np.uint64(target)
    for k in range(np.uint64(length)):
        out[to + k] = data[start + k]


@njit
def hash_of(data: NDArray[np.uint8], start: Integer, end: Integer) -> Integer:
    """Return uint64: the FNV-1a hash of uint8 data[start:end]."""
    value = FNV_BASIS
    for k in range(start, end):
        value = (value ^ np.uint64(data[k])) * FNV_PRIME
    return value


@njit
def are_equal(data: NDArray[np.uint8], one: Integer, other: Integer, length: Integer) -> bool:
    """Tell whether uint8 data[one : one + length] equals data[other : other + length]."""
    same = np.int64(0)
    while same < length and data[one + same] == data[other + same]:
        same += 1
    return bool(same == length)

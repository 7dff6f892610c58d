"""Optional fields (tags) of BAM records: names, types and sizes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_64, read_i32, read_u8, read_u16
from hapgpu.runtime.jit import njit, njit_inlined

HEAD_BYTES: Final = 3
"""Bytes of a field before its value: two of the name, one of the type."""

_ARRAY_HEAD_BYTES: Final = 8  # with the type and the number of the elements
_ONES = np.uint64(0x0101010101010101)
_SIGN_BITS = np.uint64(0x8080808080808080)
_3 = np.uint64(3)
_CHARACTER, _TEXT, _HEX, _ARRAY = b"AZHB"


def _value_widths() -> NDArray[np.int64]:
    widths = np.zeros(256, dtype=np.int64)
    for kinds, width in (("AcC", 1), ("sS", 2), ("iIf", 4)):
        widths[list(kinds.encode())] = width
    return widths


VALUE_WIDTHS: Final = _value_widths()
"""int64[256]: bytes of a value by its type; 0 for types of variable size and unknown types."""


def name_number(name: str) -> int:
    """Return the two letters of a name as the number that `find_field` takes."""
    first, second = name.encode("ascii")
    return first | second << 8


@njit_inlined
def text_end(memory: Memory, start: Integer, end: Integer) -> Integer:
    """Return the offset of the first NUL from `start`, or at least `end` if none is before it."""
    at: Integer = start
    words_end = min(end, memory.size - 7)
    while at < words_end:
        word = np.uint64(read_64(memory, at))
        # The lowest byte of which the sign bit is set is the first NUL.
        nuls = (word - _ONES) & ~word & _SIGN_BITS
        if nuls:
            found: Integer = at + np.int64(trailing_zeros(nuls) >> _3)
            return found
        at += 8
    while at < end and read_u8(memory, at) != 0:
        at += 1
    return at


@njit_inlined
def _array_bytes(memory: Memory, at: Integer, end: Integer) -> Integer:
    """Return the size of a field of type B, which may end after `end`; 0 if it is malformed."""
    if at + _ARRAY_HEAD_BYTES > end:
        return 0
    element = read_u8(memory, at + HEAD_BYTES)
    count = read_i32(memory, at + 4)
    width = VALUE_WIDTHS[element]
    if count < 0 or width == 0 or element == _CHARACTER:
        return 0
    size: Integer = _ARRAY_HEAD_BYTES + count * width
    return size


@njit_inlined
def field_bytes_in(memory: Memory, at: Integer, end: Integer) -> Integer:
    """Return the size of the field at `at`; 0 if it is malformed or ends after `end`."""
    if at + HEAD_BYTES >= end:
        return 0
    kind = read_u8(memory, at + 2)
    width = VALUE_WIDTHS[kind]
    size: Integer = HEAD_BYTES + width
    if width == 0:
        if kind in (_TEXT, _HEX):
            size = text_end(memory, at + HEAD_BYTES, end) + 1 - at
        elif kind == _ARRAY:
            size = _array_bytes(memory, at, end)
        else:
            return 0
    return size if at + size <= end else 0


@njit_inlined
def find_field_in(memory: Memory, start: Integer, end: Integer, name: Integer) -> Integer:
    """Return the offset of the first field of a name; -1 if there is none or one before is bad."""
    at: Integer = np.int64(start)
    while at < end:
        size = field_bytes_in(memory, at, end)
        if size == 0:
            return np.int64(-1)
        if read_u16(memory, at) == name:
            return at
        at += size
    return np.int64(-1)


@njit
def field_bytes(data: NDArray[np.uint8], at: Integer, end: Integer) -> Integer:
    """Return the size of the field of `data`, uint8, at `at`.

    It is 0 if the field is malformed or ends after `end`.
    """
    return field_bytes_in(memory_of(data), at, end)


@njit
def find_field(data: NDArray[np.uint8], start: Integer, end: Integer, name: int) -> Integer:
    """Return the offset in `data`, uint8, of the first field of a name.

    It is -1 if there is none or one before is bad.
    """
    return find_field_in(memory_of(data), start, end, name)

"""Optional fields (tags) of BAM records: names, types and sizes."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u16
from hapgpu.runtime.jit import njit

HEAD_BYTES: Final = 3
"""Bytes of a field before its value: two of the name, one of the type."""

_ARRAY_HEAD_BYTES: Final = 8  # with the type and the number of the elements
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


@njit
def field_bytes(data: NDArray[np.uint8], at: Integer, end: Integer) -> Integer:
    """Return the size of the field at `at`; 0 if it is malformed or ends after `end`."""
    if at + HEAD_BYTES >= end:
        return 0
    kind = data[np.uint64(at + 2)]
    size = 0
    if kind in (_TEXT, _HEX):
        close = at + HEAD_BYTES
        while close < end and data[np.uint64(close)] != 0:
            close += 1
        size = close + 1 - at
    elif kind == _ARRAY:
        if at + _ARRAY_HEAD_BYTES > end:
            return 0
        count = load_i32(data, at + 4)
        width = VALUE_WIDTHS[data[np.uint64(at + HEAD_BYTES)]]
        if count < 0 or width == 0 or data[np.uint64(at + HEAD_BYTES)] == _CHARACTER:
            return 0
        size = _ARRAY_HEAD_BYTES + count * width
    else:
        width = VALUE_WIDTHS[kind]
        if width == 0:
            return 0
        size = HEAD_BYTES + width
    return size if at + size <= end else 0


@njit
def find_field(data: NDArray[np.uint8], start: Integer, end: Integer, name: int) -> Integer:
    """Return the offset of the first field of a name; -1 if there is none or one before is bad."""
    at = start
    while at < end:
        size = field_bytes(data, at, end)
        if size == 0:
            return -1
        if load_u16(data, at) == name:
            return at
        at += size
    return -1

"""Optional fields in BAM encoding, written by compiled functions.

Each `put` function writes from `out[at]` on, without a check for room, and returns the end offset.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes, load_u16, load_u32, store_32
from hapgpu.cigar.encoding import OPERATIONS
from hapgpu.io.bam.tags import HEAD_BYTES
from hapgpu.io.text.numbers import put_integer
from hapgpu.runtime.jit import njit

MAX_INTEGER_FIELD: Final = HEAD_BYTES + 4
"""Bytes of the longest integer field."""

TEXT_FIELD: Final = HEAD_BYTES + 1
"""Bytes of a text field beside its text."""

MAX_ELEMENT_TEXT: Final = 10
"""Bytes of the longest CIGAR element as text."""

_TEXT, _STAR = b"Z*"
_INT8, _UINT8, _INT16, _UINT16, _INT32, _UINT32 = b"cCsSiI"
_LETTERS: Final = np.frombuffer(OPERATIONS.ljust(16, "?").encode(), dtype=np.uint8)


@njit
def put_head(out: NDArray[np.uint8], at: Integer, name: int, kind: int) -> Integer:
    """Write the name of a field (see `name_number`) and its type."""
    out[at], out[at + 1], out[at + 2] = name & 255, name >> 8, kind
    return at + HEAD_BYTES


@njit
def put_integer_field(out: NDArray[np.uint8], at: Integer, name: int, value: Integer) -> Integer:
    """Write an integer field of the smallest type that holds a value of at most 32 bits."""
    value = np.int64(value)
    if value < 0:
        kind, width = (_INT8, 1) if value >= -(2**7) else (_INT16, 2)
        if value < -(2**15):
            kind, width = _INT32, 4
    else:
        kind, width = (_UINT8, 1) if value < 2**8 else (_UINT16, 2)
        if value >= 2**16:
            kind, width = _UINT32, 4
    at = put_head(out, at, name, kind)
    for k in range(width):
        out[at + k] = value >> 8 * k & 255
    return at + width


@njit
def put_text_field(
    out: NDArray[np.uint8],
    at: Integer,
    name: int,
    data: NDArray[np.uint8],
    start: Integer,
    end: Integer,
) -> Integer:
    """Write a text field with the text data[start:end]."""
    at = put_head(out, at, name, _TEXT)
    copy_bytes(data, start, out, at, end - start)
    return close_text(out, at + end - start)


@njit
def close_text(out: NDArray[np.uint8], at: Integer) -> Integer:
    """Write the NUL after the text of a field."""
    out[at] = 0
    return at + 1


@njit
def put_cigar_text(
    out: NDArray[np.uint8], at: Integer, data: NDArray[np.uint8], start: Integer, count: Integer
) -> Integer:
    """Write `count` CIGAR elements, stored as bytes from `data[start]`, as text; `*` for none."""
    if count == 0:
        out[at] = _STAR
        return at + 1
    for k in range(count):
        at = _put_element(out, at, load_u32(data, start + 4 * k))
    return at


@njit
def put_text_of_elements(
    out: NDArray[np.uint8], at: Integer, cigars: NDArray[np.uint32], start: Integer, end: Integer
) -> Integer:
    """Write the CIGAR elements cigars[start:end] as text; `*` for none."""
    if start == end:
        out[at] = _STAR
        return at + 1
    for k in range(start, end):
        at = _put_element(out, at, np.int64(cigars[k]))
    return at


@njit
def _put_element(out: NDArray[np.uint8], at: Integer, element: Integer) -> Integer:
    at = put_integer(out, at, element >> 4)
    out[at] = _LETTERS[element & 15]
    return at + 1


@njit
def put_elements(
    out: NDArray[np.uint8], at: Integer, cigars: NDArray[np.uint32], start: Integer, end: Integer
) -> Integer:
    """Write the CIGAR elements cigars[start:end] as bytes."""
    for k in range(start, end):
        store_32(out, at, cigars[k])
        at += 4
    return at


@njit
def is_text(data: NDArray[np.uint8], at: Integer) -> bool:
    """Tell whether the field at `at` is text."""
    return bool(data[np.uint64(at + 2)] == _TEXT)


@njit
def integer_value(data: NDArray[np.uint8], at: Integer) -> tuple[Integer, bool]:
    """Return the value of the field at `at`, and whether it is an integer."""
    kind, value = data[np.uint64(at + 2)], at + HEAD_BYTES
    number = np.int64(0)
    if kind in (_INT8, _UINT8):
        number = np.int64(data[np.uint64(value)])
    elif kind in (_INT16, _UINT16):
        number = np.int64(load_u16(data, value))
    elif kind in (_INT32, _UINT32):
        number = np.int64(load_u32(data, value))
    else:
        return number, False
    if kind == _INT8:
        number = np.int64(np.int8(number))
    elif kind == _INT16:
        number = np.int64(np.int16(number))
    elif kind == _INT32:
        number = np.int64(np.int32(number))
    return number, True

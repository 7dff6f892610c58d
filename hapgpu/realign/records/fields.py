"""Optional fields in BAM encoding, read and written at addresses by compiled functions.

Each `put` function writes from the address `at` on, without a check for room, and returns the
address after the last byte. See `hapgpu.arrays.memory`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    load_i32_at,
    load_u8_at,
    load_u16_at,
    load_u32_at,
    store_8_at,
    store_16_at,
    store_32_at,
)
from hapgpu.cigar.encoding import OPERATIONS
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes_at
from hapgpu.io.text.at_addresses import put_byte, put_copy
from hapgpu.runtime.jit import njit_inlined

MAX_INTEGER_FIELD: Final = HEAD_BYTES + 4
"""Bytes of the longest integer field."""

TEXT_FIELD: Final = HEAD_BYTES + 1
"""Bytes of a text field beside its text."""

MAX_ELEMENT_TEXT: Final = 10
"""Bytes of the longest CIGAR element as text."""

_ZERO, _MINUS, _TEXT, _STAR = b"0-Z*"
_INT8, _UINT8, _INT16, _UINT16, _INT32, _UINT32 = b"cCsSiI"
_LETTERS: Final = np.frombuffer(OPERATIONS.ljust(16, "?").encode(), dtype=np.uint8)


@njit_inlined
def put_number(at: Integer, value: Integer) -> Integer:
    """Write an integer of at most 32 bits as decimal text."""
    rest = np.int64(value)
    if rest < 0:
        at = put_byte(at, _MINUS)
        rest = -rest
    power = np.int64(1)
    digits = 1
    while power * 10 <= rest:
        power *= 10
        digits += 1
    for k in range(digits - 1, -1, -1):
        store_8_at(at + k, _ZERO + rest % 10)
        rest //= 10
    return at + digits


@njit_inlined
def _put_head(at: Integer, name: Integer, kind: Integer) -> Integer:
    """Write the name of a field (see `name_number`) and its type."""
    store_16_at(at, np.int64(name))
    return put_byte(at + 2, kind)


@njit_inlined
def put_integer_field(at: Integer, name: Integer, value: Integer) -> Integer:
    """Write an integer field of the smallest type that holds a value of at most 32 bits."""
    value = np.int64(value)
    kind, width = _INT32 if value < 0 else _UINT32, 4
    if 0 <= value < 2**8 or -(2**7) <= value < 0:
        kind, width = _UINT8 if value >= 0 else _INT8, 1
    elif 0 <= value < 2**16 or -(2**15) <= value < 0:
        kind, width = _UINT16 if value >= 0 else _INT16, 2
    at = _put_head(at, name, kind)
    if width == 1:
        store_8_at(at, value)
    elif width == 2:
        store_16_at(at, value)
    else:
        store_32_at(at, value)
    return at + width


@njit_inlined
def open_text(at: Integer, name: Integer) -> Integer:
    """Write what comes before the text of a text field."""
    return _put_head(at, name, _TEXT)


@njit_inlined
def close_text(at: Integer) -> Integer:
    """Write the NUL after the text of a field."""
    return put_byte(at, 0)


@njit_inlined
def put_text_field(at: Integer, name: Integer, text: Integer, size: Integer) -> Integer:
    """Write a text field with the text of `size` bytes at an address."""
    return close_text(put_copy(open_text(at, name), text, size))


@njit_inlined
def put_cigar_text(at: Integer, cigar: Integer, count: Integer) -> Integer:
    """Write the `count` CIGAR elements at an address as text; `*` for none."""
    if count == 0:
        return put_byte(at, _STAR)
    for k in range(count):
        element = load_u32_at(cigar + 4 * k)
        at = put_byte(put_number(at, element >> 4), _LETTERS[element & 15])
    return at


@njit_inlined
def find_field_at(fields: Integer, end: Integer, limit: Integer, name: Integer) -> Integer:
    """Return the address of the first field of a name; 0 if there is none or one before is bad.

    Parameters
    ----------
    fields, end
        Addresses of the first field and after the last.
    limit
        Address after the array that holds them.
    name
        The name, as a number.
    """
    at = fields
    while at < end:
        size = field_bytes_at(0, at, end, limit)
        if size == 0:
            return np.int64(0)
        if load_u16_at(at) == name:
            return at
        at += size
    return np.int64(0)


@njit_inlined
def text_bytes(at: Integer, end: Integer, limit: Integer) -> Integer:
    """Return the size of the text of the field at an address; -1 if the field is not text.

    `end` and `limit` are as in `find_field_at`.
    """
    if load_u8_at(at + 2) != _TEXT:
        return np.int64(-1)
    return field_bytes_at(0, at, end, limit) - TEXT_FIELD


@njit_inlined
def integer_value(at: Integer) -> tuple[Integer, bool]:
    """Return the value of the field at an address, and whether it is an integer."""
    kind, value = load_u8_at(at + 2), at + HEAD_BYTES
    number: Integer = 0
    if kind in (_INT8, _UINT8):
        number = load_u8_at(value)
    elif kind in (_INT16, _UINT16):
        number = load_u16_at(value)
    elif kind in (_INT32, _UINT32):
        number = load_u32_at(value) if kind == _UINT32 else load_i32_at(value)
    else:
        return number, False
    if kind == _INT8:
        number = np.int64(np.int8(number))
    elif kind == _INT16:
        number = np.int64(np.int16(number))
    return number, True

"""Optional fields in BAM encoding, read and written by compiled functions.

Each `put` function writes from offset `at` on, if there is room, and returns the end of what it
writes. See `hapgpu.io.text.builder`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    part_of,
    read_i32,
    read_u8,
    read_u16,
    read_u32,
    write_8,
    write_16,
    write_32,
)
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes_in
from hapgpu.io.text.builder import has_room, put_all, put_byte
from hapgpu.runtime.jit import njit_inlined

_TEXT_FIELD: Final = HEAD_BYTES + 1
"""Bytes of a text field beside its text."""

_TEXT: Final = ord("Z")
_INT8, _UINT8, _INT16, _UINT16, _INT32, _UINT32 = b"cCsSiI"


@njit_inlined
def put_integer_field(out: Memory, at: Integer, name: Integer, value: Integer) -> Integer:
    """Write an integer field of the smallest type that holds a value of at most 32 bits."""
    kind, width = _INT32 if value < 0 else _UINT32, 4
    if 0 <= value < 2**8 or -(2**7) <= value < 0:
        kind, width = _UINT8 if value >= 0 else _INT8, 1
    elif 0 <= value < 2**16 or -(2**15) <= value < 0:
        kind, width = _UINT16 if value >= 0 else _INT16, 2
    end = at + HEAD_BYTES + width
    if has_room(out, end):
        _write_head(out, at, name, kind)
        write_32(out, at + HEAD_BYTES, np.int64(value))  # the next field overwrites some
    return end


@njit_inlined
def _write_head(out: Memory, at: Integer, name: Integer, kind: Integer) -> None:
    """Write the name of a field (see `name_number`) and its type."""
    write_16(out, at, np.int64(name))
    write_8(out, at + 2, np.int64(kind))


@njit_inlined
def open_text(out: Memory, at: Integer, name: Integer) -> Integer:
    """Write the name and type of a text field."""
    end = at + HEAD_BYTES
    if has_room(out, end):
        _write_head(out, at, name, _TEXT)
    return end


@njit_inlined
def close_text(out: Memory, at: Integer) -> Integer:
    """Write the NUL after the text of a field."""
    return put_byte(out, at, 0)


@njit_inlined
def put_text_field(out: Memory, at: Integer, name: Integer, text: Memory) -> Integer:
    """Write a text field."""
    return close_text(out, put_all(out, open_text(out, at, name), text))


@njit_inlined
def text_of(record: Memory, at: Integer) -> Memory:
    """Return the text of the sound field at an offset; no bytes if it is not text."""
    size: Integer = np.int64(0)
    if read_u8(record, at + 2) == _TEXT:
        size = field_bytes_in(record, at, record.size) - _TEXT_FIELD
    return part_of(record, at + HEAD_BYTES, size)


@njit_inlined
def integer_value(record: Memory, at: Integer) -> tuple[Integer, bool]:
    """Return the value of the field at an offset, and whether it is an integer."""
    kind, value = read_u8(record, at + 2), at + HEAD_BYTES
    number: Integer = 0
    if kind in (_INT8, _UINT8):
        number = read_u8(record, value)
    elif kind in (_INT16, _UINT16):
        number = read_u16(record, value)
    elif kind in (_INT32, _UINT32):
        number = read_u32(record, value) if kind == _UINT32 else read_i32(record, value)
    else:
        return number, False
    if kind == _INT8:
        number = np.int64(np.int8(number))
    elif kind == _INT16:
        number = np.int64(np.int16(number))
    return number, True

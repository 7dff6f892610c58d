"""Conversion of tags in SAM text to BAM encoding, as htslib does.

An address of 0 is returned in place of the end of text that is not converted: it may be malformed,
or htslib may do more than to encode what is written.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    copy_at,
    load_u8_at,
    load_u16_at,
    store_8_at,
    store_16_at,
    store_32_at,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.tags import VALUE_WIDTHS, name_number
from hapgpu.io.text.parsing import control_from, read_float32, read_integer
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _COLON, _COMMA, _MINUS = b"\t\n:,-"
_CHARACTER, _INTEGER, _FLOAT, _TEXT, _HEX, _ARRAY = b"AifZHB"
_INT8, _INT16, _INT32, _UINT8, _UINT16, _UINT32 = b"csiCSI"
_FIRST_PRINTABLE: Final = np.int64(ord("!"))
_PRINTABLE: Final = np.uint64(94)
_LOWEST, _HIGHEST = np.int64(-(2**31)), np.int64(2**32 - 1)
_NO_TEXT: Final = np.int64(0)
_LONG_CIGAR: Final = name_number("CG")
"""htslib may make the CIGAR of a record from this tag."""


def _elements() -> NDArray[np.int64]:
    """Return int64[256, 3]: width, minimum and maximum of the elements of an array, by type."""
    table = np.zeros((256, 3), dtype=np.int64)
    table[:, 0] = VALUE_WIDTHS
    table[_CHARACTER] = 0
    for signed, unsigned, bits in ("c", "C", 8), ("s", "S", 16), ("i", "I", 32):
        half = 1 << (bits - 1)
        table[ord(signed), 1:] = -half, half - 1
        table[ord(unsigned), 1:] = 0, 2 * half - 1
    return read_only(table)


_ELEMENTS: Final = _elements()


@njit
def encode_tags(at: Integer, last: Integer, out: Integer) -> tuple[Integer, Integer]:
    """Write the tags at the end of a line.

    Parameters
    ----------
    at, last
        Address of the tab before the first tag, or of the newline; and of the end of the text, its
        last newline.
    out
        Address to write to. There must be room for twice the text, and four bytes.

    Returns
    -------
    tuple of int
        The address of the newline, or 0; and the end of the output.
    """
    while at != 0 and load_u8_at(at) == _TAB:
        if not _is_head(at + 1):
            return _NO_TEXT, out
        store_16_at(out, load_u16_at(at + 1))
        at, out = _encode_value(load_u8_at(at + 4), at + 6, last, out + 2)
    if at != 0 and load_u8_at(at) != _NEWLINE:
        return _NO_TEXT, out
    return at, out


@njit_inlined
def _is_printable(byte: Integer) -> bool:
    return bool(np.uint64(byte - _FIRST_PRINTABLE) < _PRINTABLE)


@njit_inlined
def _is_head(at: Integer) -> bool:
    """Tell whether name, type and colons are at an address; no byte after a newline is read."""
    return (
        _is_printable(load_u8_at(at))
        and _is_printable(load_u8_at(at + 1))
        and load_u8_at(at + 2) == _COLON
        and _is_printable(load_u8_at(at + 3))
        and load_u8_at(at + 4) == _COLON
        and load_u16_at(at) != _LONG_CIGAR
    )


@njit_inlined
def _encode_value(
    kind: Integer, at: Integer, last: Integer, out: Integer
) -> tuple[Integer, Integer]:
    """Write the type and the value of a tag."""
    if kind == _INTEGER:
        return _encode_integer(at, out)
    store_8_at(out, kind)
    if kind in (_TEXT, _HEX):
        return _encode_text(kind, at, last, out + 1)
    if kind == _FLOAT:
        bits, at = read_float32(at)
        store_32_at(out + 1, bits)
        return at, out + 5
    if kind == _ARRAY:
        return _encode_array(at, out + 1)
    character = load_u8_at(at)
    store_8_at(out + 1, character)
    is_character = kind == _CHARACTER and _is_printable(character)
    return at + 1 if is_character else _NO_TEXT, out + 2


@njit_inlined
def _encode_integer(at: Integer, out: Integer) -> tuple[Integer, Integer]:
    """Write an integer with the smallest type, an unsigned one unless it has a minus."""
    is_negative = load_u8_at(at) == _MINUS
    value, at = read_integer(at, _LOWEST, _HIGHEST)
    store_32_at(out + 1, value)
    if is_negative:
        kind = _INT8 if value >= -(2**7) else _INT16 if value >= -(2**15) else _INT32
        width = 1 if value >= -(2**7) else 2 if value >= -(2**15) else 4
    else:
        kind = _UINT8 if value < 2**8 else _UINT16 if value < 2**16 else _UINT32
        width = 1 if value < 2**8 else 2 if value < 2**16 else 4
    store_8_at(out, np.int64(kind))
    return at, out + 1 + width


@njit_inlined
def _encode_text(
    kind: Integer, at: Integer, last: Integer, out: Integer
) -> tuple[Integer, Integer]:
    """Write text and a NUL."""
    end = control_from(at, last)
    size = end - at
    copy_at(out, at, size)
    store_8_at(out + size, np.int64(0))
    is_odd_hex = kind == _HEX and size % 2 == 1
    return _NO_TEXT if is_odd_hex else end, out + size + 1


@njit_inlined
def _encode_array(at: Integer, out: Integer) -> tuple[Integer, Integer]:
    """Write the type, the number and the values of the elements of an array."""
    kind = load_u8_at(at)
    width, minimum, maximum = _ELEMENTS[kind, 0], _ELEMENTS[kind, 1], _ELEMENTS[kind, 2]
    if width == 0:
        return _NO_TEXT, out
    store_8_at(out, kind)
    at += 1
    count = np.int64(0)
    to = out + 5
    while at != 0 and load_u8_at(at) == _COMMA:
        if kind == _FLOAT:
            value, at = read_float32(at + 1)
        else:
            value, at = read_integer(at + 1, minimum, maximum)
        store_32_at(to, value)
        to += width
        count += 1
    store_32_at(out + 1, count)
    return at, to

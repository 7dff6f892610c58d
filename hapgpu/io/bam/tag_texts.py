"""Conversion of tags in SAM text to BAM encoding, as htslib does.

`MALFORMED` is returned in place of the end of text that is not converted: it may be malformed, or
htslib may do more than to encode what is written.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_u8, read_u16, write_8, write_32
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.tags import VALUE_WIDTHS, name_number
from hapgpu.io.text.builder import has_room, put_byte, put_bytes, put_word
from hapgpu.io.text.parsing import MALFORMED, control_from, read_float32, read_integer
from hapgpu.runtime.jit import njit, njit_inlined

_TAB, _NEWLINE, _COLON, _COMMA, _MINUS = b"\t\n:,-"
_CHARACTER, _INTEGER, _FLOAT, _TEXT, _HEX, _ARRAY = b"AifZHB"
_INT8, _INT16, _INT32, _UINT8, _UINT16, _UINT32 = b"csiCSI"
_FIRST_PRINTABLE: Final = np.int64(ord("!"))
_PRINTABLE: Final = np.uint64(94)
_LOWEST, _HIGHEST = np.int64(-(2**31)), np.int64(2**32 - 1)
_NAME_BYTES: Final = np.int64(2)
_ARRAY_HEAD_BYTES: Final = np.int64(5)  # type and number of the elements
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
def encode_tags(text: Memory, at: Integer, out: Memory, to: Integer) -> tuple[Integer, Integer]:
    """Write the tags at the end of a line.

    Parameters
    ----------
    text, at
        Lines, the last byte of which is a newline; and the offset of the tab before the first tag,
        or of the newline.
    out, to
        Where to write, as a text of `hapgpu.io.text.builder`.

    Returns
    -------
    tuple of int
        The offset of the newline, or `MALFORMED`; and the end of the output.
    """
    while at >= 0 and read_u8(text, at) == _TAB:
        if not _is_head(text, at + 1):
            return MALFORMED, to
        to = put_word(out, to, read_u16(text, at + 1), _NAME_BYTES)
        at, to = _encode_value(text, read_u8(text, at + 4), at + 6, out, to)
    if at >= 0 and read_u8(text, at) != _NEWLINE:
        return MALFORMED, to
    return at, to


@njit_inlined
def _is_printable(byte: Integer) -> bool:
    return bool(np.uint64(byte - _FIRST_PRINTABLE) < _PRINTABLE)


@njit_inlined
def _is_head(text: Memory, at: Integer) -> bool:
    """Tell whether name, type and colons are at an offset; no byte after a newline is read."""
    return (
        _is_printable(read_u8(text, at))
        and _is_printable(read_u8(text, at + 1))
        and read_u8(text, at + 2) == _COLON
        and _is_printable(read_u8(text, at + 3))
        and read_u8(text, at + 4) == _COLON
        and read_u16(text, at) != _LONG_CIGAR
    )


@njit_inlined
def _encode_value(
    text: Memory, kind: Integer, at: Integer, out: Memory, to: Integer
) -> tuple[Integer, Integer]:
    """Write the type and the value of a tag."""
    if kind == _INTEGER:
        return _encode_integer(text, at, out, to)
    to = put_byte(out, to, kind)
    if kind in (_TEXT, _HEX):
        return _encode_text(text, kind, at, out, to)
    if kind == _FLOAT:
        bits, at = read_float32(text, at)
        return at, put_word(out, to, bits, 4)
    if kind == _ARRAY:
        return _encode_array(text, at, out, to)
    character = read_u8(text, at)
    is_character = kind == _CHARACTER and _is_printable(character)
    return at + 1 if is_character else MALFORMED, put_byte(out, to, character)


@njit_inlined
def _encode_integer(text: Memory, at: Integer, out: Memory, to: Integer) -> tuple[Integer, Integer]:
    """Write an integer with the smallest type, an unsigned one unless it has a minus."""
    is_negative = read_u8(text, at) == _MINUS
    value, at = read_integer(text, at, _LOWEST, _HIGHEST)
    if is_negative:
        kind = _INT8 if value >= -(2**7) else _INT16 if value >= -(2**15) else _INT32
        width = 1 if value >= -(2**7) else 2 if value >= -(2**15) else 4
    else:
        kind = _UINT8 if value < 2**8 else _UINT16 if value < 2**16 else _UINT32
        width = 1 if value < 2**8 else 2 if value < 2**16 else 4
    return at, put_word(out, to, np.int64(kind) | value << 8, 1 + width)


@njit_inlined
def _encode_text(
    text: Memory, kind: Integer, at: Integer, out: Memory, to: Integer
) -> tuple[Integer, Integer]:
    """Write text and a NUL."""
    end = control_from(text, at)
    size = end - at
    is_odd_hex = kind == _HEX and size % 2 == 1
    to = put_byte(out, put_bytes(out, to, text, at, size), 0)
    return MALFORMED if is_odd_hex else end, to


@njit_inlined
def _encode_array(text: Memory, at: Integer, out: Memory, to: Integer) -> tuple[Integer, Integer]:
    """Write the type, the number and the values of the elements of an array."""
    kind = read_u8(text, at)
    width, minimum, maximum = _ELEMENTS[kind, 0], _ELEMENTS[kind, 1], _ELEMENTS[kind, 2]
    if width == 0:
        return MALFORMED, to
    at += 1
    count = np.int64(0)
    end = to + _ARRAY_HEAD_BYTES
    while at >= 0 and read_u8(text, at) == _COMMA:
        if kind == _FLOAT:
            value, at = read_float32(text, at + 1)
        else:
            value, at = read_integer(text, at + 1, minimum, maximum)
        end = put_word(out, end, value, width)
        count += 1
    if has_room(out, end):
        write_8(out, to, kind)
        write_32(out, to + 1, count)
    return at, end

"""Conversion of optional fields of BAM records to SAM text."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes, load_i32, load_u16, load_u32
from hapgpu.io.bam.tags import VALUE_WIDTHS
from hapgpu.io.text.numbers import put_float, put_integer
from hapgpu.runtime.jit import njit

_TAB, _COLON, _COMMA = b"\t:,"
_INT8, _UINT8, _INT16, _UINT16, _UINT32 = b"cCsSI"
_CHARACTER, _FLOAT, _TEXT, _HEX, _ARRAY = b"AfZHB"
# SAM has one integer type.
_SAM_TYPES = np.full(256, ord("i"), dtype=np.uint8)
_SAM_TYPES[list(b"AfZHB")] = list(b"AfZHB")


@njit
def _load_integer(tags: NDArray[np.uint8], at: Integer, kind: Integer) -> Integer:
    if kind == _UINT8:
        return np.int64(tags[at])
    if kind == _INT8:
        return np.int64(np.int8(tags[at]))
    if kind == _UINT16:
        return load_u16(tags, at)
    if kind == _INT16:
        return np.int64(np.int16(load_u16(tags, at)))
    return load_u32(tags, at) if kind == _UINT32 else load_i32(tags, at)


@njit
def _put_number(
    tags: NDArray[np.uint8], at: Integer, kind: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write the number at `at` to `out[to]`; return its end in `out`."""
    if kind == _FLOAT:
        return put_float(out, to, np.int32(load_i32(tags, at)).view(np.float32))
    return put_integer(out, to, _load_integer(tags, at, kind))


@njit
def _put_array(
    tags: NDArray[np.uint8], at: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    kind = np.int64(tags[at])
    out[to] = tags[at]
    to += 1
    count = load_i32(tags, at + 1)
    at += 5
    for _ in range(count):
        out[to] = _COMMA
        to = _put_number(tags, at, kind, out, to + 1)
        at += VALUE_WIDTHS[kind]
    return at, to


@njit
def _put_text(
    tags: NDArray[np.uint8], at: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    close = at
    while tags[close]:
        close += 1
    copy_bytes(tags, at, out, to, close - at)
    return close + 1, to + close - at


@njit
def put_tags(
    tags: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write well-formed fields in BAM encoding as SAM text, each after a tab.

    Parameters
    ----------
    tags
        uint8: fields of reads.
    start, end
        Range of the fields of one read.
    out, to
        uint8, with room for five times the size of the fields, and the offset to write to.

    Returns
    -------
    int
        The end of the text.
    """
    at = start
    while at < end:
        kind = np.int64(tags[at + 2])
        out[to] = _TAB
        out[to + 1] = tags[at]
        out[to + 2] = tags[at + 1]
        out[to + 3] = _COLON
        out[to + 4] = _SAM_TYPES[kind]
        out[to + 5] = _COLON
        at += 3
        to += 6
        if kind == _CHARACTER:
            out[to] = tags[at]
            at += 1
            to += 1
        elif kind in (_TEXT, _HEX):
            at, to = _put_text(tags, at, out, to)
        elif kind == _ARRAY:
            at, to = _put_array(tags, at, out, to)
        else:
            to = _put_number(tags, at, kind, out, to)
            at += VALUE_WIDTHS[kind]
    return to

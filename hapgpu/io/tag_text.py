"""Optional fields of BAM records written as SAM text."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.byte_access import Integer, copy_bytes, load_i32, load_u16, load_u32
from hapgpu.io.number_text import put_float, put_integer
from hapgpu.jit import njit

_TAB: Final = ord("\t")
_COLON: Final = ord(":")
_COMMA: Final = ord(",")


@njit
def _put_number(
    tags: NDArray[np.uint8], at: Integer, kind: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    """Write the number at `at`; return the offsets behind it in `tags` and in `out`."""
    if kind == ord("C"):
        return at + 1, put_integer(out, to, tags[at])
    if kind == ord("c"):
        return at + 1, put_integer(out, to, np.int8(tags[at]))
    if kind == ord("S"):
        return at + 2, put_integer(out, to, load_u16(tags, at))
    if kind == ord("s"):
        return at + 2, put_integer(out, to, np.int16(load_u16(tags, at)))
    if kind == ord("i"):
        return at + 4, put_integer(out, to, load_i32(tags, at))
    if kind == ord("I"):
        return at + 4, put_integer(out, to, load_u32(tags, at))
    word = np.full(1, load_i32(tags, at), dtype=np.int32)
    return at + 4, put_float(out, to, word.view(np.float32)[0])


@njit
def _put_array(
    tags: NDArray[np.uint8], at: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    kind = tags[at]
    out[to] = tags[at]
    to += 1
    count = load_i32(tags, at + 1)
    at += 5
    for _ in range(count):
        out[to] = _COMMA
        at, to = _put_number(tags, at, kind, out, to + 1)
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
def _shown_kind(kind: Integer) -> Integer:
    """Return the type that SAM gives a value: it knows one integer type."""
    if kind in (ord("A"), ord("f"), ord("Z"), ord("H"), ord("B")):
        return kind
    return ord("i")


@njit
def put_tags(
    tags: NDArray[np.uint8], begin: Integer, end: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write well-formed fields in BAM encoding as SAM text, each after a tab.

    Parameters
    ----------
    tags
        uint8: fields of reads.
    begin, end
        Where those of one read lie.
    out, to
        uint8: where the text goes, and its offset there; five times the fields' size is enough.

    Returns
    -------
    int
        The offset behind the text.
    """
    at = begin
    while at < end:
        kind = tags[at + 2]
        out[to] = _TAB
        out[to + 1] = tags[at]
        out[to + 2] = tags[at + 1]
        out[to + 3] = _COLON
        out[to + 4] = _shown_kind(kind)
        out[to + 5] = _COLON
        at += 3
        to += 6
        if kind == ord("A"):
            out[to] = tags[at]
            at += 1
            to += 1
        elif kind == ord("Z") or kind == ord("H"):
            at, to = _put_text(tags, at, out, to)
        elif kind == ord("B"):
            at, to = _put_array(tags, at, out, to)
        else:
            at, to = _put_number(tags, at, kind, out, to)
    return to

"""Text built by compiled functions, in memory that grows to its size.

Each function `put_…` writes from offset `at` on, if there is room, and returns the end of what it
writes in any case: no text can overflow. `built_text` repeats a writer whose end exceeds its
memory, with memory of that size. A text is a `Memory` with `SLACK` bytes more than it has room
for, so that short pieces are written as words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, copy_memory, write_8, write_16, write_32, write_64
from hapgpu.runtime.jit import njit, njit_inlined

SLACK: Final = 16
"""Bytes of a text beyond its room, which functions may overwrite."""
TAG_HEAD_BYTES: Final = 6
"""Bytes of a tab, the name of a tag and its type."""

_Write: TypeAlias = Callable[[NDArray[np.uint8]], Integer]
_MINUS: Final = np.int64(ord("-"))
_ZERO: Final = np.int64(ord("0"))
_POINT: Final = np.int64(ord("."))
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % k for k in range(100)), dtype=np.uint16)
_SHORT: Final = np.frombuffer(b"".join(b"%-2d" % k for k in range(100)), dtype=np.uint16)
_8, _32 = np.int64(8), np.int64(32)
_10, _100 = np.uint64(10), np.uint64(100)

_WHOLE: Final = 2.0**53
_SCALE: Final = np.uint64(625)  # 10**4 / 2**4
_SHIFT: Final = np.uint64(49)
_HALF: Final = np.uint64(1 << 48)
_REST: Final = np.uint64((1 << 49) - 1)
_1: Final = np.uint64(1)


class TextBuilder:
    """Builder of many texts of one kind, which expects the sizes of the texts before.

    Threads may share it: another expectation changes no text.

    Parameters
    ----------
    row_bytes
        Expected bytes per row of the first text.
    """

    def __init__(self, row_bytes: int) -> None:
        self._row_bytes = float(row_bytes)
        self._most_reserved = _RESERVED

    def __call__(self, rows: int, write: _Write) -> NDArray[np.uint8]:
        """Return uint8: the text of some rows, all of which `write` writes; see `built_text`.

        At first at most 64 MiB are reserved, or twice the largest text so far if that is more: many
        rows may follow a few very long ones.
        """
        expected = min(int(_MARGIN * self._row_bytes * rows) + _LEAST, self._most_reserved)
        text = built_text(write, expected)
        if rows:
            self._row_bytes = max(text.size / rows, 1.0)
            self._most_reserved = max(self._most_reserved, 2 * text.size)
        return text


_MARGIN: Final = 1.25
_LEAST: Final = 4096
_RESERVED: Final = 64 << 20


def built_text(write: _Write, expected: int) -> NDArray[np.uint8]:
    """Return uint8: a text.

    Parameters
    ----------
    write
        Writes the text to uint8 memory by functions of this module, and returns its end. It may be
        called twice, and must write the same each time.
    expected
        Expected bytes; memory that is not written takes none.
    """
    out = np.empty(expected + SLACK, dtype=np.uint8)
    end = write(out)
    if end > expected:
        out = np.empty(end + SLACK, dtype=np.uint8)
        end = write(out)
    return out[:end]


@njit_inlined
def has_room(text: Memory, end: Integer) -> bool:
    """Tell whether a text may be written up to an offset."""
    return bool(end <= text.size - SLACK)


def tag_head(name: str, kind: str) -> np.int64:
    """Return the six characters before the value of a tag, such as `NM` of kind `i`, as a word."""
    return np.int64(int.from_bytes(f"\t{name}:{kind}:".encode("ascii"), "little"))


@njit_inlined
def put_byte(text: Memory, at: Integer, byte: Integer) -> Integer:
    """Write a byte."""
    end = at + 1
    if has_room(text, end):
        write_8(text, at, np.int64(byte))
    return end


@njit_inlined
def put_two(text: Memory, at: Integer, first: Integer, second: Integer) -> Integer:
    """Write two bytes."""
    end = at + 2
    if has_room(text, end):
        write_16(text, at, np.int64(first) | np.int64(second) << _8)
    return end


@njit_inlined
def put_bytes(text: Memory, at: Integer, source: Memory, start: Integer, size: Integer) -> Integer:
    """Write `size` bytes of a memory, from `start` on."""
    end = at + size
    if has_room(text, end):
        copy_memory(text, at, source, start, size)
    return end


@njit_inlined
def put_all(text: Memory, at: Integer, source: Memory) -> Integer:
    """Write all bytes of a memory."""
    return put_bytes(text, at, source, np.int64(0), source.size)


@njit_inlined
def put_head(text: Memory, at: Integer, head: Integer) -> Integer:
    """Write the tab, name and type of a tag; see `tag_head`."""
    end = at + TAG_HEAD_BYTES
    if has_room(text, end):
        write_32(text, at, head)
        write_16(text, at + 4, head >> _32)
    return end


@njit_inlined
def put_count(text: Memory, at: Integer, value: Integer) -> Integer:
    """Write a number from 0 to 10**19 - 1."""
    rest = np.uint64(value)
    if rest < _100:
        end = at + 1 + np.int64(rest >= _10)
        if has_room(text, end):
            write_16(text, at, np.int64(_SHORT[rest]))
        return end
    end = at + 1
    power = _10
    while rest >= power:
        power *= _10
        end += 1
    if not has_room(text, end):
        return end
    to = end
    while rest >= _10:
        to -= 2
        write_16(text, to, np.int64(_PAIRS[rest % _100]))
        rest //= _100
    if to > at:
        write_8(text, at, _ZERO + np.int64(rest))
    return end


@njit_inlined
def put_integer(text: Memory, at: Integer, value: Integer) -> Integer:
    """Write an integer of at most 64 bits, less than 10**19."""
    size = np.uint64(value)
    if value < 0:
        at = put_byte(text, at, _MINUS)
        size = np.uint64(-np.int64(value))  # of the least int8, not an int8
    return put_count(text, at, size)


@njit
def put_number_tag(text: Memory, at: Integer, head: Integer, value: Integer) -> Integer:
    """Write a tag with an integer."""
    return put_integer(text, put_head(text, at, head), value)


@njit
def put_four_decimals(text: Memory, at: Integer, value: float) -> Integer:
    """Write a number from 0 to 1 as C's `%.4f` does, or `0` if it is 0.

    The number must be a float32, or the difference between 1 and a float64. It is then a multiple
    of 2**-53, or too small to be written otherwise than `0.0000`.
    """
    if value == 0.0:
        return put_byte(text, at, _ZERO)
    end = at + 6
    if not has_room(text, end):
        return end
    scaled = np.uint64(value * _WHOLE) * _SCALE
    units, rest = scaled >> _SHIFT, scaled & _REST
    units += np.uint64(rest > _HALF) + (np.uint64(rest == _HALF) & units & _1)
    write_16(text, at, _ZERO + np.int64(units // np.uint64(10000)) | _POINT << _8)
    units %= np.uint64(10000)
    write_16(text, at + 2, np.int64(_PAIRS[units // _100]))
    write_16(text, at + 4, np.int64(_PAIRS[units % _100]))
    return end


@njit_inlined
def put_word(text: Memory, at: Integer, word: Integer, size: Integer) -> Integer:
    """Write the lowest bytes of an int64, at most eight."""
    end = at + size
    if has_room(text, end):
        write_64(text, at, np.int64(word))
    return end

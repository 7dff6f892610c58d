"""Characters, numbers and tags of SAM, written by compiled functions.

Each function writes from `out[at]` on, without a check for room, and returns the end offset.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit_inlined

TAB: Final = ord("\t")
STAR: Final = ord("*")
NEWLINE: Final = ord("\n")
_PAIRS: Final = np.frombuffer(b"".join(b"%02d" % k for k in range(100)), dtype=np.uint8)
_1 = np.uint64(1)
_2 = np.uint64(2)
_10 = np.uint64(10)
_100 = np.uint64(100)


def text_of(characters: str) -> NDArray[np.uint8]:
    """Return ASCII characters as uint8."""
    return np.frombuffer(characters.encode("ascii"), dtype=np.uint8)


@njit_inlined
def put_text(out: NDArray[np.uint8], at: Integer, text: NDArray[np.uint8]) -> Integer:
    """Write characters."""
    to = np.uint64(at)
    for k in range(np.uint64(text.size)):
        out[to + k] = text[k]
    return at + text.size


@njit_inlined
def put_count(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write a number from 0 to 10**19 - 1."""
    rest = np.uint64(value)
    end = np.uint64(at) + _1
    power = _10
    while rest >= power:
        power *= _10
        end += _1
    to = end
    while rest >= _100:
        to -= _2
        pair = _2 * (rest % _100)
        rest //= _100
        out[to] = _PAIRS[pair]
        out[to + _1] = _PAIRS[pair + _1]
    if rest >= _10:
        out[to - _2] = _PAIRS[_2 * rest]
    out[to - _1] = _PAIRS[_2 * rest + _1]
    return np.int64(end)


@njit_inlined
def put_tag(out: NDArray[np.uint8], at: Integer, tag: NDArray[np.uint8], value: Integer) -> Integer:
    """Write a tag, which starts with a tab, and its number."""
    return put_count(out, put_text(out, at, tag), value)

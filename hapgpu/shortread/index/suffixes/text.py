"""Text in two bits per base, and the bases from an offset on as a number."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit_inlined

KEY_BASES: Final = 32
"""Bases of a word, and of a key."""

_SPARE_WORDS: Final = 2
_0, _1, _2, _5, _31, _63 = map(np.uint64, (0, 1, 2, 5, 31, 63))


class PackedText(NamedTuple):
    """Text of n bases, A, C, G and T as 0 to 3.

    Attributes
    ----------
    words
        uint64[n // 32 + 2]: base i is in word i // 32, the first base of a word in its highest
        bits; zeros follow the last base.
    size
        n.
    """

    words: NDArray[np.uint64]
    size: int


def word_count(size: int) -> int:
    """Return the number of words of a text of `size` bases."""
    return size // KEY_BASES + _SPARE_WORDS


@njit_inlined
def key_at(words: NDArray[np.uint64], offset: Integer) -> Integer:
    """Return 32 bases from `offset` on, the first in the highest bits; offsets end at the size.

    `words` are uint64, as in `PackedText`.
    """
    word, bit = offset >> _5, (offset & _31) << _1
    key: Integer = words[word] << bit | (words[word + _1] >> _1) >> (_63 - bit)
    return key


@njit_inlined
def key_after(words: NDArray[np.uint64], size: Integer, offset: Integer) -> Integer:
    """Return `key_at(words, offset)`, `words` uint64, of any offset: zeros follow the text."""
    key: Integer = _0
    if offset < size:
        key = key_at(words, offset)
    return key

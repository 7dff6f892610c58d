"""Bases and qualities of reads, as in the file or reverse-complemented.

Each function writes from `out[at]` on, without a check for room, and returns the end offset.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.runtime.jit import njit

_LETTERS: Final = b"ACGTUKMRYBVDH"
_COMPLEMENTS: Final = b"TGCAAMKYRVBHD"
_COMPLEMENT: Final = np.frombuffer(
    bytes(range(256)).translate(
        bytes.maketrans(_LETTERS + _LETTERS.lower(), _COMPLEMENTS + _COMPLEMENTS.lower())
    ),
    dtype=np.uint8,
)
"""Complement of each IUPAC letter, in the same case; other bytes are unchanged."""
_UPPER, _U = np.uint8(0xDF), np.uint8(ord("U"))


@njit
def put_bases(
    text: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    is_reverse: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write bases of a text, U as T, or their reverse complement."""
    to = np.uint64(at)
    if is_reverse:
        last = np.uint64(start + length - 1)
        for k in range(np.uint64(length)):
            out[to + k] = _COMPLEMENT[text[last - k]]
    else:
        first = np.uint64(start)
        for k in range(np.uint64(length)):
            letter = text[first + k]
            out[to + k] = letter - np.uint8((letter & _UPPER) == _U)
    return at + length


@njit
def put_qualities(
    text: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    is_reverse: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write qualities of a text, or their reverse."""
    if is_reverse:
        to, last = np.uint64(at), np.uint64(start + length - 1)
        for k in range(np.uint64(length)):
            out[to + k] = text[last - k]
    else:
        copy_bytes(text, start, out, at, length)
    return at + length

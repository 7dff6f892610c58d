"""Text of simulated reads: numbered names, and the end of a FASTQ record."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit

NAME_DIGITS: Final = 9
_NEWLINE, _PLUS = b"\n+"


def numbered_names(prefix: bytes, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return uint8 text, a row per number: the prefix and the number in `NAME_DIGITS` digits."""
    digits = numbers[:, None] // 10 ** np.arange(NAME_DIGITS - 1, -1, -1) % 10 + ord("0")
    names = np.empty((numbers.size, len(prefix) + NAME_DIGITS), dtype=np.uint8)
    names[:, : len(prefix)] = np.frombuffer(prefix, dtype=np.uint8)
    names[:, len(prefix) :] = digits
    return names


@njit
def put_fastq_end(
    out: NDArray[np.uint8], at: Integer, length: Integer, quality: Integer
) -> Integer:
    """Write a FASTQ record from the end of its bases on: `length` times the same quality.

    Returns the offset after the record. There are `length` + 4 bytes to write.
    """
    out[at] = out[at + 2] = _NEWLINE
    out[at + 1] = _PLUS
    at += 3
    for k in range(length):
        out[at + k] = quality
    out[at + length] = _NEWLINE
    return at + length + 1

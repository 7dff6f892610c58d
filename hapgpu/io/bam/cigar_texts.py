"""CIGARs as text, written by compiled functions."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_u32
from hapgpu.io.text.builder import put_byte, put_count
from hapgpu.runtime.jit import njit_inlined

_STAR: Final = ord("*")
_LETTERS: Final = np.frombuffer(b"MIDNSHP=X".ljust(16, b"?"), dtype=np.uint8)


@njit_inlined
def put_cigar_text(text: Memory, at: Integer, cigar: Memory) -> Integer:
    """Write a CIGAR in BAM encoding as text, `*` if it has no operations; return its end."""
    if cigar.size == 0:
        return put_byte(text, at, _STAR)
    for k in range(cigar.size // 4):
        element = read_u32(cigar, 4 * k)
        at = put_byte(text, put_count(text, at, element >> 4), _LETTERS[element & 15])
    return at

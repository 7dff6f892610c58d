"""Guess of the first record in bytes of a BAM file that start anywhere."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_i32_at, load_u8_at, load_u16_at
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.runtime.jit import njit, njit_inlined

_LONGEST: Final = 1 << 24
"""Bytes of a record that is guessed; a longer one is found by the records before it."""
_FIRST_PRINTABLE: Final = ord("!")
_LAST_PRINTABLE: Final = ord("~")


@njit_inlined
def _may_start(base: Integer, at: Integer, limit: Integer, references: Integer) -> bool:
    """Tell whether a record may start at an offset, of which all fixed fields are in the data."""
    record = base + at
    size = load_i32_at(record)
    if not FIXED_BYTES - 4 < size <= _LONGEST:
        return False
    for field in (4, 24):
        reference = load_i32_at(record + field)
        if reference < -1 or reference >= references or load_i32_at(record + field + 4) < -1:
            return False
    name_bytes = load_u8_at(record + 12)
    bases = load_i32_at(record + 20)
    if name_bytes < 2 or bases < 0:
        return False
    parts = name_bytes + 4 * load_u16_at(record + 16) + (bases + 1) // 2 + bases
    if FIXED_BYTES - 4 + parts > size:
        return False
    name = at + FIXED_BYTES
    if name + name_bytes > limit:
        return True
    first = load_u8_at(base + name)
    is_printable = _FIRST_PRINTABLE <= first <= _LAST_PRINTABLE
    return bool(is_printable and load_u8_at(base + name + name_bytes - 1) == 0)


@njit
def guess_first_record(data: NDArray[np.uint8], start: Integer, references: Integer) -> Integer:
    """Return the offset of the first record from `start`, as far as can be told; -1 without one.

    It is the first offset where a record may start, and after it another one. The guess is for
    work ahead: whoever uses it must check that the records before it end there.

    Parameters
    ----------
    data
        uint8: bytes of the records of a BAM file, the first of which may be within a record.
    start
        Offset before which no record starts.
    references
        Number of contigs in the header.
    """
    base, limit = data.ctypes.data, data.size
    for at in range(start, limit - FIXED_BYTES + 1):
        if _may_start(base, at, limit, references):
            following = at + 4 + load_i32_at(base + at)
            is_cut = following + FIXED_BYTES > limit
            if is_cut or _may_start(base, following, limit, references):
                return at
    return -1

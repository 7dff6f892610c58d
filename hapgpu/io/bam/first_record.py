"""Guess of the first record in bytes of a BAM file that start anywhere."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, load_i32, load_u16
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.runtime.jit import njit

_LONGEST: Final = 1 << 24
"""Bytes of a record that is guessed; a longer one is found by the records before it."""
_FIRST_PRINTABLE: Final = ord("!")
_LAST_PRINTABLE: Final = ord("~")


@njit
def _may_start(data: NDArray[np.uint8], at: Integer, references: Integer) -> bool:
    """Tell whether a record may start at an offset, of which all fixed fields are in the data."""
    size = load_i32(data, at)
    if not FIXED_BYTES - 4 < size <= _LONGEST:
        return False
    for field in (4, 24):
        reference = load_i32(data, at + field)
        if reference < -1 or reference >= references or load_i32(data, at + field + 4) < -1:
            return False
    name_bytes = np.int64(data[np.uint64(at + 12)])
    bases = load_i32(data, at + 20)
    if name_bytes < 2 or bases < 0:
        return False
    if FIXED_BYTES - 4 + name_bytes + 4 * load_u16(data, at + 16) + (bases + 1) // 2 + bases > size:
        return False
    name = at + FIXED_BYTES
    if name + name_bytes > data.size:
        return True
    first = data[np.uint64(name)]
    is_printable = _FIRST_PRINTABLE <= first <= _LAST_PRINTABLE
    return bool(is_printable and data[np.uint64(name + name_bytes - 1)] == 0)


@njit
def guess_first_record(data: NDArray[np.uint8], references: Integer) -> Integer:
    """Return the offset of the first record, as far as that can be told; -1 without one.

    It is the first offset where a record may start, and after it another one. The guess is for
    work ahead: whoever uses it must check that the records before it end there.

    Parameters
    ----------
    data
        uint8: bytes of the records of a BAM file, the first of which may be within a record.
    references
        Number of contigs in the header.
    """
    for at in range(data.size - FIXED_BYTES + 1):
        if _may_start(data, at, references):
            following = at + 4 + load_i32(data, at)
            if following + FIXED_BYTES > data.size or _may_start(data, following, references):
                return at
    return -1

"""Tandem repeats in reads, counted as in GATK's model of PCR indel errors."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, longest_row, view_of
from hapgpu.runtime.jit import njit

MAX_COPIES: Final = 20
"""Upper limit of the number of copies counted."""

_LONGEST_UNIT: Final = 8
_NO_BASE: Final = 0


def repeat_counts(bases: Ragged) -> NDArray[np.uint8]:
    """Count the copies of the repeat that an indel after each base would change.

    The unit is the shortest sequence of 1 to 8 bases with at least two copies right after the
    base; without one, the next base. Its copies are counted in both directions. (GATK also looks
    for a unit that ends at the base, but always uses the number of copies of the unit after it.)

    Parameters
    ----------
    bases
        uint8 text, a row per read; compared byte by byte, so that N repeats N.

    Returns
    -------
    uint8[bases.data.size], 1 to `MAX_COPIES`; 0 at the last base of a read.
    """
    counts = np.zeros(bases.data.size, dtype=np.uint8)
    _count(view_of(bases), counts)
    return counts


@njit
def _count(rows: RaggedView, counts: NDArray[np.uint8]) -> None:
    """Count the copies after each base, from the end of a read, then add the copies before it.

    Matches are counted for units of all lengths at once, because branches would be mispredicted.
    """
    longest = longest_row(rows)
    bases = np.zeros(longest + _LONGEST_UNIT, dtype=np.uint8)
    units = np.ones(longest, dtype=np.int64)
    matches = np.zeros(_LONGEST_UNIT, dtype=np.int32)
    for row in range(rows.offsets.size - 1):
        start = rows.offsets[row]
        length = rows.offsets[row + 1] - start
        for k in range(length):
            bases[k] = rows.data[start + k]
        bases[length : length + _LONGEST_UNIT] = _NO_BASE
        matches[:] = 0
        for at in range(length - 1, 0, -1):
            _extend(bases, at, matches)
            units[at] = _shortest_unit(matches)
            counts[start + at - 1] = 1 + _copies(matches, units[at])
        matches[:] = 0
        for at in range(1, length):
            _extend(bases, at - 1, matches)
            copies = counts[start + at - 1] + _copies(matches, units[at])
            counts[start + at - 1] = min(copies, MAX_COPIES)


@njit
def _extend(bases: NDArray[np.uint8], at: Integer, matches: NDArray[np.int32]) -> None:
    """Count for each unit length how many bases in a row equal the base one unit further on."""
    base, following = bases[at], bases[at + 1 : at + 1 + _LONGEST_UNIT]
    for k in range(_LONGEST_UNIT):
        matches[k] = matches[k] + 1 if following[k] == base else 0


@njit
def _shortest_unit(matches: NDArray[np.int32]) -> Integer:
    """Return the length of the shortest unit that is followed by a copy of itself, or 1."""
    unit = 1
    for length in range(_LONGEST_UNIT, 0, -1):
        unit = length if matches[length - 1] >= length else unit
    return unit


@njit
def _copies(matches: NDArray[np.int32], unit: Integer) -> int:
    return min(int(matches[unit - 1]) // int(unit), MAX_COPIES)

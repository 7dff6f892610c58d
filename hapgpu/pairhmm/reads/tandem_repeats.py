"""Tandem repeats in reads, counted as in GATK's model of PCR indel errors."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

MAX_COPIES: Final = 20
"""Upper limit of the number of copies counted."""

_LONGEST_UNIT: Final = 8

# Counters of all units are the bytes of one word, that of the unit of one base the lowest.
_ONES: Final = np.uint64(0x0101010101010101)
_LOW_BITS: Final = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH_BITS: Final = np.uint64(0x8080808080808080)
_ALL_BITS: Final = np.uint64(0xFF)
_BELOW_UNITS: Final = np.uint64(sum((0x80 - unit) << 8 * (unit - 1) for unit in range(1, 9)))
"""Byte that, added to a counter below 128, sets the high bit if the counter is at least a unit."""
_BYTE_NUMBERS: Final = np.uint64(sum(k << (61 - 8 * k) for k in range(1, 8)))
"""Factor that moves the number of the byte in which a word is 1 to its upper three bits."""
_0, _1, _7, _8, _56, _61 = map(np.uint64, (0, 1, 7, 8, 56, 61))
_FULL: Final = 192
"""Counter that is not raised any more: a multiple of 64, with more than `MAX_COPIES` copies."""
_COPIES: Final = np.minimum(
    np.arange(256) // np.arange(1, _LONGEST_UNIT + 1)[:, np.newaxis], MAX_COPIES
).astype(np.uint8)
"""Copies by unit, less one, and counter."""


@njit
def count_row(
    bases: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    units: NDArray[np.uint8],
    counts: NDArray[np.uint8],
) -> None:
    """Count the copies of the repeat that an indel after each base of a read would change.

    The unit is the shortest sequence of 1 to 8 bases with at least two copies right after the
    base; without one, the next base. Its copies are counted in both directions. (GATK also looks
    for a unit that ends at the base, but always uses the number of copies of the unit after it.)

    Copies after each base are counted from the end of the read, then copies before it are added.
    Matches are counted for units of all lengths at once, because branches would be mispredicted.

    Parameters
    ----------
    bases
        uint8 text with the read at `start` to `end`; compared byte by byte, so that N repeats N.
    units
        uint8: scratch memory for each base of the read.
    counts
        uint8: receives 1 to `MAX_COPIES` at `start` to `end`; 0 at the last base.
    """
    following: Integer = _0
    matches: Integer = _0
    may_be_full = end - start > _FULL
    for at in range(end - 1, start, -1):
        base = np.uint64(bases[at])
        if may_be_full:
            matches = _with_room(matches)
        matches = _extended(matches, base, following)
        following = following << _8 | base
        unit = np.int64(_shortest_unit(matches))
        units[at - start] = unit
        counts[at - 1] = 1 + _COPIES[unit, matches >> (_8 * np.uint64(unit)) & _ALL_BITS]
    matches, following = _0, _0
    for at in range(start, min(start + _LONGEST_UNIT, end)):
        following |= np.uint64(bases[at]) << (_8 * np.uint64(at - start))
    for at in range(start + 1, end):
        ahead = at + _LONGEST_UNIT - 1
        new = np.uint64(bases[ahead]) if ahead < end else _0
        following = following >> _8 | new << _56
        if may_be_full:
            matches = _with_room(matches)
        matches = _extended(matches, np.uint64(bases[at - 1]), following)
        unit = np.int64(units[at - start])
        copies = counts[at - 1] + _COPIES[unit, matches >> (_8 * np.uint64(unit)) & _ALL_BITS]
        counts[at - 1] = min(copies, MAX_COPIES)
    if end > start:
        counts[end - 1] = 0


@njit_inlined
def _with_room(matches: Integer) -> Integer:
    """Lower counters of `_FULL` by one, so that they do not overflow; copies are fewer."""
    lowered: Integer = matches - ((matches & matches << _1) >> _7 & _ONES)
    return lowered


@njit_inlined
def _extended(matches: Integer, base: Integer, following: Integer) -> Integer:
    """Count for each unit length how many bases in a row equal the base one unit further on.

    Parameters
    ----------
    matches
        The counters after the base before.
    base
        The next base.
    following
        The eight bases after it, the nearest in the lowest byte; 0 after the end of the read.
    """
    differing = following ^ (base * _ONES)
    is_other = ((differing & _LOW_BITS) + _LOW_BITS | differing) & _HIGH_BITS
    is_same = ((is_other ^ _HIGH_BITS) >> _7) * _ALL_BITS
    extended: Integer = (matches + _ONES) & is_same
    return extended


@njit_inlined
def _shortest_unit(matches: Integer) -> Integer:
    """Return the length, less one, of the shortest unit that a copy of itself follows, or 0."""
    has_copy = ((matches & _LOW_BITS) + _BELOW_UNITS | matches) & _HIGH_BITS
    lowest = (has_copy & (_0 - has_copy)) >> _7
    number: Integer = lowest * _BYTE_NUMBERS >> _61
    return number

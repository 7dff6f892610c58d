"""Positions of a read at which no insertion or deletion is plausible."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, read_64, read_u8, write_8, write_64
from hapgpu.runtime.jit import njit, njit_inlined

GAP: Final = ord("-")
"""Base of a read at a position that it deletes."""
_UNKNOWN: Final = ord("N")
_WORD: Final = 8


class Row(NamedTuple):
    """A read against the reference: one base per position, without inserted bases.

    Attributes
    ----------
    bases
        uint8, from the first position on; `GAP` where the read has a deletion.
    qualities
        uint8, of these positions.
    length
        Positions of the read.
    read_bases
        Bases of the read, inserted ones too.
    window
        uint8: the reference from the first position on, up to the end of what is considered.
    """

    bases: Memory
    qualities: Memory
    length: Integer
    read_bases: Integer
    window: Memory


@njit
def find_informative(
    row: Row, first: Integer, last: Integer, max_size: int, sums: Memory, out: Memory
) -> None:
    """Tell at which positions no insertion or deletion of up to `max_size` bases is plausible.

    One is plausible at a position if the sum of the qualities of mismatches, from there to the end,
    is not larger with it than without. No position close to the end of the read, or of the window,
    is informative; the rules there are those of GATK's
    ReferenceConfidenceModel.readHasNoPlausibleIdealsOfSize.

    GATK keeps what it found from the first position that it looks at. As sums are counted from the
    end, each position has the same answer from any first one.

    Parameters
    ----------
    row
        The read.
    first, last
        Positions of the read that are considered, half-open.
    max_size
        Bases of an insertion or deletion, at most.
    sums
        int64: scratch memory, at least `row.length` elements.
    out
        bool, at least `last` elements: written from `first` to `last`; undefined for gaps.
    """
    end = max(first, min(last, _usable_end(row, max_size)))
    for k in range(end, last):
        write_8(out, k, 0)
    if first == end:
        return
    total = _sum_mismatches(row, first, sums)
    if total == 0 and row.length <= row.window.size:
        # The positions of each plausible indel are consecutive, and end after `end`.
        found = _first_plausible(row, first, end, max_size)
        for k in range(first, end):
            write_8(out, k, np.int64(k < found))
        return
    for k in range(first, end):
        write_8(out, k, 1)
    for size in range(1, max_size + 1):
        _exclude_plausible(row, (first, end, total), size, 0, sums, out)
        _exclude_plausible(row, (first, end, total), 0, size, sums, out)


@njit_inlined
def _usable_end(row: Row, max_size: Integer) -> Integer:
    """Return the end of the positions that are not too close to the end of the read or window."""
    # Insertions and deletions make the numbers of bases and of positions differ.
    last_base = row.read_bases - max_size
    if row.length <= row.window.size:
        return min(row.length - max_size, last_base + 1)
    last = row.window.size - max_size
    return last if last < last_base else last_base + 1


@njit
def _sum_mismatches(row: Row, first: Integer, sums: Memory) -> Integer:
    """Write the sum of the qualities of mismatches from each position to the end; return the first.

    Nothing is written for a read within the window that equals the reference.
    """
    end = min(row.length, row.window.size)
    if row.length <= row.window.size and _are_equal(row, first, end):
        return np.int64(0)
    total = np.int64(0)
    for k in range(end - 1, first - 1, -1):
        total += _mismatch(row, k, k)
        write_64(sums, 8 * k, total)
    return total


@njit_inlined
def _are_equal(row: Row, first: Integer, end: Integer) -> bool:
    """Tell whether the bases first to end of a read are those of the reference."""
    at = first
    while at + _WORD <= end:
        if read_64(row.bases, at) != read_64(row.window, at):
            return False
        at += _WORD
    while at < end:
        if read_u8(row.bases, at) != read_u8(row.window, at):
            return False
        at += 1
    return True


@njit_inlined
def _mismatch(row: Row, base: Integer, at: Integer) -> Integer:
    """Return the quality of a base of the read if it is a mismatch to one of the window, else 0."""
    one, other = read_u8(row.bases, base), read_u8(row.window, at)
    # Not `in {...}`: Numba would allocate a set each time.
    is_known = (one != GAP) & (one != _UNKNOWN) & (other != _UNKNOWN)
    return read_u8(row.qualities, base) if one != other and is_known else np.int64(0)


@njit
def _first_plausible(row: Row, first: Integer, end: Integer, max_size: Integer) -> Integer:
    """Return the first position with a plausible indel in a read without mismatches, or `end`.

    A shifted read must not have mismatches either: most have one within a few bases.
    """
    found = end
    for size in range(1, max_size + 1):
        k = row.length - size - 1
        while k >= first and _mismatch(row, k + size, k) == 0:
            k -= 1
        found = min(found, k + 1)
        k = min(row.length, row.window.size - size) - 1
        while k >= first and _mismatch(row, k, k + size) == 0:
            k -= 1
        found = min(found, k + 1)
    return found


@njit
def _exclude_plausible(
    row: Row,
    limits: tuple[Integer, Integer, Integer],
    inserted: Integer,
    deleted: Integer,
    sums: Memory,
    out: Memory,
) -> None:
    """Exclude the positions at which an insertion or a deletion is plausible.

    `limits` are the first position and the end, and the sum from the first: larger sums are not
    plausible anywhere.
    """
    first, end, most = limits
    total = np.int64(0)
    for k in range(min(row.length - inserted, row.window.size - deleted) - 1, first - 1, -1):
        total += _mismatch(row, k + inserted, k + deleted)
        if total > most:
            return
        if k < end and total <= read_64(sums, 8 * k):
            write_8(out, k, 0)

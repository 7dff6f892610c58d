"""Sorting of offsets by 64-bit keys, from the highest byte to the lowest (MSD radix sort)."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

_SMALL: Final = 24  # rows that insertion sorts faster
_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_MAX_PARTS: Final = _DIGITS * (64 // _DIGIT_BITS + 1)
_1, _LAST_DIGIT = np.uint64(1), np.uint64(_DIGITS - 1)


class SortSpace(NamedTuple):
    """Memory for sorting at most r rows.

    Attributes
    ----------
    keys, offsets
        uint64[r], uint32[r]: copies of the rows.
    counts
        int64[256]: rows per value of a byte.
    parts
        int64, three per part that is not yet sorted: first row, end, and lowest bit of the byte.
    """

    keys: NDArray[np.uint64]
    offsets: NDArray[np.uint32]
    counts: NDArray[np.int64]
    parts: NDArray[np.int64]


@njit
def new_space(rows: Integer) -> SortSpace:
    """Return memory for sorting at most so many rows."""
    return SortSpace(
        np.empty(rows, np.uint64),
        np.empty(rows, np.uint32),
        np.empty(_DIGITS, np.int64),
        np.empty(3 * _MAX_PARTS, np.int64),
    )


@njit
def sort_by_keys(
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    start: Integer,
    end: Integer,
    shift: Integer,
    space: SortSpace,
) -> None:
    """Sort the rows from `start` to `end` by their keys, whose bits from `shift` + 8 on agree.

    Parameters
    ----------
    keys, offsets
        uint64[m], uint32[m]: sorted in place.
    start, end
        The rows to sort.
    shift
        Lowest bit of the highest byte that differs.
    space
        Memory for at least as many rows.
    """
    counts, parts = space.counts, space.parts
    parts[0], parts[1], parts[2] = start, end, shift
    left = 1
    while left:
        left -= 1
        first, last, low = parts[3 * left], parts[3 * left + 1], parts[3 * left + 2]
        if last - first <= _SMALL:
            _insert(keys, offsets, first, last)
            continue
        following = max(low - _DIGIT_BITS, 0)
        if not _distribute(keys, offsets, first, last, np.uint64(low), space):
            if low:
                parts[3 * left], parts[3 * left + 1], parts[3 * left + 2] = first, last, following
                left += 1
            continue
        if not low:
            continue
        part = first
        for digit in range(_DIGITS):
            part_end = first + counts[digit]
            if part_end - part > _SMALL:
                parts[3 * left], parts[3 * left + 1], parts[3 * left + 2] = (
                    part,
                    part_end,
                    following,
                )
                left += 1
            elif part_end - part > 1:
                _insert(keys, offsets, part, part_end)
            part = part_end


@njit_inlined
def _distribute(
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    start: Integer,
    end: Integer,
    shift: Integer,
    space: SortSpace,
) -> bool:
    """Sort rows by one digit, and count the rows up to each digit; return False if all agree."""
    counts, spare_keys, spare_offsets = space.counts, space.keys, space.offsets
    first, last = np.uint64(start), np.uint64(end)
    for digit in range(_DIGITS):
        counts[digit] = 0
    for row in range(first, last):
        counts[keys[row] >> shift & _LAST_DIGIT] += 1
    if counts[keys[first] >> shift & _LAST_DIGIT] == end - start:
        return False
    total = np.int64(0)
    for digit in range(_DIGITS):
        count = counts[digit]
        counts[digit] = total
        total += count
    for row in range(first, last):
        key = keys[row]
        digit = key >> shift & _LAST_DIGIT
        to = np.uint64(counts[digit])
        counts[digit] += 1
        spare_keys[to], spare_offsets[to] = key, offsets[row]
    for row in range(last - first):
        keys[first + row], offsets[first + row] = spare_keys[row], spare_offsets[row]
    return True


@njit_inlined
def _insert(
    keys: NDArray[np.uint64], offsets: NDArray[np.uint32], start: Integer, end: Integer
) -> None:
    """Sort few rows by insertion."""
    first = np.uint64(start)
    for row in range(first + _1, np.uint64(end)):
        key, offset = keys[row], offsets[row]
        to: Integer = row
        while to > first and keys[to - _1] > key:
            keys[to], offsets[to] = keys[to - _1], offsets[to - _1]
            to -= _1
        keys[to], offsets[to] = key, offset

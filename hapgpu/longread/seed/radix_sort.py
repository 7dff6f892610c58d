"""minimap2's sort for compiled functions: in place, by bytes, and not stable.

The order of equal keys depends on how elements are moved, and can decide between chains. Therefore
the moves are minimap2's (Li 2018, Bioinformatics 34:3094): an American flag sort (McIlroy, Bostic
and McIlroy 1993, Computing Systems 6:5) by bytes from the highest down, with insertion sort of
small ranges.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

LONGEST_INSERTION: Final = 64
"""Largest range sorted by insertion, which is stable."""

# A range is replaced by at most 256 pending ranges, for each of eight bytes.
_MAX_PENDING: Final = 8 * 255 + 1

_0, _1, _7, _63, _255, _256 = map(np.uint64, (0, 1, 7, 63, 255, 256))
_LONGEST_INSERTION = np.uint64(LONGEST_INSERTION)


@njit
def radix_sort(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], start: Integer, end: Integer
) -> None:
    """Sort both arrays from `start` to `end` by key, equal keys in minimap2's order.

    Parameters
    ----------
    keys, values
        uint64, contiguous; sorted in place.
    start, end
        0 <= start <= end <= size of both arrays; not checked.
    """
    range_start, range_end = np.uint64(start), np.uint64(end)
    if range_end - range_start <= _LONGEST_INSERTION:
        _insertion_sort(keys, values, range_start, range_end)
    else:
        _sort_by_bytes(keys, values, range_start, range_end)


@njit
def sort_descending(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], start: Integer, end: Integer
) -> None:
    """Sort `keys`, uint64, as `radix_sort` does, and put `values`, uint64, in opposite order."""
    radix_sort(keys, values, start, end)
    front, back = np.int64(start), np.int64(end) - 1
    while front < back:
        values[front], values[back] = values[back], values[front]
        front += 1
        back -= 1


@njit
def _sort_by_bytes(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], start: Integer, end: Integer
) -> None:
    """Sort more than `LONGEST_INSERTION` elements.

    Ranges are independent, so they may be sorted in any order.
    """
    heads = np.empty(256, dtype=np.uint64)
    ends = np.empty(256, dtype=np.uint64)
    pending = np.empty((_MAX_PENDING, 2), dtype=np.uint64)
    pending[0, 0], pending[0, 1] = start, end
    count = _1
    while count:
        count -= _1
        range_start, range_end = pending[count, 0], pending[count, 1]
        differing = _differing_bits(keys, range_start, range_end)
        if differing == _0:
            continue
        shift = (_63 - leading_zeros(differing)) & ~_7
        _find_buckets(keys, range_start, range_end, shift, heads, ends)
        _move_to_buckets(keys, values, shift, heads, ends)
        if not shift:
            continue
        for bucket in range(_256):
            range_end = ends[bucket]
            if range_end - range_start > _LONGEST_INSERTION:
                pending[count, 0], pending[count, 1] = range_start, range_end
                count += _1
            else:
                _insertion_sort(keys, values, range_start, range_end)
            range_start = range_end


@njit_inlined
def _differing_bits(keys: NDArray[np.uint64], start: Integer, end: Integer) -> Integer:
    """Return the bits in which the keys differ: a pass over other bytes would move nothing."""
    differing = _0
    for k in range(start, end):
        differing |= keys[k] ^ keys[start]
    return differing


@njit_inlined
def _find_buckets(
    keys: NDArray[np.uint64],
    start: Integer,
    end: Integer,
    shift: Integer,
    heads: NDArray[np.uint64],
    ends: NDArray[np.uint64],
) -> None:
    """Set the start and end of the elements with each value of a byte."""
    for bucket in range(_256):
        ends[bucket] = _0
    for k in range(start, end):
        ends[keys[k] >> shift & _255] += _1
    row = start
    for bucket in range(_256):
        heads[bucket] = row
        row += ends[bucket]
        ends[bucket] = row


@njit_inlined
def _move_to_buckets(
    keys: NDArray[np.uint64],
    values: NDArray[np.uint64],
    shift: Integer,
    heads: NDArray[np.uint64],
    ends: NDArray[np.uint64],
) -> None:
    """Move elements along cycles, each to the head of its bucket, from the first bucket on."""
    for bucket in range(_256):
        while heads[bucket] != ends[bucket]:
            head = heads[bucket]
            key, value = keys[head], values[head]
            target = key >> shift & _255
            while target != bucket:
                row = heads[target]
                heads[target] = row + _1
                keys[row], key = key, keys[row]
                values[row], value = value, values[row]
                target = key >> shift & _255
            keys[head], values[head] = key, value
            heads[bucket] = head + _1


@njit_inlined
def _insertion_sort(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], start: Integer, end: Integer
) -> None:
    for k in range(start + _1, end):
        key, value = keys[k], values[k]
        row: Integer = k
        while row > start and keys[row - _1] > key:
            keys[row], values[row] = keys[row - _1], values[row - _1]
            row -= _1
        keys[row], values[row] = key, value

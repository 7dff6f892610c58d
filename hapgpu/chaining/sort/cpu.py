"""minimap2's sort, within compiled functions: in place, by digits, and not stable.

Equal keys come out in an order that follows from the way elements are moved, and which of them
comes first can decide between chains: so the moves are those of minimap2 (Li 2018,
Bioinformatics 34:3094), an American flag sort (McIlroy, Bostic and McIlroy 1993, Computing
Systems 6:5) by bytes from the highest down, with insertion sorts of what is small.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

LONGEST_INSERTION: Final = 64
"""Elements up to which an insertion sort is made, which is stable."""

# A bucket adds at most 256 pending ranges in the place of one, and there are eight bytes.
_MAX_PENDING: Final = 8 * 255 + 1

_0, _1, _7, _63, _255, _256 = map(np.uint64, (0, 1, 7, 63, 255, 256))
_LONGEST_INSERTION = np.uint64(LONGEST_INSERTION)


@njit
def radix_sort(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], begin: Integer, end: Integer
) -> None:
    """Sort both arrays from `begin` to `end` by key, equal keys in minimap2's order.

    Parameters
    ----------
    keys, values
        uint64, contiguous; sorted in place.
    begin, end
        0 <= begin <= end <= size of both arrays; not checked.
    """
    first, behind = np.uint64(begin), np.uint64(end)
    if behind - first <= _LONGEST_INSERTION:
        _insertion_sort(keys, values, first, behind)
    else:
        _sort_by_bytes(keys, values, first, behind)


@njit
def _sort_by_bytes(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], begin: Integer, end: Integer
) -> None:
    """Sort more than `LONGEST_INSERTION` elements.

    Ranges do not depend on each other, so they may be sorted in any order.
    """
    heads = np.empty(256, dtype=np.uint64)
    ends = np.empty(256, dtype=np.uint64)
    pending = np.empty((_MAX_PENDING, 2), dtype=np.uint64)
    pending[0, 0], pending[0, 1] = begin, end
    count = _1
    while count:
        count -= _1
        first, behind = pending[count, 0], pending[count, 1]
        differing = _differing_bits(keys, first, behind)
        if differing == _0:
            continue
        shift = (_63 - leading_zeros(differing)) & ~_7
        _find_buckets(keys, first, behind, shift, heads, ends)
        _move_to_buckets(keys, values, shift, heads, ends)
        if not shift:
            continue
        for bucket in range(_256):
            behind = ends[bucket]
            if behind - first > _LONGEST_INSERTION:
                pending[count, 0], pending[count, 1] = first, behind
                count += _1
            else:
                _insertion_sort(keys, values, first, behind)
            first = behind


@njit_inlined
def _differing_bits(keys: NDArray[np.uint64], begin: Integer, end: Integer) -> Any:
    """Return the bits in which not all keys agree: a pass over other bytes would move nothing."""
    differing = _0
    for k in range(begin, end):
        differing |= keys[k] ^ keys[begin]
    return differing


@njit_inlined
def _find_buckets(
    keys: NDArray[np.uint64],
    begin: Integer,
    end: Integer,
    shift: Integer,
    heads: NDArray[np.uint64],
    ends: NDArray[np.uint64],
) -> None:
    """Set where the elements with each value of a byte are to begin and to end."""
    for bucket in range(_256):
        ends[bucket] = _0
    for k in range(begin, end):
        ends[keys[k] >> shift & _255] += _1
    place = begin
    for bucket in range(_256):
        heads[bucket] = place
        place += ends[bucket]
        ends[bucket] = place


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
                place = heads[target]
                heads[target] = place + _1
                keys[place], key = key, keys[place]
                values[place], value = value, values[place]
                target = key >> shift & _255
            keys[head], values[head] = key, value
            heads[bucket] = head + _1


@njit_inlined
def _insertion_sort(
    keys: NDArray[np.uint64], values: NDArray[np.uint64], begin: Integer, end: Integer
) -> None:
    for k in range(begin + _1, end):
        key, value = keys[k], values[k]
        place: Integer = k
        while place > begin and keys[place - _1] > key:
            keys[place], values[place] = keys[place - _1], values[place - _1]
            place -= _1
        keys[place], values[place] = key, value

"""Reference implementation of minimap2's unstable sort, whose order of ties matters for chains.

An American flag sort (McIlroy, Bostic and McIlroy 1993, Computing Systems 6:5): the elements are
moved to 256 buckets by the highest byte of their keys, each bucket to 256 by the next byte, and so
on; at most 64 elements are sorted by insertion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, TypeVar

Element = TypeVar("Element")

LARGEST_STABLE: Final = 64
"""Largest number of elements sorted by insertion, which is stable."""

_HIGHEST_BYTE: Final = 56
_BUCKETS: Final = 256


def sort_ascending(elements: Sequence[Element], key: Callable[[Element], int]) -> list[Element]:
    """Sort by a 64-bit key; ties in minimap2's order."""
    return _sort_from_byte(list(elements), key, _HIGHEST_BYTE)


def _sort_from_byte(
    elements: list[Element], key: Callable[[Element], int], shift: int
) -> list[Element]:
    """Sort elements whose keys agree in all bytes above `shift`."""
    if len(elements) <= LARGEST_STABLE:
        return sorted(elements, key=key)
    buckets = _put_into_buckets(elements, lambda element: key(element) >> shift & 0xFF)
    if shift > 0:
        buckets = [_sort_from_byte(bucket, key, shift - 8) for bucket in buckets]
    return [element for bucket in buckets for element in bucket]


def _put_into_buckets(
    elements: list[Element], bucket_of: Callable[[Element], int]
) -> list[list[Element]]:
    """Move the elements to their buckets within the list, in cycles.

    A cycle lifts the first element of the first incomplete bucket. It drops the lifted element at
    the next row of its own bucket and lifts the element there, until a lifted element belongs to
    the row where the cycle started.
    """
    sizes = [0] * _BUCKETS
    for element in elements:
        sizes[bucket_of(element)] += 1
    ends = list(accumulate(sizes))
    heads = [end - size for end, size in zip(ends, sizes, strict=True)]
    for bucket in range(_BUCKETS):
        while heads[bucket] < ends[bucket]:
            lifted = elements[heads[bucket]]
            while (target := bucket_of(lifted)) != bucket:
                elements[heads[target]], lifted = (
                    lifted,
                    elements[heads[target]],
                )
                heads[target] += 1
            elements[heads[bucket]] = lifted
            heads[bucket] += 1
    return [elements[end - size : end] for end, size in zip(ends, sizes, strict=True)]

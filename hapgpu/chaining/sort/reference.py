"""minimap2's sort, which is not stable: what it does with equal keys decides between chains.

An American flag sort (McIlroy, Bostic and McIlroy 1993, Computing Systems 6:5): the elements are
put into 256 buckets by the highest byte of their keys, each bucket into 256 by the next byte, and
so on; few elements are sorted by insertion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final, TypeVar

Element = TypeVar("Element")

LARGEST_STABLE: Final = 64
"""Elements up to which the sort is by insertion, and so stable."""

_HIGHEST_BYTE: Final = 56
_BUCKETS: Final = 256


def sort_ascending(elements: Sequence[Element], key: Callable[[Element], int]) -> list[Element]:
    """Sort by a key of 64 bits, equal ones as minimap2 leaves them."""
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
    """Move the elements within their list to where their buckets are to lie.

    The first element that is not in its bucket is lifted. It is put to the front of its bucket,
    behind what was put there before, and what stood there is lifted in its place, until one is
    lifted that belongs where the first one stood.
    """
    sizes = [0] * _BUCKETS
    for element in elements:
        sizes[bucket_of(element)] += 1
    ends = list(accumulate(sizes))
    heads = [end - size for end, size in zip(ends, sizes, strict=True)]
    for bucket in range(_BUCKETS):
        while heads[bucket] < ends[bucket]:
            lifted = elements[heads[bucket]]
            while (home := bucket_of(lifted)) != bucket:
                elements[heads[home]], lifted = lifted, elements[heads[home]]
                heads[home] += 1
            elements[heads[bucket]] = lifted
            heads[bucket] += 1
    return [elements[end - size : end] for end, size in zip(ends, sizes, strict=True)]

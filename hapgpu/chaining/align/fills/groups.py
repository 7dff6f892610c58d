"""Groups of pairs that share a band of diagonals, so that they can be aligned side by side."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.fills.buffers import Band
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit

_MAX_WASTE: Final = 1.5
"""A group fills at most so many times the cells that its pairs need."""

_DIAGONALS_TOGETHER: Final = 2
"""Pairs whose last diagonals differ by less are ordered by length."""

_NO_DIFFERENCE: Final = np.int64(1 << 31)


class Width(NamedTuple):
    """Width of bands: diagonals beyond those of the first and the last cells, on each side.

    A band of a longer target than `target_length` is wider in proportion, because it has the more
    errors. No band is wider than the matrix.
    """

    diagonals: Any
    target_length: Any


@njit
def sort_pairs(
    pairs: NDArray[np.int64], target_lengths: NDArray[np.int32], query_lengths: NDArray[np.int32]
) -> None:
    """Sort pairs by the diagonal of their last cell, then by length."""
    keys = np.empty(pairs.size, np.uint64)
    for k in range(pairs.size):
        pair = pairs[k]
        difference = np.int64(target_lengths[pair]) - np.int64(query_lengths[pair])
        diagonal = (difference + _NO_DIFFERENCE) // _DIAGONALS_TOGETHER
        keys[k] = np.uint64(diagonal << 31 | np.int64(target_lengths[pair]))
    radix_sort(keys, pairs.view(np.uint64), 0, pairs.size)


@njit
def next_group(
    pairs: NDArray[np.int64],
    first: Integer,
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    width: Width,
) -> Any:
    """Return the end of the group that starts at `first` of the sorted pairs, and its band."""
    max_target: Any = 0
    max_query: Any = 0
    min_difference: Any = 0
    max_difference: Any = 0
    needed: Any = 0
    end = first
    while end < pairs.size and end - first < LANES:
        target_length = np.int64(target_lengths[pairs[end]])
        query_length = np.int64(query_lengths[pairs[end]])
        difference = target_length - query_length
        needed += target_length * (abs(difference) + 2 * _width_of(target_length, width) + 1)
        grown_target = max(max_target, target_length)
        grown_min = min(min_difference, difference)
        grown_max = max(max_difference, difference)
        columns = grown_max - grown_min + 2 * _width_of(grown_target, width) + 1
        if grown_target * columns * (end + 1 - first) > _MAX_WASTE * needed:
            break
        max_target, min_difference, max_difference = grown_target, grown_min, grown_max
        max_query = max(max_query, query_length)
        end += 1
    reach = _width_of(max_target, width)
    max_diagonal = min(max_difference + reach, max_target)
    min_diagonal = max(min_difference - reach, -max_query)
    return end, Band(max_target, max_diagonal - min_diagonal + 1, max_diagonal, max_query)


@njit
def _width_of(target_length: Integer, width: Width) -> Any:
    return width.diagonals * max(target_length, width.target_length) // width.target_length

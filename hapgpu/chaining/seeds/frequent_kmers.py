"""Exclusion of k-mers that are too frequent within a read."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, longest_row, read_only
from hapgpu.chaining.batches import Minimizers
from hapgpu.chaining.index.minimizer_index import MIX
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_COUNTER_BITS: Final = 10
_START = np.int64(0)  # not a literal: functions would be compiled once more for it
_MIX, _SHIFT = map(np.uint64, (MIX, 64 - _COUNTER_BITS))


def drop_frequent(minimizers: Minimizers, cutoff: int, fraction: float) -> Minimizers:
    """Drop the minimizers whose keys are too frequent in their read.

    A key is too frequent if it occurs more than `cutoff` times, and in more than `fraction` of the
    minimizers of the read (as in minimap2 since 2.23).

    Returns
    -------
    Minimizers
        The same object if nothing was dropped.
    """
    is_frequent = np.zeros(minimizers.keys.size, dtype=np.bool_)
    keys, offsets = read_only(minimizers.keys), read_only(minimizers.offsets)
    if fraction <= 0 or not _mark_frequent(
        RaggedView(keys, offsets), cutoff, np.float32(fraction), is_frequent
    ):
        return minimizers
    kept = np.flatnonzero(~is_frequent)
    return Minimizers(keys[kept], minimizers.positions[kept], np.searchsorted(kept, offsets))


@njit
def _mark_frequent(
    minimizer_keys: RaggedView,
    cutoff: int,
    fraction: np.float32,
    is_frequent: NDArray[np.bool_],
) -> int:
    """Mark the minimizers to drop and return their number.

    Keys share a few counters; only keys with a high counter are counted exactly.
    """
    marked = 0
    keys, offsets = minimizer_keys.data, minimizer_keys.offsets
    counters = np.empty(1 << _COUNTER_BITS, dtype=np.int32)
    longest = longest_row(minimizer_keys)
    suspects = np.empty(longest, dtype=np.uint64)
    rows = np.empty(longest, dtype=np.uint64)
    for read in range(offsets.size - 1):
        start, end = offsets[read], offsets[read + 1]
        if end - start <= cutoff:
            continue
        limit = np.float32(end - start) * fraction
        if _is_frequent(_highest_counter(keys, start, end, counters), cutoff, limit):
            count = np.int64(0)
            for k in range(start, end):
                if _is_frequent(counters[_counter_of(keys[k])], cutoff, limit):
                    suspects[count], rows[count] = keys[k], k
                    count += 1
            radix_sort(suspects, rows, _START, count)
            marked += _mark_runs(suspects, rows, count, cutoff, limit, is_frequent)
    return marked


@njit_inlined
def _is_frequent(count: Integer, cutoff: Integer, limit: np.float32) -> bool:
    return bool(count > cutoff and np.float32(count) > limit)


@njit_inlined
def _counter_of(key: Integer) -> Integer:
    return np.uint64(key) * _MIX >> _SHIFT


@njit
def _highest_counter(
    keys: NDArray[np.uint64], start: Integer, end: Integer, counters: NDArray[np.int32]
) -> Integer:
    """Count keys and return the highest count."""
    highest = np.int32(0)
    for counter in range(np.uint64(counters.size)):
        counters[counter] = 0
    for k in range(np.uint64(start), np.uint64(end)):
        own = _counter_of(keys[k])
        count = np.int32(counters[own] + 1)
        counters[own] = count
        highest = max(highest, count)
    return highest


@njit
def _mark_runs(
    sorted_keys: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    count: Integer,
    cutoff: Integer,
    limit: np.float32,
    is_frequent: NDArray[np.bool_],
) -> Integer:
    """Mark the rows of keys in long runs, and return their number."""
    marked: Integer = 0
    first = 0
    for k in range(1, count + 1):
        if k < count and sorted_keys[k] == sorted_keys[first]:
            continue
        if _is_frequent(k - first, cutoff, limit):
            marked += k - first
            for member in range(first, k):
                is_frequent[rows[member]] = True
        first = k
    return marked

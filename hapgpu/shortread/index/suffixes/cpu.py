"""Suffixes of a text sorted on the CPU, bucket by bucket."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.runtime.progress import Progress
from hapgpu.shortread.index.suffixes.buckets import Buckets, count_buckets, distribute
from hapgpu.shortread.index.suffixes.key_sort import SortSpace, new_space, sort_by_keys
from hapgpu.shortread.index.suffixes.text import KEY_BASES, PackedText, key_after
from hapgpu.shortread.index.suffixes.ties import CpuRefiner, Ties, all_heads, mark_ties, resolve

_WIDTH: Final = 4 * KEY_BASES
"""Bases by which buckets are sorted; ties after them are left to `ties`."""
_MIN_PART: Final = 1 << 24
_PARTS: Final = 16
"""Parts of a large text, sorted one after the other: keys take 9 bytes per row of a part."""
_TASKS_PER_THREAD: Final = 8
_DIGIT_BITS: Final = 8
_1 = np.uint64(1)


def sort_suffixes(text: PackedText, pool: Pool, progress: Progress) -> NDArray[np.uint32]:
    """Sort the suffixes of a text, the empty suffix included; a prefix of a suffix comes first.

    Parameters
    ----------
    text
        At least one base.
    pool
        Threads to use.
    progress
        Receives the fraction of the suffixes that are sorted.

    Returns
    -------
    uint32[n + 1]: the text position of the suffix in each row; row 0 has n.
    """
    suffixes = np.empty(text.size + 1, dtype=np.uint32)
    suffixes[0] = text.size
    buckets = count_buckets(text, pool)
    heads, has_ties = all_heads(suffixes.size), False
    for first, end in buckets.parts(max(text.size // _PARTS, _MIN_PART)):
        for ties in _sort_part(text, buckets, first, end, suffixes[1:], pool):
            mark_ties(heads, ties)
            has_ties |= ties.rows.size > 0
        progress.advance(0, float(buckets.bounds[end]) / text.size)
    if has_ties:
        resolve(suffixes, heads, CpuRefiner(suffixes, heads, pool), _WIDTH, pool)
    return suffixes


def _sort_part(
    text: PackedText,
    buckets: Buckets,
    first: int,
    end: int,
    rows: NDArray[np.uint32],
    pool: Pool,
) -> list[Ties]:
    """Sort the buckets from `first` to `end` by `_WIDTH` bases; return their ties in order."""
    bounds = buckets.bounds[first : end + 1] - buckets.bounds[first]
    base = int(buckets.bounds[first])
    offsets = rows[base : base + int(bounds[-1])]
    keys = np.empty(offsets.size, dtype=np.uint64)
    counts = buckets.counts[:, first:end]
    starts = np.cumsum(counts, axis=0) - counts + bounds[:-1]

    def distribute_slice(start: int, stop: int, rows: NDArray[np.int64]) -> None:
        span = (first, end)
        distribute(text.words, start, stop, buckets.shift, span, rows, keys, offsets)

    slices = pairwise(buckets.slices.tolist())
    pool.results(
        [pool.submit(distribute_slice, *span, starts[part]) for part, span in enumerate(slices)]
    )
    is_same = np.empty(offsets.size, dtype=np.uint8)

    def sort(start: int, stop: int) -> Ties:
        shift = buckets.shift - _DIGIT_BITS
        _sort_buckets(*text, bounds, start, stop, shift, keys, offsets, is_same)
        span = slice(int(bounds[start]), int(bounds[stop]))
        return Ties(*_ties(offsets[span], is_same[span], base + 1 + span.start))

    size = max(offsets.size // (_TASKS_PER_THREAD * pool.threads), 1)
    cuts = np.unique(np.searchsorted(bounds, np.arange(0, offsets.size, size))).tolist()
    return pool.results([pool.submit(sort, *cut) for cut in pairwise([*cuts, bounds.size - 1])])


@njit
def _sort_buckets(
    words: NDArray[np.uint64],
    size: int,
    bounds: NDArray[np.int64],
    first: int,
    last: int,
    shift: int,
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    is_same: NDArray[np.uint8],
) -> None:
    """Sort the buckets from `first` to `last`, whose keys agree above `shift` + 8 bits.

    `is_same` becomes 1 for suffixes with the same `_WIDTH` bases as the suffix before.
    """
    largest = np.int64(0)
    for bucket in range(first, last):
        largest = max(largest, bounds[bucket + 1] - bounds[bucket])
    space = new_space(largest)
    for bucket in range(first, last):
        start, end = bounds[bucket], bounds[bucket + 1]
        if start == end:
            continue
        sort_by_keys(keys, offsets, start, end, np.int64(shift), space)
        is_same[start] = 0
        ties = np.int64(_mark(keys, is_same, start, end))
        width = np.int64(KEY_BASES)
        while ties and width < _WIDTH:
            _next_keys(words, size, width, keys, offsets, is_same, start, end)
            ties = np.int64(_sort_ties(keys, offsets, is_same, start, end, space))
            width += np.int64(KEY_BASES)


@njit
def _mark(
    keys: NDArray[np.uint64], is_same: NDArray[np.uint8], start: Integer, end: Integer
) -> Integer:
    """Mark the keys that equal the key before, in rows after `start`; return how many do."""
    ties = np.int64(0)
    for row in range(np.uint64(start) + _1, np.uint64(end)):
        same = keys[row] == keys[row - _1]
        is_same[row] = same
        ties += same
    return ties


@njit
def _next_keys(
    words: NDArray[np.uint64],
    size: Integer,
    width: Integer,
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    is_same: NDArray[np.uint8],
    start: Integer,
    end: Integer,
) -> None:
    """Get the keys `width` bases later of all ties, so that their loads overlap."""
    for row in range(np.uint64(start), np.uint64(end)):
        if is_same[row] or (row + _1 < np.uint64(end) and is_same[row + _1]):
            after = np.uint64(offsets[row]) + np.uint64(width)
            keys[row] = key_after(words, np.uint64(size), after)


@njit
def _sort_ties(
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
    is_same: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    space: SortSpace,
) -> Integer:
    """Sort each run of ties by its new keys; return how many ties are left."""
    ties, row = np.int64(0), start
    while row < end - 1:
        if not is_same[row + 1]:
            row += 1
            continue
        last = row + 2
        while last < end and is_same[last]:
            last += 1
        sort_by_keys(keys, offsets, row, last, np.int64(64 - _DIGIT_BITS), space)
        ties += _mark(keys, is_same, row, last)
        row = last
    return ties


@njit
def _ties(
    offsets: NDArray[np.uint32], is_same: NDArray[np.uint8], first_row: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return rows, suffixes and groups of all ties; the first suffix is in row `first_row`."""
    count = np.int64(0)
    for i in range(is_same.size):
        count += is_same[i] or (i + 1 < is_same.size and is_same[i + 1])
    rows, tied = np.empty(count, np.uint32), np.empty(count, np.uint32)
    groups = np.empty(count, np.uint32)
    to, group = np.int64(0), np.int64(0)
    for i in range(is_same.size):
        if not is_same[i]:
            group = np.int64(first_row + i)
        if is_same[i] or (i + 1 < is_same.size and is_same[i + 1]):
            rows[to], tied[to], groups[to] = first_row + i, offsets[i], group
            to += 1
    return rows, tied, groups

"""Buckets of suffixes: suffixes with the same first bases are sorted apart from the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.suffixes.text import KEY_BASES, PackedText

_MAX_PREFIX: Final = 10
_BUCKET_ROWS: Final = 1 << 14
"""Rows of a bucket, about: they stay in the cache of a core while they are sorted."""
_1, _2, _32, _63 = map(np.uint64, (1, 2, 32, 63))


@dataclass(frozen=True, slots=True)
class Buckets:
    """Suffixes of a text, counted by their first bases.

    Attributes
    ----------
    shift
        Bits of a key below the prefix that numbers the bucket of its suffix.
    slices
        int64[s + 1]: bounds of s slices of the text, multiples of 32 except the last.
    counts
        int64[s, b]: suffixes that start in each slice, by bucket.
    bounds
        int64[b + 1]: suffixes before each bucket, without the empty suffix.
    """

    shift: int
    slices: NDArray[np.int64]
    counts: NDArray[np.int64]
    bounds: NDArray[np.int64]

    def parts(self, rows: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of buckets, each of at most `rows` suffixes or of one bucket."""
        first, last = 0, self.bounds.size - 1
        while first < last:
            end = int(np.searchsorted(self.bounds, self.bounds[first] + rows, side="right")) - 1
            end = max(end, first + 1)
            yield first, end
            first = end


def count_buckets(text: PackedText, pool: Pool) -> Buckets:
    """Count the suffixes of a text by their first bases."""
    length = 1
    while length < _MAX_PREFIX and _BUCKET_ROWS << 2 * length < text.size:
        length += 1
    shift = 2 * (KEY_BASES - length)
    words = -(-text.size // KEY_BASES)
    cuts = [words * part // pool.threads for part in range(pool.threads)]
    slices = np.array([*(KEY_BASES * cut for cut in cuts), text.size], dtype=np.int64)
    counts = np.zeros((pool.threads, 4**length), dtype=np.int64)
    tasks = [
        pool.submit(_count, *text, start, end, shift, counts[part])
        for part, (start, end) in enumerate(pairwise(slices.tolist()))
    ]
    pool.results(tasks)
    return Buckets(shift, slices, counts, offsets_of(counts.sum(axis=0)))


@njit
def _count(
    words: NDArray[np.uint64],
    size: int,  # noqa: ARG001  (a text is two arguments)
    start: int,
    end: int,
    shift: int,
    counts: NDArray[np.int64],
) -> None:
    """Count the suffixes that start from `start` to `end` by bucket."""
    right = np.uint64(shift)
    for word in range(np.uint64(start) // _32, (np.uint64(end) + _32 - _1) // _32):
        here, following = words[word], words[word + _1] >> _1
        for base in range(min(_32, np.uint64(end) - word * _32)):
            bit = _2 * base
            counts[(here << bit | following >> (_63 - bit)) >> right] += 1


@njit
def distribute(
    words: NDArray[np.uint64],
    start: int,
    end: int,
    shift: int,
    buckets: tuple[Integer, Integer],
    rows: NDArray[np.int64],
    keys: NDArray[np.uint64],
    offsets: NDArray[np.uint32],
) -> None:
    """Write the suffixes of some buckets that start from `start` to `end`, with their keys.

    Parameters
    ----------
    words
        As in `PackedText`.
    start, end
        Part of the text; `start` is a multiple of 32.
    shift
        As in `Buckets`.
    buckets
        The first bucket, and the bucket after the last.
    rows
        int64[b]: the row of the next suffix of each bucket; advanced.
    keys, offsets
        uint64[m], uint32[m]: the first 32 bases, and the start of each suffix.
    """
    right, first, count = (
        np.uint64(shift),
        np.uint64(buckets[0]),
        np.uint64(buckets[1] - buckets[0]),
    )
    for word in range(np.uint64(start) // _32, (np.uint64(end) + _32 - _1) // _32):
        here, following = words[word], words[word + _1] >> _1
        for base in range(min(_32, np.uint64(end) - word * _32)):
            bit = _2 * base
            key = here << bit | following >> (_63 - bit)
            bucket = (key >> right) - first
            if bucket < count:
                row = np.uint64(rows[bucket])
                rows[bucket] += 1
                keys[row], offsets[row] = key, np.uint32(word * _32 + base)

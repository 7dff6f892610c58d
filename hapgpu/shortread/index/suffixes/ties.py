"""Tied suffixes: sorted by the ranks of the suffixes that follow the bases which they share.

Each round doubles the number of shared bases (Manber & Myers 1993, without the suffixes sorted
already, as in Larsson & Sadakane 2007). The number of rounds grows with the logarithm of the
longest repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.suffixes.key_sort import new_space, sort_by_keys

_TASKS_PER_THREAD: Final = 8
_RANK_SHIFT: Final = 32  # keys of ranks have at most 40 bits
_1 = np.uint64(1)


@dataclass(frozen=True, slots=True)
class Ties:
    """Rows of the suffix array that still have the same first bases as a neighbour, in order.

    Attributes
    ----------
    rows, offsets
        uint32[t]: the rows, and the suffixes in them.
    groups
        uint32[t]: the first row of the suffixes with the same first bases.
    """

    rows: NDArray[np.uint32]
    offsets: NDArray[np.uint32]
    groups: NDArray[np.uint32]

    @classmethod
    def joined(cls, parts: Sequence[Ties]) -> Ties:
        """Return the rows of at least one part, in order."""
        columns = zip(*((part.rows, part.offsets, part.groups) for part in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def cuts(self, size: int) -> list[int]:
        """Return bounds of parts of about `size` rows, each between two groups."""
        cuts = [0]
        while cuts[-1] < self.rows.size:
            at = cuts[-1] + size
            if at < self.rows.size:  # to the end of the group of the row before
                at = int(np.searchsorted(self.groups, self.groups[at - 1], side="right"))
            cuts.append(min(at, self.rows.size))
        return cuts


class Refiner(Protocol):
    """Ranks of all suffixes on a device."""

    def refine(self, ties: Ties, width: int) -> None:
        """Sort the suffixes of each group by their bases from `width` on.

        `offsets` and `groups` change in place. Ranks order suffixes by at least `width` bases
        before the call, and by twice as many after it.
        """


class CpuRefiner:
    """Ranks of all suffixes in host memory.

    Parameters
    ----------
    suffixes
        uint32[n + 1]: the suffix array, sorted but for the ties.
    ties
        The ties.
    pool
        Threads to use.
    """

    def __init__(self, suffixes: NDArray[np.uint32], ties: Ties, pool: Pool) -> None:
        self._pool = pool
        self._ranks = np.empty(suffixes.size - 1, dtype=np.uint32)

        def rank(start: int, end: int) -> None:
            _rank_rows(suffixes, max(start, 1), end, self._ranks)

        pool.over_rows(rank, suffixes.size)
        self._rank(ties)

    def refine(self, ties: Ties, width: int) -> None:
        """Sort groups as `Refiner` says."""
        size = max(ties.rows.size // (_TASKS_PER_THREAD * self._pool.threads), 1)
        columns = ties.rows, ties.offsets, ties.groups
        tasks = [
            self._pool.submit(_sort_groups, *columns, self._ranks, width, start, end)
            for start, end in pairwise(ties.cuts(size))
        ]
        self._pool.results(tasks)
        self._rank(ties)  # when no thread reads ranks any more

    def _rank(self, ties: Ties) -> None:
        def rank(start: int, end: int) -> None:
            _put(self._ranks, ties.offsets, ties.groups, start, end)

        self._pool.over_rows(rank, ties.rows.size)


def resolve(
    suffixes: NDArray[np.uint32], ties: Ties, refiner: Refiner, width: int, pool: Pool
) -> None:
    """Sort tied suffixes, whose first `width` bases agree, in a suffix array."""

    def put(start: int, end: int) -> None:
        _put(suffixes, ties.rows, ties.offsets, start, end)

    def still_tied(start: int, end: int) -> Ties:
        return Ties(*_still_tied(ties.rows, ties.offsets, ties.groups, start, end))

    while ties.rows.size:
        refiner.refine(ties, width)
        pool.over_rows(put, ties.rows.size)
        ties = Ties.joined(pool.over_rows(still_tied, ties.rows.size))
        width *= 2


@njit
def _rank_rows(
    suffixes: NDArray[np.uint32], start: int, end: int, ranks: NDArray[np.uint32]
) -> None:
    for row in range(np.uint64(start), np.uint64(end)):
        ranks[suffixes[row]] = row


@njit
def _put(
    values: NDArray[np.uint32],
    places: NDArray[np.uint32],
    new: NDArray[np.uint32],
    start: int,
    end: int,
) -> None:
    for i in range(np.uint64(start), np.uint64(end)):
        values[places[i]] = new[i]


@njit
def _sort_groups(
    rows: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    groups: NDArray[np.uint32],
    ranks: NDArray[np.uint32],
    width: int,
    start: int,
    end: int,
) -> None:
    """Sort the groups from `start` to `end` by the ranks of the suffixes `width` bases later.

    After the end of the text, ranks decrease by one per base: of two suffixes that differ in
    padding only, the shorter one is less.
    """
    keys = np.empty(end - start, np.uint64)
    here, size, bias = offsets[start:end], np.uint64(ranks.size), np.uint64(width)
    for i in range(np.uint64(keys.size)):
        following = np.uint64(here[i]) + bias
        if following < size:
            keys[i] = np.uint64(ranks[following]) + bias
        else:
            keys[i] = size + bias - following
    largest, group = np.int64(0), np.int64(0)
    for i in range(start, end):
        group = group + 1 if groups[i] != rows[i] else np.int64(1)
        largest = max(largest, group)
    space = new_space(largest)
    first = np.int64(start)
    while first < end:
        last = first + 1
        while last < end and groups[last] != rows[last]:
            last += 1
        sort_by_keys(keys, here, first - start, last - start, np.int64(_RANK_SHIFT), space)
        head = rows[first]
        for i in range(first + 1, last):
            if keys[i - start] != keys[i - start - 1]:
                head = rows[i]
            groups[i] = head
        first = last


@njit
def _still_tied(
    rows: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    groups: NDArray[np.uint32],
    start: int,
    end: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the rows from `start` to `end` whose group has others."""
    count = np.int64(0)
    for i in range(np.int64(start), np.int64(end)):
        count += _is_tied(rows, groups, i)
    kept_rows, kept_offsets = np.empty(count, np.uint32), np.empty(count, np.uint32)
    kept_groups = np.empty(count, np.uint32)
    to = np.int64(0)
    for i in range(np.int64(start), np.int64(end)):
        if _is_tied(rows, groups, i):
            kept_rows[to], kept_offsets[to], kept_groups[to] = rows[i], offsets[i], groups[i]
            to += 1
    return kept_rows, kept_offsets, kept_groups


@njit
def _is_tied(rows: NDArray[np.uint32], groups: NDArray[np.uint32], i: Integer) -> bool:
    return groups[i] != rows[i] or (i + 1 < groups.size and groups[i + 1] == groups[i])

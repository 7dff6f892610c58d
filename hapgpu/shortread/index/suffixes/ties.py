"""Tied suffixes: sorted by the ranks of the suffixes that follow the bases which they share.

Each round doubles the number of shared bases (Manber & Myers 1993, without the suffixes sorted
already, as in Larsson & Sadakane 2007). The number of rounds grows with the logarithm of the
longest repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import popcount, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.suffixes.key_sort import new_space, sort_by_keys

_TASKS_PER_THREAD: Final = 8
_RANK_SHIFT: Final = 32  # keys of ranks have at most 40 bits
_PAGE_WORDS: Final = 1 << 16
"""Words of heads per page, about: ties are counted and collected page by page."""
_MAX_ROWS: Final = 1 << 26
"""Tied rows that the CPU sorts at a time, or those of a page."""
_0, _1, _63, _64 = map(np.uint64, (0, 1, 63, 64))
_ALL: Final = np.uint64(2**64 - 1)


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

    def cuts(self, size: int) -> list[int]:
        """Return bounds of parts of about `size` rows, each between two groups."""
        cuts = [0]
        while cuts[-1] < self.rows.size:
            at = cuts[-1] + size
            if at < self.rows.size:  # to the end of the group of the row before
                at = int(np.searchsorted(self.groups, self.groups[at - 1], side="right"))
            cuts.append(min(at, self.rows.size))
        return cuts


def all_heads(rows: int) -> NDArray[np.uint64]:
    """Return uint64: heads of groups, a bit per row from the lowest on; each row is a group."""
    return np.full(rows // 64 + 2, _ALL, dtype=np.uint64)


def mark_ties(heads: NDArray[np.uint64], ties: Ties) -> None:
    """Clear the bits in `heads`, uint64, of all tied rows but the first of each group."""
    _clear(heads, ties.rows, ties.groups)


class Refiner(Protocol):
    """Ranks of all suffixes on a device."""

    def refine(self, ties: Ties, width: int) -> None:
        """Sort the suffixes of each group by their bases from `width` on.

        `offsets` and `groups` change in place. Ranks order suffixes by at least `width` bases
        before the call; afterwards those of the groups by twice as many.
        """


class CpuRefiner:
    """Ranks of all suffixes in host memory.

    Parameters
    ----------
    suffixes
        uint32[n + 1]: the suffix array, sorted but for the ties.
    heads
        Heads of its groups.
    pool
        Threads to use.
    """

    def __init__(self, suffixes: NDArray[np.uint32], heads: NDArray[np.uint64], pool: Pool) -> None:
        self._pool = pool
        self._ranks = np.empty(suffixes.size - 1, dtype=np.uint32)

        def rank(start: int, end: int) -> None:
            _rank_rows(suffixes, heads, max(start, 1), end, self._ranks)

        pool.over_rows(rank, suffixes.size)

    def refine(self, ties: Ties, width: int) -> None:
        """Sort groups as `Refiner` says."""
        size = max(ties.rows.size // (_TASKS_PER_THREAD * self._pool.threads), 1)
        columns = ties.rows, ties.offsets, ties.groups
        tasks = [
            self._pool.submit(_sort_groups, *columns, self._ranks, width, start, end)
            for start, end in pairwise(ties.cuts(size))
        ]
        self._pool.results(tasks)

        def rank(start: int, end: int) -> None:
            _put(self._ranks, ties.offsets, ties.groups, start, end)

        self._pool.over_rows(rank, ties.rows.size)  # when no thread reads ranks any more


def resolve(
    suffixes: NDArray[np.uint32],
    heads: NDArray[np.uint64],
    refiner: Refiner,
    width: int,
    pool: Pool,
    max_rows: int = _MAX_ROWS,
) -> None:
    """Sort tied suffixes in a suffix array.

    Parameters
    ----------
    suffixes
        uint32[n + 1], sorted but for the ties.
    heads
        uint64: heads of its groups, as `all_heads` makes them; changed.
    refiner
        Has the ranks.
    width
        The number of first bases that the suffixes of a group share.
    pool
        Threads to use.
    max_rows
        Tied rows to sort at a time; a page or a group with more is sorted at once.
    """
    pages = list(pairwise(_page_cuts(heads)))
    while pages:
        counts = pool.results([pool.submit(_count_tied, heads, *page) for page in pages])
        tied = [(page, int(count)) for page, count in zip(pages, counts, strict=True) if count]
        for part in _parts(tied, max_rows):
            _refine_part(suffixes, heads, part, refiner, width, pool)
        pages = [page for page, _ in tied]
        width *= 2


_Page = tuple[int, int]


def _page_cuts(heads: NDArray[np.uint64]) -> list[int]:
    """Return the first words of the pages, and the end: no group lies in two pages."""
    cuts = [0]
    for word in range(_PAGE_WORDS, heads.size - 1, _PAGE_WORDS):
        cut = int(_first_head_from(heads, max(word, cuts[-1])))
        if cuts[-1] < cut < heads.size - 1:
            cuts.append(cut)
    return [*cuts, heads.size - 1]


def _parts(pages: Sequence[tuple[_Page, int]], size: int) -> Iterator[list[tuple[_Page, int]]]:
    """Yield successive pages of at most `size` tied rows together, or one page."""
    part: list[tuple[_Page, int]] = []
    total = 0
    for page, count in pages:
        if part and total + count > size:
            yield part
            part, total = [], 0
        part.append((page, count))
        total += count
    if part:
        yield part


def _refine_part(
    suffixes: NDArray[np.uint32],
    heads: NDArray[np.uint64],
    part: Sequence[tuple[_Page, int]],
    refiner: Refiner,
    width: int,
    pool: Pool,
) -> None:
    ends = list(accumulate((count for _, count in part), initial=0))
    ties = Ties(*(np.empty(ends[-1], dtype=np.uint32) for _ in range(3)))
    columns = ties.rows, ties.offsets, ties.groups
    spans = [(*page, start) for (page, _), start in zip(part, ends, strict=False)]
    pool.results([pool.submit(_collect, suffixes, heads, *span, *columns) for span in spans])
    refiner.refine(ties, width)
    pool.results(
        [pool.submit(_put_back, suffixes, heads, *columns, *span) for span in pairwise(ends)]
    )


@njit
def _clear(heads: NDArray[np.uint64], rows: NDArray[np.uint32], groups: NDArray[np.uint32]) -> None:
    for i in range(rows.size):
        if rows[i] != groups[i]:
            row = np.uint64(rows[i])
            heads[row // _64] &= ~(_1 << (row & _63))


@njit_inlined
def _tied_bits(heads: NDArray[np.uint64], word: Integer) -> Integer:
    """Return the rows of a word whose group has others."""
    here = heads[word]
    bits: Integer = ~(here & (here >> _1 | heads[word + _1] << _63))
    return bits


@njit
def _first_head_from(heads: NDArray[np.uint64], word: int) -> Integer:
    """Return the first word from `word` on whose first row is a head; the last word is one."""
    first = np.int64(word)
    while not heads[first] & _1:
        first += 1
    return first


@njit
def _count_tied(heads: NDArray[np.uint64], start: int, end: int) -> Integer:
    count = _0
    for word in range(np.uint64(start), np.uint64(end)):
        count += popcount(_tied_bits(heads, word))
    return np.int64(count)


@njit
def _collect(
    suffixes: NDArray[np.uint32],
    heads: NDArray[np.uint64],
    start: int,
    end: int,
    first: int,
    rows: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    groups: NDArray[np.uint32],
) -> None:
    """Collect the ties of the words from `start` to `end`, from `first` on."""
    to, group = np.uint64(first), _0
    for word in range(np.uint64(start), np.uint64(end)):
        left = _tied_bits(heads, word)
        while left:
            bit = trailing_zeros(left)
            row = word * _64 + bit
            if heads[word] >> bit & _1:
                group = row
            rows[to], offsets[to], groups[to] = row, suffixes[row], group
            to += _1
            left &= left - _1


@njit
def _put_back(
    suffixes: NDArray[np.uint32],
    heads: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    offsets: NDArray[np.uint32],
    groups: NDArray[np.uint32],
    start: int,
    end: int,
) -> None:
    """Put sorted suffixes into their rows, and mark the heads of new groups, of one page."""
    for i in range(np.uint64(start), np.uint64(end)):
        row = np.uint64(rows[i])
        suffixes[row] = offsets[i]
        if rows[i] == groups[i]:
            heads[row // _64] |= _1 << (row & _63)


@njit
def _rank_rows(
    suffixes: NDArray[np.uint32],
    heads: NDArray[np.uint64],
    start: int,
    end: int,
    ranks: NDArray[np.uint32],
) -> None:
    """Set the ranks of the suffixes in some rows to the first rows of their groups."""
    group = np.uint64(start)
    while not heads[group // _64] >> (group & _63) & _1:
        group -= _1
    for row in range(np.uint64(start), np.uint64(end)):
        if heads[row // _64] >> (row & _63) & _1:
            group = np.uint64(row)
        ranks[suffixes[row]] = group


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

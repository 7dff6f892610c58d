"""The search of Seide 2012 (Algorithm 3), which `hapgpu bench map` compares with.

From the last base to the first, it keeps the rows of the suffixes that begin with the bases behind.
At each base it tries every error and searches the rest exactly: the base may be left out, be
another one, or have another one behind it. Results are rows, not places, and those that mean the
same window all come. Two slips of the printed algorithm are mended here: the exact search begins
with the rows of its branch, and what is kept are the rows that it ends with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.mapping.index.cpu import CompiledIndex, backward_step, compiled_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.search.packed_reads import PackedReads
from hapgpu.mapping.search.seeds import strand_base
from hapgpu.runtime.jit import njit

MATCH, MISMATCH, LEFT_OUT, ADDED = range(4)
"""Kinds of results; the thesis calls a base that is left out a deletion, an added one an
insertion."""

MAX_RESULTS: Final = 25
"""Results that are kept of a strand of a read, as in the thesis; further ones are only counted."""

_1 = np.uint64(1)


@dataclass(frozen=True, slots=True)
class BacktrackingResults:
    """What was found for both strands of n reads; row 2 i + s is strand s of read i.

    Attributes
    ----------
    counts
        int32[2 n].
    slots
        uint32[2 n, MAX_RESULTS, 4]: first row and the one behind the last, place in the read, and
        kind << 4 | base that stands in the reference; without meaning beyond the counts.
    """

    counts: NDArray[np.int32]
    slots: NDArray[np.uint32]


def backtrack(index: FMIndexArrays, reads: PackedReads) -> BacktrackingResults:
    """Search both strands of reads in one thread."""
    counts = np.empty(2 * len(reads), dtype=np.int32)
    slots = np.empty((2 * len(reads), MAX_RESULTS, 4), dtype=np.uint32)
    _backtrack_all(
        compiled_index(index),
        row_count(index),
        read_only(reads.words),
        read_only(reads.word_offsets),
        read_only(reads.lengths),
        counts,
        slots,
    )
    return BacktrackingResults(counts, slots)


def row_count(index: FMIndexArrays) -> int:
    """Return the number of rows, one more than symbols of the text."""
    return int(index.jump[-1])


@njit
def _backtrack_all(  # noqa: PLR0917  (compiled code takes no keywords)
    index: CompiledIndex,
    rows: Integer,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    counts: NDArray[np.int32],
    slots: NDArray[np.uint32],
) -> None:
    for search in range(counts.size):
        read = search >> 1
        length = np.int64(lengths[read])
        strand = strand_base(word_offsets, read, search & 1)
        count: Integer = 0
        first: Integer = np.uint64(0)
        last: Integer = np.uint64(rows)
        place = length
        while place > 0 and first < last:
            place -= 1
            own = _base_at(words, strand, place)
            next_first: Integer = np.uint64(0)
            next_last: Integer = np.uint64(0)
            found = _exactly(index, words, strand, place, first, last)
            count = _add(slots[search], count, LEFT_OUT, found, place, 0)
            for base in range(4):
                aside_first = _extended(index, base, first)
                aside_last = _extended(index, base, last)
                if base == own:
                    next_first, next_last = aside_first, aside_last
                    continue
                if aside_first >= aside_last:
                    continue
                found = _exactly(index, words, strand, place, aside_first, aside_last)
                count = _add(slots[search], count, MISMATCH, found, place, base)
                if place < length - 1:
                    found = _exactly(index, words, strand, place + 1, aside_first, aside_last)
                    count = _add(slots[search], count, ADDED, found, place, base)
            first, last = next_first, next_last
        if place == 0:
            count = _add(slots[search], count, MATCH, (first, last), 0, 0)
        counts[search] = count


@njit
def _base_at(words: NDArray[np.uint64], strand: Integer, place: Integer) -> Integer:
    """Return the code of a base, 4 where it is none of A, C, G, T."""
    at = strand + np.uint64(3 * (place >> 6))
    bit = np.uint64(place & 63)
    low, high = (words[at] >> bit) & _1, (words[at + _1] >> bit) & _1
    other = (words[at + np.uint64(2)] >> bit) & _1
    return 4 if other else np.int64(high << _1 | low)


@njit
def _extended(index: CompiledIndex, base: Integer, row: Integer) -> Integer:
    low, high = np.uint64(base & 1), np.uint64(base >> 1)
    return backward_step(index.counts, index.symbols, index.primary, low, high, row)


@njit
def _exactly(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    strand: Integer,
    place: Integer,
    first: Integer,
    last: Integer,
) -> tuple[Integer, Integer]:
    """Return the rows that remain when the bases before `place` are put in front."""
    while place > 0 and first < last:
        place -= 1
        base = _base_at(words, strand, place)
        if base > 3:
            return np.uint64(0), np.uint64(0)
        first, last = _extended(index, base, first), _extended(index, base, last)
    return first, last


@njit
def _add(
    slots: NDArray[np.uint32],
    count: Integer,
    kind: Integer,
    rows: tuple[Integer, Integer],
    place: Integer,
    base: Integer,
) -> Integer:
    if rows[0] >= rows[1]:
        return count
    if count < slots.shape[0]:
        slots[count, 0] = rows[0]
        slots[count, 1] = rows[1]
        slots[count, 2] = place
        slots[count, 3] = kind << 4 | base
    return count + 1

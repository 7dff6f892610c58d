"""Search of Seide 2012 (Algorithm 3), the baseline of `hapgpu bench map`.

From the last base of a read to the first, the search keeps the rows of the suffixes that start with
the bases visited so far. At each base it tries every error and searches the remaining bases
exactly: the base may be left out, be replaced, or have another base after it. Results are rows, not
positions, and all results of the same window are returned. Two errors of the printed algorithm are
fixed here: the exact search starts with the rows of its branch, and the rows at its end are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.runtime.jit import njit
from hapgpu.shortread.index.cpu import CompiledIndex, backward_step, compiled_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.packed_reads import PackedReads
from hapgpu.shortread.search.seeds import strand_base

MATCH, MISMATCH, LEFT_OUT, ADDED = range(4)
"""Kinds of results; the thesis calls a base left out a deletion, an added base an insertion."""

MAX_RESULTS: Final = 25
"""Largest number of results per strand of a read, as in the thesis; more are only counted."""

_1 = np.uint64(1)


@dataclass(frozen=True, slots=True)
class BacktrackingResults:
    """Results for both strands of n reads; row 2 i + s is strand s of read i.

    Attributes
    ----------
    counts
        int32[2 n].
    results
        uint32[2 n, MAX_RESULTS, 4]: first row and end of the rows, position in the read, and
        kind << 4 | base of the reference; undefined beyond the counts.
    """

    counts: NDArray[np.int32]
    results: NDArray[np.uint32]


def backtrack(index: FMIndexArrays, reads: PackedReads) -> BacktrackingResults:
    """Search both strands of reads in one thread."""
    counts = np.empty(2 * len(reads), dtype=np.int32)
    results = np.empty((2 * len(reads), MAX_RESULTS, 4), dtype=np.uint32)
    _backtrack_all(
        compiled_index(index),
        row_count(index),
        read_only(reads.words),
        read_only(reads.word_offsets),
        read_only(reads.lengths),
        counts,
        results,
    )
    return BacktrackingResults(counts, results)


def row_count(index: FMIndexArrays) -> int:
    """Return the number of rows: the number of symbols of the text plus 1."""
    return int(index.jump[-1])


@njit
def _backtrack_all(
    index: CompiledIndex,
    rows: Integer,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    counts: NDArray[np.int32],
    results: NDArray[np.uint32],
) -> None:
    """Write the hits of each read and strand, and their numbers, int32[2n]."""
    for search in range(counts.size):
        read = search >> 1
        length = np.int64(lengths[read])
        strand = strand_base(word_offsets, read, search & 1)
        count: Integer = 0
        first: Integer = np.uint64(0)
        last: Integer = np.uint64(rows)
        position = length
        while position > 0 and first < last:
            position -= 1
            read_base = _base_at(words, strand, position)
            next_first: Integer = np.uint64(0)
            next_last: Integer = np.uint64(0)
            found = _exactly(index, words, strand, position, first, last)
            count = _add(results[search], count, LEFT_OUT, found, position, 0)
            for base in range(4):
                edited_first = _extended(index, base, first)
                edited_last = _extended(index, base, last)
                if base == read_base:
                    next_first, next_last = edited_first, edited_last
                    continue
                if edited_first >= edited_last:
                    continue
                found = _exactly(index, words, strand, position, edited_first, edited_last)
                count = _add(results[search], count, MISMATCH, found, position, base)
                if position < length - 1:
                    found = _exactly(index, words, strand, position + 1, edited_first, edited_last)
                    count = _add(results[search], count, ADDED, found, position, base)
            first, last = next_first, next_last
        if position == 0:
            count = _add(results[search], count, MATCH, (first, last), 0, 0)
        counts[search] = count


@njit
def _base_at(words: NDArray[np.uint64], strand: Integer, position: Integer) -> Integer:
    """Return the code of a base; 4 if it is not A, C, G or T."""
    at = strand + np.uint64(3 * (position >> 6))
    bit = np.uint64(position & 63)
    low, high = (words[at] >> bit) & _1, (words[at + _1] >> bit) & _1
    is_ambiguous = (words[at + np.uint64(2)] >> bit) & _1
    return 4 if is_ambiguous else np.int64(high << _1 | low)


@njit
def _extended(index: CompiledIndex, base: Integer, row: Integer) -> Integer:
    low, high = np.uint64(base & 1), np.uint64(base >> 1)
    return backward_step(index.counts, index.symbols, index.primary, low, high, row)


@njit
def _exactly(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    strand: Integer,
    position: Integer,
    first: Integer,
    last: Integer,
) -> tuple[Integer, Integer]:
    """Return the rows that remain when the bases before `position` are put in front."""
    while position > 0 and first < last:
        position -= 1
        base = _base_at(words, strand, position)
        if base > 3:
            return np.uint64(0), np.uint64(0)
        first, last = _extended(index, base, first), _extended(index, base, last)
    return first, last


@njit
def _add(
    results: NDArray[np.uint32],
    count: Integer,
    kind: Integer,
    rows: tuple[Integer, Integer],
    position: Integer,
    base: Integer,
) -> Integer:
    if rows[0] >= rows[1]:
        return count
    if count < results.shape[0]:
        results[count, 0] = rows[0]
        results[count, 1] = rows[1]
        results[count, 2] = position
        results[count, 3] = kind << 4 | base
    return count + 1

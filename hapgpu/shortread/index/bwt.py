"""Arrays of an FM index computed from its suffix array: occurrences, jump table, positions."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import popcount
from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.runtime.pool import Pool
from hapgpu.shortread.index.encoding import TextRuns
from hapgpu.shortread.index.fm_index import BLOCK, SAMPLING, SuffixSamples
from hapgpu.shortread.index.suffixes.text import PackedText, key_at

MAX_JUMP: Final = 14
"""Maximum k of the k-mers in a jump table."""

_MIN_JUMP: Final = 4
_JUMP_BYTES: Final = 64 << 20
_JUMP_BYTES_PER_BASE: Final = 0.4
_PAGE_BITS: Final = 12
_0, _1, _2, _3, _4, _8 = map(np.uint64, (0, 1, 2, 3, 4, 8))
_BLOCK, _PAGE = np.uint64(BLOCK), np.uint64(_PAGE_BITS)


def jump_length_for(symbols: int) -> int:
    """Choose the k-mer length of the jump table of a text.

    The aim is about one suffix per k-mer, and a table much smaller than the rest of the index.
    """
    max_bytes = max(_JUMP_BYTES, _JUMP_BYTES_PER_BASE * symbols)
    length = _MIN_JUMP
    while length < MAX_JUMP and 4 ** (length + 1) <= min(symbols, max_bytes / 4):
        length += 1
    return length


def transform(
    text: PackedText, suffixes: NDArray[np.uint32], jump_length: int, pool: Pool
) -> tuple[NDArray[np.uint32], NDArray[np.uint32], int]:
    """Compute the Burrows-Wheeler transform, and the jump table.

    Parameters
    ----------
    text
        n bases.
    suffixes
        uint32[n + 1]: the text position of the suffix in each row.
    jump_length
        The k of the jump table.
    pool
        Threads to use.

    Returns
    -------
    `occurrences`, uint32, `jump`, uint32, and `primary`, as in `FMIndexArrays`.
    """
    found = pool.over_rows(lambda start, end: _row_of_all(suffixes, start, end), suffixes.size)
    primary = max(map(int, found))
    blocks = text.size // BLOCK + 1
    occurrences = np.empty(8 * blocks, dtype=np.uint32)
    jump = np.empty(4**jump_length + 1, dtype=np.uint32)

    def fill(start: int, end: int) -> NDArray[np.int64]:
        return _fill(*text, suffixes, primary, jump_length, start, end, occurrences, jump)

    slices = list(pairwise(blocks * part // pool.threads for part in range(pool.threads + 1)))
    totals = pool.results([pool.submit(fill, *span) for span in slices])
    jump[_last_kmer(*text, suffixes, jump_length) + 1 :] = suffixes.size
    base_counts = np.sum(totals, axis=0)
    firsts = 1 + np.cumsum(base_counts) - base_counts
    before = list(accumulate(totals, initial=firsts))
    pool.results(
        [
            pool.submit(_count_symbols, text.size, occurrences, *span, counts.copy())
            for span, counts in zip(slices, before, strict=False)
        ]
    )
    return occurrences, jump, primary


def to_positions(
    suffixes: NDArray[np.uint32], runs: TextRuns, bases: int, pool: Pool
) -> NDArray[np.uint32]:
    """Return `suffixes`, changed in place from text positions to reference positions.

    Parameters
    ----------
    suffixes
        uint32[n + 1]: text positions.
    runs
        Runs of the text in the reference.
    bases
        Number of all positions, for row 0.
    pool
        Threads to use.

    Returns
    -------
    uint32[n + 1]: `suffixes`.
    """
    pages = _pages(runs, suffixes.size)

    def convert(start: int, end: int) -> None:
        _convert(suffixes, runs.starts, runs.shifts, pages, max(start, 1), end)

    pool.over_rows(convert, suffixes.size)
    suffixes[0] = bases
    return suffixes


def sample(suffixes: NDArray[np.uint32], runs: TextRuns, bases: int, pool: Pool) -> SuffixSamples:
    """Sample `suffixes`, uint32[n + 1], text positions: see `SuffixSamples`."""
    pages = _pages(runs, suffixes.size)
    marks = np.empty(-(-suffixes.size // BLOCK), dtype=np.uint64)
    ranks = np.empty(marks.size, dtype=np.uint32)

    def mark(start: int, end: int) -> int:
        return int(_mark(suffixes, runs.starts, pages, start, end, marks, ranks))

    slices = list(pairwise(marks.size * part // pool.threads for part in range(pool.threads + 1)))
    counts = pool.results([pool.submit(mark, *span) for span in slices])
    before = list(accumulate(counts, initial=0))
    positions = np.empty(before[-1], dtype=np.uint32)

    def take(start: int, end: int, first: int) -> None:
        columns = suffixes, runs.starts, runs.shifts, pages
        _take_samples(*columns, start, end, first, marks, ranks, positions)

    pool.results(
        [pool.submit(take, *span, first) for span, first in zip(slices, before, strict=False)]
    )
    positions[0] = bases
    return SuffixSamples(marks, ranks, positions)


def _pages(runs: TextRuns, rows: int) -> NDArray[np.uint32]:
    """Return the run of the first text position of each page of 4,096."""
    firsts = np.arange(0, rows, 1 << _PAGE_BITS)
    return (np.searchsorted(runs.starts, firsts, side="right") - 1).astype(np.uint32)


@njit_inlined
def _run_of(starts: NDArray[np.uint32], pages: NDArray[np.uint32], position: Integer) -> Integer:
    """Return the run of a text position."""
    run = np.uint64(pages[position >> _PAGE])
    while run + _1 < np.uint64(starts.size) and np.uint64(starts[run + _1]) <= position:
        run += _1
    return run


@njit
def _row_of_all(suffixes: NDArray[np.uint32], start: int, end: int) -> Integer:
    """Return the row of the whole text if it is from `start` to `end`, else -1."""
    found = np.int64(-1)
    for row in range(start, end):
        if suffixes[row] == 0:
            found = np.int64(row)
    return found


@njit
def _fill(
    words: NDArray[np.uint64],
    size: int,
    suffixes: NDArray[np.uint32],
    primary: int,
    jump_length: int,
    start: int,
    end: int,
    occurrences: NDArray[np.uint32],
    jump: NDArray[np.uint32],
) -> NDArray[np.int64]:
    """Fill the symbols of some blocks, and the jump table up to the k-mers of their rows.

    A symbol and the k-mer after it are loaded together. Return the number of each symbol.
    """
    planes = occurrences.view(np.uint64)
    first, skipped = np.uint64(start * BLOCK), np.uint64(primary)
    right = np.uint64(64 - 2 * jump_length)
    following: Integer = _0  # the k-mer of which the first row is looked for
    if first:
        before = np.uint64(suffixes[first - _1 + np.uint64(first - _1 >= skipped)])
        following = (key_at(words, before - _1) << _2 >> right) + _1
    counts = np.zeros(4, np.int64)
    for block in range(np.uint64(start), np.uint64(end)):
        low, high = _0, _0
        symbol = block * _BLOCK
        for bit in range(min(_BLOCK, np.uint64(size) - symbol)):
            if symbol == skipped:
                following = _fill_jump(jump, following, key_at(words, _0) >> right, skipped)
            row = symbol + np.uint64(symbol >= skipped)
            key = key_at(words, np.uint64(suffixes[row]) - _1)
            following = _fill_jump(jump, following, key << _2 >> right, row)
            base = np.uint64(key >> np.uint64(62))
            counts[base] += 1
            low |= (base & _1) << bit
            high |= (base >> _1) << bit
            symbol += _1
        planes[_4 * block + _2], planes[_4 * block + _3] = low, high
    if np.uint64(end * BLOCK) > np.uint64(size) and skipped == np.uint64(size):
        _fill_jump(jump, following, key_at(words, _0) >> right, skipped)
    return counts


@njit_inlined
def _fill_jump(
    jump: NDArray[np.uint32], following: Integer, kmer: Integer, row: Integer
) -> Integer:
    """Enter a row as the first row of the k-mers up to `kmer`; return the k-mer after it."""
    while following <= kmer:
        jump[following] = row
        following += _1
    return following


@njit
def _last_kmer(
    words: NDArray[np.uint64], _size: int, suffixes: NDArray[np.uint32], jump_length: int
) -> Integer:
    key = key_at(words, np.uint64(suffixes[suffixes.size - 1]))
    return np.int64(key >> np.uint64(64 - 2 * jump_length))


@njit
def _count_symbols(
    size: int,
    occurrences: NDArray[np.uint32],
    start: int,
    end: int,
    counts: NDArray[np.int64],
) -> None:
    """Fill the counts of some blocks; `counts` are those of the first."""
    planes = occurrences.view(np.uint64)
    for block in range(np.uint64(start), np.uint64(end)):
        low, high = planes[_4 * block + _2], planes[_4 * block + _3]
        for base in range(4):
            occurrences[_8 * block + np.uint64(base)] = counts[base]
        used = min(np.int64(BLOCK), np.int64(size) - np.int64(block) * BLOCK)
        both = popcount(low & high)
        counts[1] += popcount(low) - both
        counts[2] += popcount(high) - both
        counts[3] += both
        counts[0] += used - np.int64(popcount(low | high))


@njit
def _convert(
    suffixes: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    shifts: NDArray[np.uint32],
    pages: NDArray[np.uint32],
    start: int,
    end: int,
) -> None:
    for row in range(np.uint64(start), np.uint64(end)):
        position = np.uint64(suffixes[row])
        suffixes[row] = position + np.uint64(shifts[_run_of(starts, pages, position)])


@njit
def _mark(
    suffixes: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    pages: NDArray[np.uint32],
    start: int,
    end: int,
    marks: NDArray[np.uint64],
    ranks: NDArray[np.uint32],
) -> Integer:
    """Mark the sampled rows of some words; `ranks` count from `start`. Return their number."""
    count = _0
    for word in range(np.uint64(start), np.uint64(end)):
        bits = _0
        first = word * _BLOCK
        for bit in range(min(_BLOCK, np.uint64(suffixes.size) - first)):
            position = np.uint64(suffixes[first + bit])
            is_kept = first + bit == _0 or position % np.uint64(SAMPLING) == _0
            if not is_kept:
                is_kept = np.uint64(starts[_run_of(starts, pages, position)]) == position
            bits |= np.uint64(is_kept) << bit
        marks[word], ranks[word] = bits, count
        count += popcount(bits)
    return np.int64(count)


@njit
def _take_samples(
    suffixes: NDArray[np.uint32],
    starts: NDArray[np.uint32],
    shifts: NDArray[np.uint32],
    pages: NDArray[np.uint32],
    start: int,
    end: int,
    first: int,
    marks: NDArray[np.uint64],
    ranks: NDArray[np.uint32],
    positions: NDArray[np.uint32],
) -> None:
    """Take the marked rows of some words, from sample `first` on; `ranks` then count from row 0."""
    to = np.uint64(first)
    for word in range(np.uint64(start), np.uint64(end)):
        ranks[word] += np.uint32(first)
        for bit in range(_BLOCK):
            if marks[word] >> bit & _1:
                position = np.uint64(suffixes[word * _BLOCK + bit])
                positions[to] = position + np.uint64(shifts[_run_of(starts, pages, position)])
                to += _1

"""Search on the CPU: seeds from the jump table, hits checked against the reference.

A hit with one error has an exact half. The two halves of each read and strand (one piece, the
whole read, if no error is allowed) are searched in the index, from the jump table base by base
until few rows are left; then the read is compared with the reference at the position of each row.
A hit belongs to the half without its error, an exact hit to the left half: no hit is found twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only, with_room
from hapgpu.runtime.jit import njit
from hapgpu.shortread.index.cpu import CompiledIndex, compiled_index, locate
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.hits import (
    DISTANCE_SHIFT,
    HitBatch,
    KeptHits,
    SearchLimits,
    SearchOptions,
)
from hapgpu.shortread.search.packed_reads import PackedReads
from hapgpu.shortread.search.seeds import (
    COLUMNS,
    FIRST_ROW,
    ROWS,
    SEED_ID,
    check_candidates,
    extend_seeds,
    find_seeds,
)

_READS_PER_STEP = 256
_CANDIDATES_PER_STEP = 2048
_MIN_HELD = 4096  # hits of a read before some are excluded: fewer would be sorted out too often
_INEXACT = np.uint64(1 << DISTANCE_SHIFT)  # the least number of a hit with an error


def search(index: FMIndexArrays, reads: PackedReads, options: SearchOptions) -> HitBatch:
    """Find all hits of reads, in one thread.

    Parameters
    ----------
    index
        The index of the reference.
    reads
        The reads; reads shorter than `MIN_READ_BASES` get no hits.
    options
        The hits to find.
    """
    found = search_step(index, reads, options, SearchLimits())
    return HitBatch(found.offsets, found.hits)


def search_step(
    index: FMIndexArrays, reads: PackedReads, options: SearchOptions, limits: SearchLimits
) -> KeptHits:
    """Find the hits of the first reads, in one thread, until a limit is reached.

    Parameters
    ----------
    index
        The index of the reference.
    reads
        The reads; reads shorter than `MIN_READ_BASES` get no hits.
    options
        The hits to find.
    limits
        The candidate positions to compare, and the hits to keep.

    Returns
    -------
    KeptHits
        The hits of the first n of these reads, at least of one.
    """
    offsets = np.zeros(len(reads) + 1, dtype=np.int64)
    exact, inexact = np.zeros((2, len(reads)), dtype=np.int64)
    hits, done = _search_reads(
        compiled_index(index),
        read_only(reads.words),
        read_only(reads.word_offsets),
        read_only(reads.lengths),
        options.errors,
        options.indels,
        options.forward_only,
        (limits.rows, limits.hits, np.uint64(limits.after)),
        offsets,
        exact,
        inexact,
    )
    return KeptHits(offsets[: done + 1], hits, exact[:done], inexact[:done])


@njit
def _search_reads(
    index: CompiledIndex,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    errors: Integer,
    indels: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    forward_only: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    limits: tuple[Integer, Integer, np.uint64],
    offsets: NDArray[np.int64],
    exact: NDArray[np.int64],
    inexact: NDArray[np.int64],
) -> tuple[NDArray[np.uint64], Integer]:
    """Fill the offsets and counts; return the hits and the number of reads searched.

    Each step is a separate loop over some hundred reads: many loads from memory are then pending
    at once, and Numba counts references to the arrays once per loop, not once per seed.
    """
    pieces = errors + 1
    strands = 1 if forward_only else 2
    seeds = np.empty((_READS_PER_STEP * strands * pieces + 1, COLUMNS), dtype=np.int64)
    active = np.empty(seeds.shape[0], dtype=np.int64)
    rows = np.empty(_CANDIDATES_PER_STEP, dtype=np.uint64)
    positions = np.empty(_CANDIDATES_PER_STEP, dtype=np.int64)
    owners = np.empty(_CANDIDATES_PER_STEP, dtype=np.int64)
    hits = np.empty(2 * lengths.size + 16, dtype=np.uint64)
    counts = offsets[1:]
    row_limit, most, after = limits
    max_held = max(2 * most, np.int64(_MIN_HELD)) if after == 0 else np.int64(0)
    hit_count: Integer = np.int64(0)
    end_read: Integer = np.int64(lengths.size)
    start: Integer = np.int64(0)
    while start < end_read:
        end = min(start + _READS_PER_STEP, end_read)
        count = find_seeds(index, words, word_offsets, lengths, start, end, pieces, strands, seeds)
        extend_seeds(index, words, seeds, count, active)
        seed: Integer = np.int64(0)
        row: Integer = np.int64(0)
        while seed < count:
            seed, row, filled = _take_rows(seeds, count, seed, row, rows, owners)
            locate(index, rows, positions, filled)
            hits = with_room(hits, hit_count + 2 * filled)
            hit_count = check_candidates(
                index,
                words,
                lengths,
                pieces,
                indels,
                seeds,
                owners,
                positions,
                filled,
                hits,
                hit_count,
                counts,
            )
            if filled == 0:
                continue
            read = seeds[owners[filled - 1], SEED_ID] >> 2
            if counts[read] > max_held:
                kept = _keep_least(hits, hit_count, most, after, read, counts, exact, inexact)
                hit_count = kept
            row_limit -= filled
            if row_limit <= 0:
                end_read = read + 1
                count = _end_of_read(seeds, seed, count, read)
        start = end
    return hits[: _sorted(hits, end_read, most, offsets, exact, inexact)], end_read


@njit
def _end_of_read(seeds: NDArray[np.int64], seed: Integer, count: Integer, read: Integer) -> Integer:
    """Return the first seed, from `seed` on, of a later read than `read`."""
    while seed < count and seeds[seed, SEED_ID] >> 2 <= read:
        seed += 1
    return seed


@njit
def _keep_least(
    hits: NDArray[np.uint64],
    hit_count: Integer,
    most: Integer,
    after: np.uint64,
    read: Integer,
    counts: NDArray[np.int64],
    exact: NDArray[np.int64],
    inexact: NDArray[np.int64],
) -> Integer:
    """Keep the `most` least of the last read's hits greater than `after`; count the others.

    Returns the number of all hits that are kept.
    """
    start = hit_count - counts[read]
    end: Integer = start
    for k in range(start, hit_count):
        hit = hits[k]
        if hit > after:
            hits[k] = hits[end]
            hits[end] = hit
            end += 1
    if end - start > most:
        _select(hits, start, end, most)
        end = start + most
    for k in range(end, hit_count):
        is_exact = np.int64(hits[k] < _INEXACT)
        exact[read] += is_exact
        inexact[read] += 1 - is_exact
    counts[read] = end - start
    return end


@njit
def _select(values: NDArray[np.uint64], start: Integer, end: Integer, count: Integer) -> None:
    """Reorder a slice so that its `count` least values come first (Hoare's Find)."""
    last_kept = start + count - 1
    low: Integer = start
    high: Integer = end - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        left: Integer = low
        right: Integer = high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if last_kept <= right:
            high = right
        elif last_kept >= left:
            low = left
        else:
            return


@njit
def _sorted(
    hits: NDArray[np.uint64],
    reads: Integer,
    most: Integer,
    offsets: NDArray[np.int64],
    exact: NDArray[np.int64],
    inexact: NDArray[np.int64],
) -> Integer:
    """Sort the hits of each read, and count them; return the number of hits that are kept.

    The counts of the reads become offsets. A read of which hits were excluded keeps `most` hits.
    """
    start: Integer = np.int64(0)
    end: Integer = np.int64(0)
    for read in range(reads):
        held = offsets[read + 1]
        if end < start:
            for k in range(held):
                hits[end + k] = hits[start + k]
        _sort(hits, end, end + held)
        exact_held: Integer = np.int64(0)
        while exact_held < held and hits[end + exact_held] < _INEXACT:
            exact_held += 1
        is_cut = exact[read] + inexact[read] > 0
        exact[read] += exact_held
        inexact[read] += held - exact_held
        start += held
        end += min(held, most) if is_cut else held
        offsets[read + 1] = end
    return end


@njit
def _take_rows(
    seeds: NDArray[np.int64],
    count: Integer,
    seed: Integer,
    row: Integer,
    rows: NDArray[np.uint64],
    owners: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer]:
    """Copy rows, from `row` of a seed on, until all are copied or `rows` is full.

    Returns the seed and the row to continue with, and the number of copied rows.
    """
    filled: Integer = np.int64(0)
    while seed < count:
        end = min(seeds[seed, ROWS], row + rows.size - filled)
        for k in range(row, end):
            rows[filled] = np.uint64(seeds[seed, FIRST_ROW] + k)
            owners[filled] = seed
            filled += 1
        if end < seeds[seed, ROWS]:
            return seed, end, filled
        seed += 1
        row = 0
    return seed, row, filled


@njit
def _sort(values: NDArray[np.uint64], start: Integer, end: Integer) -> None:
    """Sort a slice of an array (Shell sort with gaps like Ciura's)."""
    gap = 1
    while gap < (end - start) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(start + gap, end):
            value = values[k]
            at = k
            while at >= start + gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3

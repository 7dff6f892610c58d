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
from hapgpu.mapping.index.cpu import CompiledIndex, compiled_index, locate
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.search.candidates import check_candidates
from hapgpu.mapping.search.hits import HitBatch, SearchOptions
from hapgpu.mapping.search.packed_reads import PackedReads
from hapgpu.mapping.search.seeds import COLUMNS, FIRST_ROW, ROWS, extend_seeds, find_seeds
from hapgpu.runtime.jit import njit

_READS_PER_STEP = 256
_CANDIDATES_PER_STEP = 2048


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
    offsets = np.zeros(len(reads) + 1, dtype=np.int64)
    hits = _search_all(
        compiled_index(index),
        read_only(reads.words),
        read_only(reads.word_offsets),
        read_only(reads.lengths),
        options.errors,
        options.indels,
        options.forward_only,
        offsets,
    )
    return HitBatch(offsets, hits)


@njit
def _search_all(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    index: CompiledIndex,
    words: NDArray[np.uint64],
    word_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    errors: Integer,
    indels: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    forward_only: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    offsets: NDArray[np.int64],
) -> NDArray[np.uint64]:
    """Fill the offsets and return the hits.

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
    hit_count: Integer = np.int64(0)
    for start in range(0, lengths.size, _READS_PER_STEP):
        end = min(start + _READS_PER_STEP, lengths.size)
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
    for read in range(lengths.size):
        offsets[read + 1] += offsets[read]
        _sort(hits, offsets[read], offsets[read + 1])
    return hits[:hit_count]


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

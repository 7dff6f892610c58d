"""Exclusion of repetitive seeds, which occur in the reference too often."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit

MAX_OCCURRENCES: Final = 4095
"""Largest number of occurrences of a seed that can be kept."""
MAX_KEPT: Final = 128
"""Most repetitive seeds to keep between two other seeds."""

_ROUNDING: Final = 0.499
_1 = np.uint32(1)
_START = np.int64(0)  # not a literal: functions would be compiled once more for it


class SeedColumns(NamedTuple):
    """The columns of `Seeds` with one row per seed."""

    positions: NDArray[np.uint32]
    spans: NDArray[np.uint8]
    is_tandem: NDArray[np.uint8]
    first_occurrences: NDArray[np.int64]
    occurrence_counts: NDArray[np.int32]


class RunScratch(NamedTuple):
    """Working arrays for the seeds of a read: two columns to sort, and which seeds are dropped."""

    ranks: NDArray[np.uint64]
    members: NDArray[np.uint64]
    is_dropped: NDArray[np.bool_]


@njit
def new_run_scratch(seeds: Integer) -> RunScratch:
    """Return working arrays for reads of at most `seeds` seeds."""
    return RunScratch(
        np.empty(seeds, dtype=np.uint64),
        np.empty(seeds, dtype=np.uint64),
        np.empty(seeds, dtype=np.bool_),
    )


@njit
def drop_repetitive(
    seeds: SeedColumns,
    start: Integer,
    end: Integer,
    length: Integer,
    cutoff: Integer,
    distance: Integer,
    scratch: RunScratch,
) -> tuple[Integer, Integer]:
    """Drop most repetitive seeds, with more than `cutoff` occurrences, of the last read.

    Of a run of repetitive seeds, one per `distance` bases between the seeds around it is kept: the
    seeds with the fewest occurrences (Li 2021, Bioinformatics 37:4572); none if `distance` is 0.

    Returns
    -------
    end, covered
        The new end of the read's seeds, and the number of its bases that dropped seeds cover.
    """
    is_dropped = scratch.is_dropped
    if distance > 0 and cutoff < MAX_OCCURRENCES:
        if end - start == 1:
            return end, 0
        _mark_runs(seeds, start, end, length, cutoff, distance, scratch)
    else:
        for seed in range(start, end):
            is_dropped[seed - start] = seeds.occurrence_counts[seed] > cutoff
    covered = _covered(seeds.positions, seeds.spans, start, end, is_dropped)
    return _keep_others(seeds, start, end, is_dropped), covered


@njit
def _mark_runs(
    seeds: SeedColumns,
    start: Integer,
    end: Integer,
    length: Integer,
    cutoff: Integer,
    distance: Integer,
    scratch: RunScratch,
) -> None:
    """Mark which seeds of a read to drop."""
    positions, occurrence_counts = seeds.positions, seeds.occurrence_counts
    before = np.int64(0)
    first = start
    for seed in range(start, end + 1):
        if seed < end and occurrence_counts[seed] > cutoff:
            continue
        after = np.int64(positions[seed] >> _1 if seed < end else length)
        if seed > first:
            max_kept = np.int64((after - before) / distance + _ROUNDING)
            _mark_run(occurrence_counts, start, first, seed, max_kept, scratch)
        if seed < end:
            scratch.is_dropped[seed - start] = False
        before = after
        first = seed + 1


@njit
def _mark_run(
    occurrence_counts: NDArray[np.int32],
    read_start: Integer,
    start: Integer,
    end: Integer,
    max_kept: Integer,
    scratch: RunScratch,
) -> None:
    """Mark a run of seeds, except at most `max_kept` with the fewest occurrences, first of ties."""
    ranks, members, is_dropped = scratch.ranks, scratch.members, scratch.is_dropped
    kept: Integer = min(max_kept, np.int64(MAX_KEPT))
    count = end - start
    for k in range(count):
        ranks[k] = occurrence_counts[start + k] << 32 | k
        members[k] = start + k
    radix_sort(ranks, members, _START, count)
    for k in range(count):
        seed = np.int64(members[k])
        is_dropped[seed - read_start] = k >= kept or occurrence_counts[seed] > MAX_OCCURRENCES


@njit
def _covered(
    positions: NDArray[np.uint32],
    spans: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    is_dropped: NDArray[np.bool_],
) -> Integer:
    """Return the number of bases of the read that dropped seeds cover."""
    covered = np.int64(0)
    block_start = np.int64(0)
    block_end = np.int64(0)
    for seed in range(start, end):
        if is_dropped[seed - start]:
            seed_end = np.int64(positions[seed] >> _1) + 1
            if seed_end - spans[seed] > block_end:
                covered += block_end - block_start
                block_start = seed_end - spans[seed]
            block_end = seed_end
    return covered + block_end - block_start


@njit
def _keep_others(
    seeds: SeedColumns, start: Integer, end: Integer, is_dropped: NDArray[np.bool_]
) -> Integer:
    """Move the seeds that are not dropped together, and return their end."""
    positions, spans, is_tandem = seeds.positions, seeds.spans, seeds.is_tandem
    first_occurrences, occurrence_counts = seeds.first_occurrences, seeds.occurrence_counts
    kept = start
    for seed in range(start, end):
        if not is_dropped[seed - start]:
            positions[kept] = positions[seed]
            spans[kept] = spans[seed]
            is_tandem[kept] = is_tandem[seed]
            first_occurrences[kept] = first_occurrences[seed]
            occurrence_counts[kept] = occurrence_counts[seed]
            kept += 1
    return kept

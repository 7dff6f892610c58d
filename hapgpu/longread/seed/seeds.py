"""Seeds: minimizers of reads that occur in the reference, but not too often."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, longest_row, read_only
from hapgpu.longread.batches import Minimizers, Seeds
from hapgpu.longread.index.lookup import (
    LOOKUPS,
    CompiledTable,
    Lookups,
    compiled_table,
    look_up,
    new_lookups,
)
from hapgpu.longread.index.minimizer_index import MIX, MinimizerIndex
from hapgpu.longread.options import SeedOptions
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

MAX_OCCURRENCES: Final = 4095
"""Largest number of occurrences of a seed that can be kept."""
MAX_KEPT: Final = 128
"""Most repetitive seeds to keep between two other seeds."""

_ROUNDING: Final = 0.499
_STRAND_BITS = np.uint32(1)
_START = np.int64(0)  # not a literal: functions would be compiled once more for it


class SeedColumns(NamedTuple):
    """The columns of `Seeds` with one row per seed."""

    positions: NDArray[np.uint32]
    spans: NDArray[np.uint8]
    is_tandem: NDArray[np.uint8]
    first_occurrences: NDArray[np.int64]
    occurrence_counts: NDArray[np.int32]


class RunScratch(NamedTuple):
    """Working arrays for a read of at most s seeds.

    Attributes
    ----------
    ranks, members
        uint64[s]: two columns to sort.
    is_dropped
        bool[s]: seeds that are dropped.
    """

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
        after = np.int64(positions[seed] >> _STRAND_BITS if seed < end else length)
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
            seed_end = np.int64(positions[seed] >> _STRAND_BITS) + 1
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


_COUNTER_BITS: Final = 10
_MIX, _SHIFT = map(np.uint64, (MIX, 64 - _COUNTER_BITS))


def drop_frequent(minimizers: Minimizers, cutoff: int, fraction: float) -> Minimizers:
    """Drop the minimizers whose keys are too frequent in their read.

    A key is too frequent if it occurs more than `cutoff` times, and in more than `fraction` of the
    minimizers of the read (as in minimap2 since 2.23).

    Returns
    -------
    Minimizers
        The same object if nothing was dropped.
    """
    is_frequent = np.zeros(minimizers.keys.size, dtype=np.bool_)
    keys, offsets = read_only(minimizers.keys), read_only(minimizers.offsets)
    if fraction <= 0 or not _mark_frequent(
        RaggedView(keys, offsets), cutoff, np.float32(fraction), is_frequent
    ):
        return minimizers
    kept = np.flatnonzero(~is_frequent)
    return Minimizers(keys[kept], minimizers.positions[kept], np.searchsorted(kept, offsets))


@njit
def _mark_frequent(
    minimizer_keys: RaggedView,
    cutoff: int,
    fraction: np.float32,
    is_frequent: NDArray[np.bool_],
) -> int:
    """Mark the minimizers to drop and return their number.

    Keys share a few counters; only keys with a high counter are counted exactly.
    """
    marked = 0
    keys, offsets = minimizer_keys.data, minimizer_keys.offsets
    counters = np.empty(1 << _COUNTER_BITS, dtype=np.int32)
    longest = longest_row(minimizer_keys)
    suspects = np.empty(longest, dtype=np.uint64)
    rows = np.empty(longest, dtype=np.uint64)
    for read in range(offsets.size - 1):
        start, end = offsets[read], offsets[read + 1]
        if end - start <= cutoff:
            continue
        limit = np.float32(end - start) * fraction
        if _is_frequent(_highest_counter(keys, start, end, counters), cutoff, limit):
            count = np.int64(0)
            for k in range(start, end):
                if _is_frequent(counters[_counter_of(keys[k])], cutoff, limit):
                    suspects[count], rows[count] = keys[k], k
                    count += 1
            radix_sort(suspects, rows, _START, count)
            marked += _mark_frequent_runs(suspects, rows, count, cutoff, limit, is_frequent)
    return marked


@njit_inlined
def _is_frequent(count: Integer, cutoff: Integer, limit: np.float32) -> bool:
    return bool(count > cutoff and np.float32(count) > limit)


@njit_inlined
def _counter_of(key: Integer) -> Integer:
    return np.uint64(key) * _MIX >> _SHIFT


@njit
def _highest_counter(
    keys: NDArray[np.uint64], start: Integer, end: Integer, counters: NDArray[np.int32]
) -> Integer:
    """Count keys and return the highest count."""
    highest = np.int32(0)
    for counter in range(np.uint64(counters.size)):
        counters[counter] = 0
    for k in range(np.uint64(start), np.uint64(end)):
        own = _counter_of(keys[k])
        count = np.int32(counters[own] + 1)
        counters[own] = count
        highest = max(highest, count)
    return highest


@njit
def _mark_frequent_runs(
    sorted_keys: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    count: Integer,
    cutoff: Integer,
    limit: np.float32,
    is_frequent: NDArray[np.bool_],
) -> Integer:
    """Mark the rows of keys in long runs, and return their number."""
    marked: Integer = 0
    first = 0
    for k in range(1, count + 1):
        if k < count and sorted_keys[k] == sorted_keys[first]:
            continue
        if _is_frequent(k - first, cutoff, limit):
            marked += k - first
            for member in range(first, k):
                is_frequent[rows[member]] = True
        first = k
    return marked


_1, _8, _255, _LOOKUPS = map(np.uint64, (1, 8, 255, LOOKUPS))


def find_seeds(
    index: MinimizerIndex,
    minimizers: Minimizers,
    lengths: NDArray[np.int32],
    cutoff: int,
    options: SeedOptions,
) -> Seeds:
    """Find the seeds of n reads, without most repetitive minimizers.

    A minimizer with more than `cutoff` occurrences is repetitive. Of a run of repetitive seeds, the
    seeds with the fewest occurrences are kept, one per `options.occurrence_distance` bases of the
    read (Li 2021, Bioinformatics 37:4572).

    Parameters
    ----------
    minimizers
        Minimizers of n reads, with the options of the index.
    lengths
        int32[n]: lengths of the reads in bases.
    cutoff
        Result of `repeat_cutoff`, at least 1.
    """
    minimizers = drop_frequent(minimizers, cutoff, options.read_fraction)
    max_seeds = minimizers.keys.size
    columns = SeedColumns(
        positions=np.empty(max_seeds, dtype=np.uint32),
        spans=np.empty(max_seeds, dtype=np.uint8),
        is_tandem=np.empty(max_seeds, dtype=np.uint8),
        first_occurrences=np.empty(max_seeds, dtype=np.int64),
        occurrence_counts=np.empty(max_seeds, dtype=np.int32),
    )
    offsets = np.empty(lengths.size + 1, dtype=np.int64)
    repeat_lengths = np.empty(lengths.size, dtype=np.int32)
    count = _find_seeds(
        compiled_table(index),
        RaggedView(read_only(minimizers.keys), read_only(minimizers.offsets)),
        read_only(minimizers.positions),
        read_only(lengths),
        cutoff,
        options.occurrence_distance,
        columns,
        offsets,
        repeat_lengths,
    )
    return Seeds(
        positions=columns.positions[:count],
        spans=columns.spans[:count],
        is_tandem=columns.is_tandem[:count],
        first_occurrences=columns.first_occurrences[:count],
        occurrence_counts=columns.occurrence_counts[:count],
        offsets=offsets,
        repeat_lengths=repeat_lengths,
    )


@njit
def _find_seeds(
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_positions: NDArray[np.uint32],
    lengths: NDArray[np.int32],
    cutoff: int,
    distance: int,
    columns: SeedColumns,
    offsets: NDArray[np.int64],
    repeat_lengths: NDArray[np.int32],
) -> Integer:
    """Fill in the seeds and return their number."""
    lookups = new_lookups()
    scratch = new_run_scratch(longest_row(minimizer_keys))
    count: Integer = np.int64(0)
    for read in range(lengths.size):
        offsets[read] = count
        count, max_count = _append_read(
            table, minimizer_keys, minimizer_positions, read, lookups, columns, count
        )
        repeat_lengths[read] = 0
        if max_count > cutoff:
            count, repeat_lengths[read] = drop_repetitive(
                columns, offsets[read], count, lengths[read], cutoff, distance, scratch
            )
    offsets[lengths.size] = count
    return count


@njit
def _append_read(
    table: CompiledTable,
    minimizer_keys: RaggedView,
    minimizer_positions: NDArray[np.uint32],
    read: Integer,
    lookups: Lookups,
    columns: SeedColumns,
    count: Integer,
) -> tuple[Integer, Integer]:
    """Append the minimizers of a read that occur in the reference, after `count` seeds.

    Returns
    -------
    count, max_count
        The new number of seeds, and the largest number of occurrences of one of them.
    """
    keys, offsets = minimizer_keys.data, minimizer_keys.offsets
    positions, spans, is_tandem = columns.positions, columns.spans, columns.is_tandem
    first_occurrences, occurrence_counts = columns.first_occurrences, columns.occurrence_counts
    found_first_occurrences, found_occurrence_counts = (
        lookups.first_occurrences,
        lookups.occurrence_counts,
    )
    end = np.uint64(offsets[read + 1])
    equals_previous = np.uint8(0)
    max_count = np.int32(0)
    seed = np.uint64(count)
    for start in range(np.uint64(offsets[read]), end, _LOOKUPS):
        looked_up = min(_LOOKUPS, end - start)
        look_up(table, keys, start, looked_up, lookups)
        for k in range(looked_up):
            at = start + k
            equals_next = np.uint8(at + _1 < end and keys[at] >> _8 == keys[at + _1] >> _8)
            occurrences = found_occurrence_counts[k]
            positions[seed] = minimizer_positions[at]
            spans[seed] = keys[at] & _255
            is_tandem[seed] = equals_previous | equals_next
            first_occurrences[seed] = found_first_occurrences[k]
            occurrence_counts[seed] = occurrences
            equals_previous = equals_next
            max_count = max(max_count, occurrences)
            seed += np.uint64(occurrences > 0)
    return np.int64(seed), max_count

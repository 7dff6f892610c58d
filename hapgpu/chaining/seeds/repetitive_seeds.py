"""Seeds of a read that are dropped because the reference has too many of them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit

MAX_OCCURRENCES: Final = 4095
"""Hits above which no seed is kept, however few seeds are near it."""
MAX_KEPT: Final = 128
"""Repetitive seeds kept at most between two that are not."""

_ROUNDING: Final = 0.499
_1 = np.uint32(1)
_BEGIN = np.int64(0)  # not a literal, for which functions would be compiled anew


class SeedColumns(NamedTuple):
    """The columns of `Seeds` that have a row per seed."""

    places: NDArray[np.uint32]
    spans: NDArray[np.uint8]
    is_tandem: NDArray[np.uint8]
    first_hits: NDArray[np.int64]
    hit_counts: NDArray[np.int32]


class RunScratch(NamedTuple):
    """Room for the seeds of a read: two columns to sort, and which of them are dropped."""

    ranks: NDArray[np.uint64]
    members: NDArray[np.uint64]
    is_dropped: NDArray[np.bool_]


@njit
def new_run_scratch(seeds: Integer) -> RunScratch:
    """Return room for a read of so many seeds."""
    return RunScratch(
        np.empty(seeds, dtype=np.uint64),
        np.empty(seeds, dtype=np.uint64),
        np.empty(seeds, dtype=np.bool_),
    )


@njit
def drop_repetitive(  # noqa: PLR0917  (compiled code takes no keywords)
    seeds: SeedColumns,
    begin: Integer,
    end: Integer,
    length: Integer,
    cutoff: Integer,
    distance: Integer,
    scratch: RunScratch,
) -> tuple[Integer, Integer]:
    """Drop most seeds with more than `cutoff` hits of a read, whose seeds are the last ones.

    Of a run of them, one per `distance` bases up to the next other seeds is kept, those with the
    fewest hits (Li 2021, Bioinformatics 37:4572); none if `distance` is 0.

    Returns
    -------
    end, covered
        Where its seeds end now, and how many bases of the read those dropped cover.
    """
    is_dropped = scratch.is_dropped
    if distance > 0 and cutoff < MAX_OCCURRENCES:
        if end - begin == 1:
            return end, 0
        _mark_runs(seeds, begin, end, length, cutoff, distance, scratch)
    else:
        for seed in range(begin, end):
            is_dropped[seed - begin] = seeds.hit_counts[seed] > cutoff
    covered = _covered(seeds.places, seeds.spans, begin, end, is_dropped)
    return _keep_others(seeds, begin, end, is_dropped), covered


@njit
def _mark_runs(  # noqa: PLR0917  (compiled code takes no keywords)
    seeds: SeedColumns,
    begin: Integer,
    end: Integer,
    length: Integer,
    cutoff: Integer,
    distance: Integer,
    scratch: RunScratch,
) -> None:
    """Mark which seeds of a read to drop."""
    places, hit_counts = seeds.places, seeds.hit_counts
    before = np.int64(0)
    first = begin
    for seed in range(begin, end + 1):
        if seed < end and hit_counts[seed] > cutoff:
            continue
        after = np.int64(places[seed] >> _1 if seed < end else length)
        if seed > first:
            most = np.int64((after - before) / distance + _ROUNDING)
            _mark_run(hit_counts, begin, first, seed, most, scratch)
        if seed < end:
            scratch.is_dropped[seed - begin] = False
        before = after
        first = seed + 1


@njit
def _mark_run(
    hit_counts: NDArray[np.int32],
    read_begin: Integer,
    begin: Integer,
    end: Integer,
    most: Integer,
    scratch: RunScratch,
) -> None:
    """Mark a run of seeds but for up to `most` with the fewest hits, the first of equals."""
    ranks, members, is_dropped = scratch.ranks, scratch.members, scratch.is_dropped
    kept: Integer = min(most, np.int64(MAX_KEPT))
    count = end - begin
    for k in range(count):
        ranks[k] = hit_counts[begin + k] << 32 | k
        members[k] = begin + k
    radix_sort(ranks, members, _BEGIN, count)
    for k in range(count):
        seed = np.int64(members[k])
        is_dropped[seed - read_begin] = k >= kept or hit_counts[seed] > MAX_OCCURRENCES


@njit
def _covered(
    places: NDArray[np.uint32],
    spans: NDArray[np.uint8],
    begin: Integer,
    end: Integer,
    is_dropped: NDArray[np.bool_],
) -> Integer:
    """Return the bases under dropped seeds, of overlapping ones those up to the last one's end."""
    covered = np.int64(0)
    first = np.int64(0)
    behind = np.int64(0)
    for seed in range(begin, end):
        if is_dropped[seed - begin]:
            seed_end = np.int64(places[seed] >> _1) + 1
            if seed_end - spans[seed] > behind:
                covered += behind - first
                first = seed_end - spans[seed]
            behind = seed_end
    return covered + behind - first


@njit
def _keep_others(
    seeds: SeedColumns, begin: Integer, end: Integer, is_dropped: NDArray[np.bool_]
) -> Integer:
    """Move the seeds that are not dropped together, and return where they end."""
    places, spans, is_tandem = seeds.places, seeds.spans, seeds.is_tandem
    first_hits, hit_counts = seeds.first_hits, seeds.hit_counts
    kept = begin
    for seed in range(begin, end):
        if not is_dropped[seed - begin]:
            places[kept] = places[seed]
            spans[kept] = spans[seed]
            is_tandem[kept] = is_tandem[seed]
            first_hits[kept] = first_hits[seed]
            hit_counts[kept] = hit_counts[seed]
            kept += 1
    return kept

"""Which chains of a read are secondary to which others, and which of them are kept.

A chain that lies, on the read, mostly within a better one is secondary to it. The rules are those
of minimap2 2.30 (Li 2018, Bioinformatics 34:3094), float32 arithmetic included.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import offsets_of
from hapgpu.chaining.options import ChainOptions, RegionOptions
from hapgpu.chaining.region_columns import (
    COUNT,
    IS_REVERSE,
    QUERY_END,
    QUERY_START,
    SCORE,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
)
from hapgpu.io.byte_access import Integer
from hapgpu.jit import njit, njit_inlined
from hapgpu.rows import read_only

STRAND_SHARE: Final = 0.8
"""Share of the largest gap that a chain on the other strand has to score to be kept."""


class Selected(NamedTuple):
    """The regions of n reads that are kept.

    Attributes
    ----------
    table
        int32[COLUMNS, r].
    offsets
        int64[n + 1].
    parents, second_scores, rivals, is_retained
        As in `Regions`.
    """

    table: NDArray[np.int32]
    offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    rivals: NDArray[np.int32]
    is_retained: NDArray[np.uint8]


class _Limits(NamedTuple):
    """`RegionOptions` and what follows from the other options, for compiled code.

    Attributes
    ----------
    score_ratio, most_secondary
        As in `RegionOptions`.
    near_score
        Difference to the score of the parent up to which a chain is kept in any case.
    strand_score
        Score above which a chain on the other strand than its parent is kept.
    """

    score_ratio: np.float32
    most_secondary: int
    near_score: int
    strand_score: int


@njit_inlined
def _uncovered(
    table: NDArray[np.int32],
    row: Integer,
    by_start: NDArray[np.int64],
    primaries: Integer,
) -> Integer:
    """Return how much of the read under a region no primary covers; -1 if none overlaps.

    The primaries are in ascending order of where they start.
    """
    start, end = np.int64(table[QUERY_START, row]), np.int64(table[QUERY_END, row])
    uncovered = np.int64(0)
    behind = start
    overlaps = False
    for k in range(primaries):
        primary_start = np.int64(table[QUERY_START, by_start[k]])
        primary_end = np.int64(table[QUERY_END, by_start[k]])
        if primary_start >= end:
            break
        if primary_end > start:
            overlaps = True
            uncovered += max(primary_start - behind, np.int64(0))
            behind = max(behind, min(primary_end, end))
    return uncovered + end - behind if overlaps else np.int64(-1)


@njit_inlined
def _is_masked(
    table: NDArray[np.int32],
    row: Integer,
    primary: Integer,
    uncovered: Integer,
    mask_level: np.float32,
) -> bool:
    """Tell whether a region overlaps a primary enough to be secondary to it."""
    start, end = np.int64(table[QUERY_START, row]), np.int64(table[QUERY_END, row])
    primary_start = np.int64(table[QUERY_START, primary])
    primary_end = np.int64(table[QUERY_END, primary])
    overlap = min(end, primary_end) - max(start, primary_start)
    if overlap <= 0:
        return False
    shorter = min(end - start, primary_end - primary_start)
    longer = max(end - start, primary_end - primary_start)
    covered_share = np.float32(overlap) / np.float32(shorter)
    return bool(covered_share - np.float32(uncovered) / np.float32(longer) > mask_level)


@njit_inlined
def _insert_by_start(
    table: NDArray[np.int32], row: Integer, by_start: NDArray[np.int64], primaries: Integer
) -> None:
    start = table[QUERY_START, row]
    place = np.int64(primaries)
    while place > 0 and table[QUERY_START, by_start[place - 1]] > start:
        by_start[place] = by_start[place - 1]
        place -= 1
    by_start[place] = row


@njit
def _find_parents(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    mask_level: np.float32,
    parents: NDArray[np.int64],
    second_scores: NDArray[np.int32],
    rivals: NDArray[np.int32],
) -> None:
    """Set the parent of each region, as its row, and what the primaries know of the others."""
    most = np.int64(0)
    for read in range(offsets.size - 1):
        most = max(most, offsets[read + 1] - offsets[read])
    primary_rows = np.empty(most, dtype=np.int64)
    by_start = np.empty(most, dtype=np.int64)
    for read in range(offsets.size - 1):
        primaries = np.int64(0)
        for row in range(offsets[read], offsets[read + 1]):
            second_scores[row] = rivals[row] = 0
            parent = np.int64(row)
            uncovered = _uncovered(table, row, by_start, primaries)
            if uncovered >= 0:
                for k in range(primaries):
                    if _is_masked(table, row, primary_rows[k], uncovered, mask_level):
                        parent = primary_rows[k]
                        break
            parents[row] = parent
            if parent == row:
                _insert_by_start(table, row, by_start, primaries)
                primary_rows[primaries] = row
                primaries += 1
            else:
                second_scores[parent] = max(second_scores[parent], table[SCORE, row])
                rivals[parent] += table[COUNT, row] >= table[COUNT, parent]


@njit_inlined
def _is_near(table: NDArray[np.int32], row: Integer, parent: Integer, limits: _Limits) -> bool:
    """Tell whether a region scores nearly as much as its parent."""
    score, best = np.int64(table[SCORE, row]), np.int64(table[SCORE, parent])
    least = np.float32(best) * limits.score_ratio
    return bool(np.float32(score) >= least or score + limits.near_score >= best)


@njit_inlined
def _is_same_place(table: NDArray[np.int32], row: Integer, parent: Integer) -> bool:
    return bool(
        table[QUERY_START, row] == table[QUERY_START, parent]
        and table[QUERY_END, row] == table[QUERY_END, parent]
        and table[SEQUENCE, row] == table[SEQUENCE, parent]
        and table[TARGET_START, row] == table[TARGET_START, parent]
        and table[TARGET_END, row] == table[TARGET_END, parent]
    )


@njit
def _select(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    limits: _Limits,
    kept: NDArray[np.int64],
    is_retained: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """List the rows to keep, and count them for each read."""
    total = np.int64(0)
    for read in range(offsets.size - 1):
        begin = total
        secondary = np.int64(0)
        for row in range(offsets[read], offsets[read + 1]):
            is_retained[row] = 0
            if parents[row] == row:
                kept[total] = row
                total += 1
                continue
            # minimap2 moves kept regions up in place and looks the parent up where it was.
            place = begin + parents[row] - offsets[read]
            parent = kept[place] if place < total else parents[row]
            if secondary >= limits.most_secondary:
                continue
            if _is_near(table, row, parent, limits):
                if _is_same_place(table, row, parent):
                    continue
            elif (
                table[SCORE, row] > limits.strand_score
                and table[IS_REVERSE, row] != table[IS_REVERSE, parent]
            ):
                is_retained[row] = 1
            else:
                continue
            kept[total] = row
            total += 1
            secondary += 1
        counts[read] = total - begin
    return total


@njit
def _renumber(
    kept: NDArray[np.int64],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    places: NDArray[np.int64],
    numbers: NDArray[np.int32],
) -> None:
    """Set the parents of the kept regions, counted within their reads."""
    for read in range(offsets.size - 1):
        for region in range(offsets[read], offsets[read + 1]):
            places[kept[region]] = region - offsets[read]
            numbers[region] = places[parents[kept[region]]]


def all_regions(table: NDArray[np.int32], offsets: NDArray[np.int64]) -> Selected:
    """Keep all regions, without parents."""
    count = table.shape[1]
    zeros = np.zeros(count, dtype=np.int32)
    return Selected(
        table=table,
        offsets=offsets,
        parents=np.full(count, -1, dtype=np.int32),
        second_scores=zeros,
        rivals=zeros,
        is_retained=np.zeros(count, dtype=np.uint8),
    )


def select_regions(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    k: int,
    chain_options: ChainOptions,
    options: RegionOptions,
) -> Selected:
    """Find the parents of regions, and keep the primaries and the best of the others.

    A region that is to be compared with its parent is compared with whatever minimap2 2.30 finds
    in the parent's place: it moves up the regions it keeps within one array, and where it has
    dropped a region before the parent, another may have taken its place.

    Parameters
    ----------
    table
        int32[COLUMNS, c]: the chains of n reads, of each read the best first.
    offsets
        int64[n + 1].
    k
        Bases of a k-mer.
    chain_options, options
        What the user chose. A `score_ratio` of 0 keeps all regions.
    """
    count = table.shape[1]
    table, offsets = read_only(table), read_only(offsets)
    parents = np.empty(count, dtype=np.int64)
    second_scores, rivals = np.empty((2, count), dtype=np.int32)
    _find_parents(table, offsets, np.float32(options.mask_level), parents, second_scores, rivals)
    parents = read_only(parents)
    kept = np.arange(count, dtype=np.int64)
    is_retained = np.zeros(count, dtype=np.uint8)
    if options.score_ratio > 0:
        limits = _Limits(
            score_ratio=np.float32(options.score_ratio),
            most_secondary=options.most_secondary,
            near_score=2 * k,
            strand_score=int(STRAND_SHARE * chain_options.max_gap),
        )
        counts = np.empty(offsets.size - 1, dtype=np.int64)
        total = _select(table, offsets, parents, limits, kept, is_retained, counts)
        kept, offsets = kept[:total], offsets_of(counts)
    numbers = np.empty(kept.size, dtype=np.int32)
    _renumber(read_only(kept), read_only(offsets), parents, np.empty_like(parents), numbers)
    return Selected(
        table=table[:, kept],
        offsets=offsets,
        parents=numbers,
        second_scores=second_scores[kept],
        rivals=rivals[kept],
        is_retained=is_retained[kept],
    )

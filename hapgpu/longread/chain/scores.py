"""Chain scores on the CPU: the best chain that ends at each anchor, by dynamic programming.

The recursion is minimap2's (Li 2018, Bioinformatics 34:3094, and Li 2021, Bioinformatics 37:4572):
predecessors are visited from the nearest to the farthest, and the search stops once too many of
them are on chains visited already. Without that rule, as in Sadasivan et al. (2023), predecessors
are scored independently of each other, several at a time.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.chain.pair_score import (
    MARK,
    NONE,
    PREDECESSOR,
    ROWS,
    SCORE,
    SPAN,
    TILE,
    fill_table,
    grown_table,
    move_columns,
    pair_score,
)
from hapgpu.longread.parameters import ChainParameters
from hapgpu.runtime.jit import njit, njit_inlined

_NO_SCORE: Final = np.int32(-(2**31))
_BLOCK: Final = 256


class _Reach(NamedTuple):
    """Columns of the table that later anchors may visit.

    Attributes
    ----------
    first
        Anchors from here on are within reach.
    group
        Anchors from here on have the same position on the reference.
    peak
        The highest score within reach at the last search; `NONE` for none.
    """

    first: Integer
    group: Integer
    peak: Integer


def chain_scores(anchors: Anchors, parameters: ChainParameters, tile: int = TILE) -> ChainScores:
    """Find the best chain that ends at each anchor, in one thread.

    Parameters
    ----------
    anchors
        Anchors of n reads, each with fewer than 2**31 anchors at positions below 2**31.
    parameters
        If `max_skip` is at least `max_iterations`, every predecessor is visited.
    tile
        Anchors of a read that the working memory is for, besides those within reach.
    """
    scores = np.empty(anchors.x.size, dtype=np.int32)
    predecessors = np.empty(anchors.x.size, dtype=np.int32)
    _score_reads(
        read_only(anchors.x),
        read_only(anchors.y),
        read_only(anchors.offsets),
        np.uint64(parameters.max_distance_x),
        np.uint32(parameters.max_distance_y),
        parameters.penalties.astype(np.int32),
        parameters.max_skip,
        parameters.max_iterations,
        tile,
        scores,
        predecessors,
    )
    return ChainScores(scores, predecessors)


@njit
def _score_reads(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    max_distance_x: Integer,
    max_distance_y: Integer,
    penalties: NDArray[np.int32],
    max_skip: Integer,
    max_iterations: Integer,
    tile: Integer,
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
) -> None:
    """Set scores and predecessors of all anchors, read by read, tile by tile."""
    longest: Integer = np.int64(0)
    for read in range(offsets.size - 1):
        longest = max(longest, offsets[read + 1] - offsets[read])
    table = np.empty((ROWS, min(longest, tile)), dtype=np.int32)
    for read in range(offsets.size - 1):
        start, anchors = np.uint64(offsets[read]), offsets[read + 1] - offsets[read]
        tile_start: Integer = np.int64(0)
        scored: Integer = np.int64(0)
        reach = _Reach(np.int64(0), np.int64(0), np.int64(NONE))
        while True:
            first = start + np.uint64(tile_start)
            count = np.uint64(min(anchors - tile_start, table.shape[1]))
            fill_table(x, y, first, np.uint64(scored), count, table)
            reach = _score_tile(
                x,
                first,
                scored,
                count,
                table,
                max_distance_x,
                max_distance_y,
                penalties,
                max_skip,
                max_iterations,
                reach,
            )
            for k in range(np.uint64(scored), count):
                scores[first + k] = table[SCORE, k]
                predecessor = table[PREDECESSOR, k]
                predecessors[first + k] = predecessor + (tile_start if predecessor >= 0 else 0)
            if tile_start + np.int64(count) == anchors:
                break
            kept = min(reach.first, reach.group)
            if reach.peak >= 0:
                kept = min(kept, reach.peak)
            scored = np.int64(count) - kept
            move_columns(table, kept, np.int64(count))
            if 2 * scored > table.shape[1]:
                table = grown_table(table, 4 * scored)
            tile_start += kept
            reach = _Reach(
                reach.first - kept, reach.group - kept, max(reach.peak - kept, np.int64(NONE))
            )


@njit_inlined
def _score_tile(
    x: NDArray[np.uint64],
    start: Integer,
    scored: Integer,
    count: Integer,
    table: NDArray[np.int32],
    max_distance_x: Integer,
    max_distance_y: Integer,
    penalties: NDArray[np.int32],
    max_skip: Integer,
    max_iterations: Integer,
    reach: _Reach,
) -> _Reach:
    """Set scores and predecessors of columns `scored` to `count` of the table."""
    visits_all = max_skip >= max_iterations
    first, group, peak = reach
    for i in range(scored, np.int64(count)):
        own_x = x[start + np.uint64(i)]
        while own_x - x[start + np.uint64(first)] > max_distance_x:
            first += 1
        first = max(first, i - max_iterations)
        if own_x != x[start + np.uint64(group)]:
            group = i
        if visits_all:
            best, predecessor = _best_of_all(table, penalties, max_distance_y, first, group, i)
            last_visited = first - 1
        else:
            best, predecessor, last_visited = _best_with_skips(
                table, penalties, max_distance_y, max_skip, first, group, i
            )
        if peak < 0 or own_x - x[start + np.uint64(peak)] > max_distance_x:
            peak = _nearest_peak(table, first, i)
        if 0 <= peak < min(last_visited, group):
            score = _score(table, penalties, max_distance_y, np.uint64(i), np.uint64(peak))
            if score > best:
                best, predecessor = score, np.int32(peak)
        table[SCORE, np.uint64(i)] = best
        table[PREDECESSOR, np.uint64(i)] = predecessor
        if peak < 0 or best > table[SCORE, np.uint64(peak)]:
            peak = i
    return _Reach(first, group, peak)


@njit_inlined
def _score(
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    max_distance_y: Integer,
    i: Integer,
    j: Integer,
) -> Integer:
    """Return the score of the best chain over anchor j to i; `_NO_SCORE` if not allowed."""
    score, _, query_step, gap = pair_score(table, penalties, i, j)
    allowed = (np.uint32(query_step - 1) < max_distance_y) & (gap < np.uint32(penalties.size))
    return score if allowed else _NO_SCORE


@njit_inlined
def _best_of_all(
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    max_distance_y: Integer,
    first: Integer,
    group: Integer,
    i: Integer,
) -> tuple[Integer, Integer]:
    """Return score and predecessor of anchor i, visiting all from `first` to `group`.

    The highest score is searched block by block, then its anchor in the nearest block with it.
    """
    best = table[SPAN, np.uint64(i)]
    nearest: Integer = np.int64(NONE)
    end = group
    while end > first:
        start = max(first, end - _BLOCK)
        highest: Integer = _NO_SCORE
        for j in range(np.uint64(start), np.uint64(end)):
            score = _score(table, penalties, max_distance_y, np.uint64(i), j)
            highest = score if score > highest else highest  # noqa: FURB136  (max() costs the vectorisation)
        if highest > best:
            best, nearest = highest, end - 1
        end = start
    if nearest >= 0:
        while _score(table, penalties, max_distance_y, np.uint64(i), np.uint64(nearest)) != best:
            nearest -= 1
    return best, np.int32(nearest)


@njit_inlined
def _best_with_skips(
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    max_distance_y: Integer,
    max_skip: Integer,
    first: Integer,
    group: Integer,
    i: Integer,
) -> tuple[Integer, Integer, Integer]:
    """Return score and predecessor of anchor i, and the anchor at which the search stopped.

    That anchor is `first` - 1 if the search visited all. The predecessors of visited anchors are
    marked with i. A marked anchor that does not improve the score adds 1 to `skipped`, an
    improvement subtracts 1.
    """
    best, predecessor = table[SPAN, np.uint64(i)], NONE
    skipped: Integer = np.int64(0)
    for j in range(group - 1, first - 1, -1):
        score = _score(table, penalties, max_distance_y, np.uint64(i), np.uint64(j))
        if score == _NO_SCORE:
            continue
        if score > best:
            best, predecessor = score, np.int32(j)
            skipped = max(skipped - 1, 0)
        elif table[MARK, np.uint64(j)] == i:
            skipped += 1
            if skipped > max_skip:
                return best, predecessor, j
        before = table[PREDECESSOR, np.uint64(j)]
        if before >= 0:
            table[MARK, np.uint64(before)] = i
    return best, predecessor, first - 1


@njit_inlined
def _nearest_peak(table: NDArray[np.int32], first: Integer, i: Integer) -> Integer:
    """Return the anchor from `first` to i with the highest score, the nearest of ties."""
    peak: Integer = np.int64(NONE)
    highest = _NO_SCORE
    for j in range(i - 1, first - 1, -1):
        score = table[SCORE, np.uint64(j)]
        if score > highest:
            peak, highest = j, score
    return peak

"""Chaining on the CPU: the best chain that ends at each anchor, by dynamic programming.

The recursion is that of minimap2 (Li 2018, Bioinformatics 34:3094, and Li 2021, Bioinformatics
37:4572): predecessors are visited from the nearest to the farthest, and the search is given up
when too many of them lie on chains that were visited already. Without that rule, as Sadasivan et
al. (2023) chain, predecessors are scored independently of each other, several at a time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.scores.pair_score import (
    MARK,
    NONE,
    PREDECESSOR,
    ROWS,
    SCORE,
    SPAN,
    fill_table,
    pair_score,
)
from hapgpu.runtime.jit import njit, njit_inlined

_NEVER: Final = np.int32(-(2**31))
_BLOCK: Final = 256


def chain_scores(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    """Find the best chain that ends at each anchor, in one thread.

    Parameters
    ----------
    anchors
        Of n reads, each with fewer than 2**31 anchors at positions below 2**31.
    parameters
        Where `max_skip` is at least `max_iterations`, every predecessor is visited.
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
        scores,
        predecessors,
    )
    return ChainScores(scores, predecessors)


@njit
def _score_reads(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    reach_x: Integer,
    reach_y: Integer,
    penalties: NDArray[np.int32],
    max_skip: Integer,
    max_iterations: Integer,
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
) -> None:
    """Put scores and predecessors of all anchors into arrays, read by read."""
    longest: Integer = np.int64(0)
    for read in range(offsets.size - 1):
        longest = max(longest, offsets[read + 1] - offsets[read])
    table = np.empty((ROWS, longest), dtype=np.int32)
    for read in range(offsets.size - 1):
        begin = np.uint64(offsets[read])
        count = np.uint64(offsets[read + 1]) - begin
        fill_table(x, y, begin, count, table)
        _score_read(x, begin, count, table, reach_x, reach_y, penalties, max_skip, max_iterations)
        for k in range(count):
            scores[begin + k] = table[SCORE, k]
            predecessors[begin + k] = table[PREDECESSOR, k]


@njit_inlined
def _score_read(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    x: NDArray[np.uint64],
    begin: Integer,
    count: Integer,
    table: NDArray[np.int32],
    reach_x: Integer,
    reach_y: Integer,
    penalties: NDArray[np.int32],
    max_skip: Integer,
    max_iterations: Integer,
) -> None:
    """Put scores and predecessors of the anchors of one read into its table."""
    visits_all = max_skip >= max_iterations
    # Anchors from `first` on are in reach, those from `group` on at the same place of the
    # reference, and of those in reach `peak` had the highest score when that was looked up last.
    first: Integer = np.int64(0)
    group: Integer = np.int64(0)
    peak: Integer = np.int64(NONE)
    for i in range(np.int64(count)):
        place = x[begin + np.uint64(i)]
        while place - x[begin + np.uint64(first)] > reach_x:
            first += 1
        first = max(first, i - max_iterations)
        if place != x[begin + np.uint64(group)]:
            group = i
        if visits_all:
            best, predecessor = _best_of_all(table, penalties, reach_y, first, group, i)
            stop = first - 1
        else:
            best, predecessor, stop = _best_until_skipped(
                table, penalties, reach_y, max_skip, first, group, i
            )
        if peak < 0 or place - x[begin + np.uint64(peak)] > reach_x:
            peak = _nearest_peak(table, first, i)
        if 0 <= peak < min(stop, group):
            score = _score(table, penalties, reach_y, np.uint64(i), np.uint64(peak))
            if score > best:
                best, predecessor = score, np.int32(peak)
        table[SCORE, np.uint64(i)] = best
        table[PREDECESSOR, np.uint64(i)] = predecessor
        if peak < 0 or best > table[SCORE, np.uint64(peak)]:
            peak = i


@njit_inlined
def _score(
    table: NDArray[np.int32], penalties: NDArray[np.int32], reach_y: Integer, i: Integer, j: Integer
) -> Any:
    """Return the score of the best chain over anchor j to anchor i; `_NEVER` if none may go so."""
    score, _, query_step, gap = pair_score(table, penalties, i, j)
    allowed = (np.uint32(query_step - 1) < reach_y) & (gap < np.uint32(penalties.size))
    return score if allowed else _NEVER


@njit_inlined
def _best_of_all(
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    reach_y: Integer,
    first: Integer,
    group: Integer,
    i: Integer,
) -> Any:
    """Return score and predecessor of anchor i, visiting all from `first` to `group`.

    The highest score is found block by block, then, in the nearest block that has it, the anchor.
    """
    best = table[SPAN, np.uint64(i)]
    nearest: Integer = np.int64(NONE)
    end = group
    while end > first:
        begin = max(first, end - _BLOCK)
        highest = _NEVER
        for j in range(np.uint64(begin), np.uint64(end)):
            score = _score(table, penalties, reach_y, np.uint64(i), j)
            highest = score if score > highest else highest  # noqa: FURB136  (max() costs the vectorisation)
        if highest > best:
            best, nearest = highest, end - 1
        end = begin
    if nearest >= 0:
        while _score(table, penalties, reach_y, np.uint64(i), np.uint64(nearest)) != best:
            nearest -= 1
    return best, np.int32(nearest)


@njit_inlined
def _best_until_skipped(  # noqa: PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    reach_y: Integer,
    max_skip: Integer,
    first: Integer,
    group: Integer,
    i: Integer,
) -> Any:
    """Return score and predecessor of anchor i, and the anchor at which the search was given up.

    That is `first` - 1 if it was not. The predecessors of visited anchors are marked with i; a
    marked one that is no improvement counts against the search, an improvement in its favour.
    """
    best, predecessor = table[SPAN, np.uint64(i)], NONE
    skipped: Integer = np.int64(0)
    for j in range(group - 1, first - 1, -1):
        score = _score(table, penalties, reach_y, np.uint64(i), np.uint64(j))
        if score == _NEVER:
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
def _nearest_peak(table: NDArray[np.int32], first: Integer, i: Integer) -> Any:
    """Return the anchor from `first` to i with the highest score, the nearest of several."""
    peak: Integer = np.int64(NONE)
    highest = _NEVER
    for j in range(i - 1, first - 1, -1):
        score = table[SCORE, np.uint64(j)]
        if score > highest:
            peak, highest = j, score
    return peak

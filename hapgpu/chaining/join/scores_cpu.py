"""Scores of chains over long gaps: the best chain that ends at each anchor of one read.

As minimap2 joins chains (Li 2021, Bioinformatics 37:4572), an anchor tries two kinds of
predecessors. Among all within the long distance it takes the one of highest priority, which is
its score and what it does not lose by lying near; and where the two do not overlap on one
diagonal, it visits those within a short distance one by one, the nearest in the read first.

minimap2 keeps both in search trees. Here the highest priority is looked for block by block among
anchors in the order of the reference, from the nearest on: nearly always the first block has one
that is higher than any before it. Where it has not, as in a read that goes over the same stretch of
the reference many times, anchors that lie near in the read are looked at instead. Those to visit
are bits in the order of the read.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.scores.pair_score import (
    MARK,
    NONE,
    PREDECESSOR,
    QUERY,
    ROWS,
    SCORE,
    SPAN,
    TARGET,
    fill_table,
    pair_score,
)
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_BLOCK_BITS: Final = 4
_BLOCK: Final = 1 << _BLOCK_BITS
_MAX_BLOCKS: Final = 64
_UNKNOWN: Final = -2
_0, _1, _6, _32, _63, _LOW_WORD = map(np.uint64, (0, 1, 6, 32, 63, 2**32 - 1))


class JoinNumbers(NamedTuple):
    """The numbers of `JoinParameters`; `half_slope` is half the slope."""

    max_distance: int
    inner_distance: int
    max_candidates: int
    half_slope: float
    max_skip: int


class JoinSpace(NamedTuple):
    """Working arrays for reads of up to a number of anchors.

    Attributes
    ----------
    table
        As in `links`.
    priorities
        Of the anchors.
    tops, lowest, highest
        Of blocks of anchors: highest priority, lowest and highest place in the read.
    ceilings
        Of blocks: highest priority in it and those before it.
    keys, by_query
        Place in the read << 32 | anchor, and the anchor, in the order of the read.
    ranks
        Where an anchor stands in that order.
    floors
        Where the first of those at the same place in the read stands.
    active
        One bit for each rank: anchors within the short distance.
    """

    table: NDArray[np.int32]
    priorities: NDArray[np.float64]
    tops: NDArray[np.float64]
    lowest: NDArray[np.int32]
    highest: NDArray[np.int32]
    ceilings: NDArray[np.float64]
    keys: NDArray[np.uint64]
    by_query: NDArray[np.uint64]
    ranks: NDArray[np.uint64]
    floors: NDArray[np.uint64]
    active: NDArray[np.uint64]


@njit
def join_space(anchors: Integer) -> JoinSpace:
    """Return working arrays for reads of up to so many anchors."""
    blocks = (anchors >> _BLOCK_BITS) + 1
    return JoinSpace(
        np.empty((ROWS, anchors), dtype=np.int32),
        np.empty(anchors, dtype=np.float64),
        np.empty(blocks, dtype=np.float64),
        np.empty(blocks, dtype=np.int32),
        np.empty(blocks, dtype=np.int32),
        np.empty(blocks, dtype=np.float64),
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        np.empty((anchors >> 6) + 1, dtype=np.uint64),
    )


@njit
def score_joins(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    count: Integer,
    penalties: NDArray[np.int32],
    numbers: JoinNumbers,
    space: JoinSpace,
) -> None:
    """Put scores and predecessors of the first `count` anchors, sorted by x, into the table."""
    table, priorities = space.table, space.priorities
    tops, lowest, highest, ceilings = space.tops, space.lowest, space.highest, space.ceilings
    by_query, ranks, floors, active = space.by_query, space.ranks, space.floors, space.active
    reach, inner_reach = np.uint64(numbers.max_distance), np.uint64(numbers.inner_distance)
    max_distance, inner_distance = numbers.max_distance, numbers.inner_distance
    half_slope, max_skip, most = numbers.half_slope, numbers.max_skip, numbers.max_candidates
    fill_table(x, y, _0, np.uint64(count), table)
    _order_by_query(table, count, space.keys, by_query, ranks, floors, active)
    # Anchors from `first` on are in reach, from `inner` on also in the short one, and those from
    # `group` on are at the same place of the reference.
    first: Integer = np.int64(0)
    inner: Integer = np.int64(0)
    group: Integer = np.int64(0)
    for i in range(count):
        here = np.uint64(i)
        if x[here] != x[np.uint64(group)]:
            for j in range(np.uint64(group), here):
                active[ranks[j] >> _6] |= _1 << (ranks[j] & _63)
            group = i
        while x[here] - x[np.uint64(first)] > reach or group - first > most:
            first += 1
        while x[here] - x[np.uint64(inner)] > inner_reach or group - inner > most:
            rank = ranks[np.uint64(inner)]
            active[rank >> _6] &= ~(_1 << (rank & _63))
            inner += 1
        best, predecessor = table[SPAN, here], NONE
        farthest = _of_highest_priority(
            table, priorities, tops, lowest, highest, ceilings, first, group, i, max_distance
        )
        if farthest == _UNKNOWN:
            farthest = _highest_in_read(
                table, priorities, by_query, floors, first, group, i, max_distance
            )
        if farthest >= 0:
            other = np.uint64(farthest)
            score, _, query_step, gap = pair_score(table, penalties, here, other)
            if gap < np.uint32(penalties.size) and score > best:
                best, predecessor = score, np.int32(farthest)
            if gap != 0 or query_step > table[SPAN, other]:
                best, predecessor = _best_nearby(
                    table,
                    penalties,
                    by_query,
                    floors,
                    active,
                    inner_distance,
                    max_skip,
                    i,
                    best,
                    predecessor,
                )
        table[SCORE, here] = best
        table[PREDECESSOR, here] = predecessor
        places = np.int64(table[TARGET, here]) + np.int64(table[QUERY, here])
        priorities[here] = best + half_slope * places
        _add_to_block(table, priorities, tops, lowest, highest, ceilings, first, here)


@njit_inlined
def _order_by_query(  # noqa: PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    count: Integer,
    keys: NDArray[np.uint64],
    by_query: NDArray[np.uint64],
    ranks: NDArray[np.uint64],
    floors: NDArray[np.uint64],
    active: NDArray[np.uint64],
) -> None:
    """Rank anchors by place in the read, and then by that on the reference; none is active."""
    for k in range(np.uint64(count)):
        keys[k] = np.uint64(table[QUERY, k]) << _32 | k
        by_query[k] = k
    radix_sort(keys, by_query, 0, count)
    floor: Integer = _0
    for rank in range(np.uint64(count)):
        if keys[rank] >> _32 != keys[floor] >> _32:
            floor = rank
        ranks[by_query[rank]] = rank
        floors[by_query[rank]] = floor
    for word in range((np.uint64(count) >> _6) + _1):
        active[word] = _0


@njit_inlined
def _add_to_block(  # noqa: PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    priorities: NDArray[np.float64],
    tops: NDArray[np.float64],
    lowest: NDArray[np.int32],
    highest: NDArray[np.int32],
    ceilings: NDArray[np.float64],
    first: Integer,
    anchor: Integer,
) -> None:
    """Let the block of an anchor know of it; blocks all before `first` are never asked again."""
    block = anchor >> np.uint64(_BLOCK_BITS)
    priority, query = priorities[anchor], table[QUERY, anchor]
    if anchor == block << np.uint64(_BLOCK_BITS):
        tops[block], lowest[block], highest[block] = priority, query, query
    else:
        tops[block] = max(tops[block], priority)
        lowest[block] = min(lowest[block], query)
        highest[block] = max(highest[block], query)
    ceilings[block] = tops[block]
    if np.int64(block) > first >> _BLOCK_BITS:
        ceilings[block] = max(tops[block], ceilings[block - _1])


@njit_inlined
def _of_highest_priority(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    priorities: NDArray[np.float64],
    tops: NDArray[np.float64],
    lowest: NDArray[np.int32],
    highest: NDArray[np.int32],
    ceilings: NDArray[np.float64],
    first: Integer,
    group: Integer,
    i: Integer,
    max_distance: Integer,
) -> Any:
    """Return the anchor of highest priority, the first of several; -1 if none can precede i.

    It is one from `first` to `group` that lies before i in the read by less than the distance;
    the very first anchor of the read may lie beside i. `_UNKNOWN` if many blocks did not settle it.
    """
    query = np.int64(table[QUERY, np.uint64(i)])
    chosen: Integer = np.int64(NONE)
    top = -1.0
    end = group
    searched = np.int64(0)
    while end > first:
        block = (end - 1) >> _BLOCK_BITS
        begin = max(first, block << _BLOCK_BITS)
        here = np.uint64(block)
        if ceilings[here] < top:
            break
        is_hopeless = end - begin == _BLOCK and (
            tops[here] < top or lowest[here] > query or highest[here] <= query - max_distance
        )
        if not is_hopeless:
            searched += 1
            if searched > _MAX_BLOCKS:
                return np.int64(_UNKNOWN)
            for j in range(end - 1, begin - 1, -1):
                other = np.int64(table[QUERY, np.uint64(j)])
                if priorities[np.uint64(j)] >= top and query - max_distance < other < query + (
                    j == 0
                ):
                    chosen, top = j, priorities[np.uint64(j)]
        end = begin
    return chosen


@njit
def _highest_in_read(  # noqa: PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    priorities: NDArray[np.float64],
    by_query: NDArray[np.uint64],
    floors: NDArray[np.uint64],
    first: Integer,
    group: Integer,
    i: Integer,
    max_distance: Integer,
) -> Any:
    """Return what `_of_highest_priority` does, from those in the read's order."""
    query = np.int64(table[QUERY, np.uint64(i)])
    chosen: Integer = np.int64(NONE)
    top = -1.0
    if first == 0 and np.int64(table[QUERY, _0]) == query:
        chosen, top = np.int64(0), priorities[_0]
    rank = floors[np.uint64(i)]
    while rank > _0:
        rank -= _1
        other = by_query[rank]
        if np.int64(table[QUERY, other]) <= query - max_distance:
            break
        j = np.int64(other)
        if first <= j < group and (
            priorities[other] > top or (priorities[other] == top and j < chosen)
        ):
            chosen, top = j, priorities[other]
    return chosen


@njit_inlined
def _best_nearby(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    table: NDArray[np.int32],
    penalties: NDArray[np.int32],
    by_query: NDArray[np.uint64],
    floors: NDArray[np.uint64],
    active: NDArray[np.uint64],
    inner_distance: Integer,
    max_skip: Integer,
    i: Integer,
    best: Integer,
    predecessor: Integer,
) -> Any:
    """Return score and predecessor of anchor i, improved by active ones before it in the read.

    They are visited from the nearest on, by the same rule as in `cpu.chain_scores`.
    """
    here = np.uint64(i)
    least = np.int64(table[QUERY, here]) - inner_distance
    skipped: Integer = np.int64(0)
    rank = np.int64(floors[here])
    while True:
        rank = _next_active(table, by_query, active, np.uint64(rank), least)
        if rank < 0:
            return best, predecessor
        other = by_query[np.uint64(rank)]
        score, _, _, gap = pair_score(table, penalties, here, other)
        if gap >= np.uint32(penalties.size):
            continue
        if score > best:
            best, predecessor = score, np.int32(other)
            skipped = max(skipped - 1, 0)
        elif table[MARK, other] == i:
            skipped += 1
            if skipped > max_skip:
                return best, predecessor
        before = table[PREDECESSOR, other]
        if before >= 0:
            table[MARK, np.uint64(before)] = i


@njit_inlined
def _next_active(
    table: NDArray[np.int32],
    by_query: NDArray[np.uint64],
    active: NDArray[np.uint64],
    rank: Integer,
    least: Integer,
) -> Any:
    """Return the highest active rank below `rank`; -1 if none lies from `least` on in the read."""
    word = rank >> _6
    bits = active[word] & ((_1 << (rank & _63)) - _1)
    while bits == _0:
        if word == _0 or table[QUERY, by_query[(word << _6) - _1]] < least:
            return np.int64(NONE)
        word -= _1
        bits = active[word]
    found = word << _6 | (_63 - leading_zeros(bits))
    return np.int64(found if table[QUERY, by_query[found]] >= least else NONE)

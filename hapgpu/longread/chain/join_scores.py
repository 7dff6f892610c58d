"""Scores of the long join: the best chain over long gaps that ends at each anchor of one read.

As in minimap2 (Li 2021, Bioinformatics 37:4572), an anchor has two kinds of predecessors. The far
predecessor is the anchor of highest priority within the long distance; the priority is its score
plus a bonus for being near. Unless the two anchors overlap on one diagonal, the near predecessors
are visited as well: all within a short distance, the nearest in the read first.

minimap2 keeps both kinds in search trees. Here the highest priority is searched block by block, in
the order of the reference, from the nearest block on: nearly always the first block has a higher
priority than any block before it. If not, as in a read that repeats one part of the reference many
times, the anchors are searched in the order of the read: one by one, and if that happens often, in
a tree. Near predecessors are bits in the order of the read.

A read of many anchors is scored tile by tile. A tile begins with the scored anchors that the others
may visit.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import leading_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.longread.chain.pair_score import (
    MARK,
    NONE,
    PREDECESSOR,
    QUERY,
    ROWS,
    SCORE,
    SPAN,
    TARGET,
    fill_table,
    move_columns,
    pair_score,
)
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_BLOCK_BITS: Final = 4
_BLOCK: Final = 1 << _BLOCK_BITS
_MAX_BLOCKS: Final = 64
_UNKNOWN: Final = -2
_MAX_SEARCHES: Final = 16
"""Most searches in the order of the read, before a tree is made for them."""
_0, _1, _6, _32, _63 = map(np.uint64, (0, 1, 6, 32, 63))


class JoinLimits(NamedTuple):
    """`JoinParameters` for compiled code; `half_slope` is half the slope."""

    max_distance: int
    inner_distance: int
    max_candidates: int
    half_slope: float
    max_skip: int


class JoinSpace(NamedTuple):
    """Working arrays for one read of at most a anchors, in b blocks.

    Attributes
    ----------
    table
        int32[ROWS, a]: as in `pair_score`.
    priorities
        float64[a]: priority of each anchor.
    tops, lowest, highest
        float64[b], int32[b], int32[b]: highest priority, lowest and highest position in the read,
        per block of anchors.
    ceilings
        float64[b]: highest priority in a block and the blocks before it.
    keys, by_query
        uint64[a]: position in the read << 32 | anchor, and the anchor, in the order of the read.
    ranks
        uint64[a]: rank of each anchor in the order of the read.
    floors
        uint64[a]: lowest rank of an anchor at the same position in the read.
    active
        uint64[a // 64 + 1], one bit per rank: 1 for anchors within the short distance.
    tree
        int32[2 a], tree over the ranks: the anchor of highest priority below each node; see
        `_Tree`.
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
    tree: NDArray[np.int32]


class _Tree(NamedTuple):
    """State of the tree: rank r is node `size + r`, and node k has the children 2k and 2k + 1.

    Attributes
    ----------
    size
        Number of ranks.
    first, end
        Anchors in the tree.
    searches
        Searches so far: the first ones go through the ranks one by one, without the tree.
    """

    size: Integer
    first: Integer
    end: Integer
    searches: Integer


@njit
def join_space(anchors: Integer) -> JoinSpace:
    """Return working arrays for at most `anchors` anchors of a read."""
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
        np.empty(2 * anchors, dtype=np.int32),
    )


@njit
def score_joins(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    count: Integer,
    penalties: NDArray[np.int32],
    limits: JoinLimits,
    space: JoinSpace,
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
) -> JoinSpace:
    """Set scores and predecessors of the first `count` anchors, sorted by x, tile by tile.

    Parameters
    ----------
    x, y
        uint64[a]: as in `Anchors`.
    count
        Number of anchors.
    penalties
        int32[bandwidth + 1]: gap cost by difference of diagonals.
    limits
        Limits on predecessors.
    space
        Working arrays.
    scores, predecessors
        int32[a], set: as in `ChainScores`.

    Returns
    -------
    JoinSpace
        The working arrays, which may be larger ones.
    """
    start: Integer = np.int64(0)
    scored: Integer = np.int64(0)
    while True:
        table = space.table
        columns = min(count - start, table.shape[1])
        end = start + columns
        kept = _score_tile(x[start:end], y[start:end], scored, start == 0, penalties, limits, space)
        for k in range(scored, columns):
            predecessor = table[PREDECESSOR, k]
            scores[start + k] = table[SCORE, k]
            predecessors[start + k] = predecessor + (start if predecessor >= 0 else 0)
        if end == count:
            return space
        scored = columns - kept
        move_columns(table, kept, columns)
        if 2 * scored > table.shape[1]:
            space = _grown(space, 4 * scored)
        start += kept


@njit
def _grown(space: JoinSpace, anchors: Integer) -> JoinSpace:
    """Return larger working arrays with the same table."""
    grown = join_space(anchors)
    for row in range(ROWS):
        for k in range(space.table.shape[1]):
            grown.table[row, k] = space.table[row, k]
    return grown


@njit
def _score_tile(  # noqa: C901  (one loop; Numba: no keyword-only arguments)
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    scored: Integer,
    is_first: Integer,
    penalties: NDArray[np.int32],
    limits: JoinLimits,
    space: JoinSpace,
) -> Integer:
    """Score the anchors of a tile in the table, of which the first `scored` have scores.

    Return the first anchor that later ones may visit. `is_first`: the tile starts the read.
    """
    count = x.size
    table, priorities, ranks, active = space.table, space.priorities, space.ranks, space.active
    far_limit, near_limit = np.uint64(limits.max_distance), np.uint64(limits.inner_distance)
    max_distance, max_candidates = limits.max_distance, limits.max_candidates
    zero = np.int64(0 if is_first else NONE)
    fill_table(x, y, _0, _0, np.uint64(count), table)
    _order_by_query(space, count)
    tree = _Tree(np.int64(count), np.int64(0), np.int64(0), np.int64(0))
    # Anchors from `first` on are within the long distance, from `first_near` on within the short
    # distance; anchors from `group` on have the same position on the reference.
    first: Integer = np.int64(0)
    first_near: Integer = np.int64(0)
    group: Integer = np.int64(0)
    for i in range(count):
        own = np.uint64(i)
        if x[own] != x[np.uint64(group)]:
            for j in range(np.uint64(group), own):
                active[ranks[j] >> _6] |= _1 << (ranks[j] & _63)
            group = i
        while x[own] - x[np.uint64(first)] > far_limit or group - first > max_candidates:
            first += 1
        while x[own] - x[np.uint64(first_near)] > near_limit or group - first_near > max_candidates:
            rank = ranks[np.uint64(first_near)]
            active[rank >> _6] &= ~(_1 << (rank & _63))
            first_near += 1
        best, predecessor = table[SCORE, own], table[PREDECESSOR, own]
        far_anchor: Integer = np.int64(NONE)
        if i >= scored:
            best, predecessor = table[SPAN, own], NONE
            far_anchor = _highest_priority(space, first, group, i, max_distance, zero)
        if far_anchor == _UNKNOWN:
            tree = _moved_tree(space, tree, first, group)
            if tree.searches > _MAX_SEARCHES:
                far_anchor = _highest_priority_in_tree(space, tree, i, max_distance, zero)
            else:
                far_anchor = _highest_priority_by_query(space, first, group, i, max_distance, zero)
        if far_anchor >= 0:
            candidate = np.uint64(far_anchor)
            score, _, query_step, gap = pair_score(table, penalties, own, candidate)
            if gap < np.uint32(penalties.size) and score > best:
                best, predecessor = score, np.int32(far_anchor)
            if gap != 0 or query_step > table[SPAN, candidate]:
                best, predecessor = _best_near(space, penalties, limits, i, best, predecessor)
        table[SCORE, own] = best
        table[PREDECESSOR, own] = predecessor
        # No function of its own: with one, the loop takes a quarter longer.
        positions = np.int64(table[TARGET, own]) + np.int64(table[QUERY, own])
        priorities[own] = best + limits.half_slope * positions
        _add_to_block(space, first, own)
    return min(first, first_near)


@njit_inlined
def _order_by_query(space: JoinSpace, count: Integer) -> None:
    """Rank anchors by position in the read, then on the reference; set none active."""
    table, keys, by_query = space.table, space.keys, space.by_query
    ranks, floors, active = space.ranks, space.floors, space.active
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
def _add_to_block(space: JoinSpace, first: Integer, anchor: Integer) -> None:
    """Add an anchor to its block; blocks entirely before `first` are not used any more."""
    tops, lowest, highest, ceilings = space.tops, space.lowest, space.highest, space.ceilings
    block = anchor >> np.uint64(_BLOCK_BITS)
    priority, query = space.priorities[anchor], space.table[QUERY, anchor]
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
def _highest_priority(
    space: JoinSpace,
    first: Integer,
    group: Integer,
    i: Integer,
    max_distance: Integer,
    zero: Integer,
) -> Integer:
    """Return the anchor of highest priority, the first of ties; -1 if none can precede i.

    Candidates are the anchors from `first` to `group`, in the read before i by less than
    `max_distance`; the anchor `zero` may have the same position in the read as i. Return `_UNKNOWN`
    if the search would take more than `_MAX_BLOCKS` blocks.
    """
    table, priorities, tops = space.table, space.priorities, space.tops
    lowest, highest, ceilings = space.lowest, space.highest, space.ceilings
    query = np.int64(table[QUERY, np.uint64(i)])
    chosen: Integer = np.int64(NONE)
    top = -1.0
    end = group
    searched = np.int64(0)
    while end > first:
        block = (end - 1) >> _BLOCK_BITS
        start = max(first, block << _BLOCK_BITS)
        block_row = np.uint64(block)
        if ceilings[block_row] < top:
            break
        is_hopeless = end - start == _BLOCK and (
            tops[block_row] < top
            or lowest[block_row] > query
            or highest[block_row] <= query - max_distance
        )
        if not is_hopeless:
            searched += 1
            if searched > _MAX_BLOCKS:
                return np.int64(_UNKNOWN)
            for j in range(end - 1, start - 1, -1):
                position = np.int64(table[QUERY, np.uint64(j)])
                if priorities[np.uint64(j)] >= top and query - max_distance < position < query + (
                    j == zero
                ):
                    chosen, top = j, priorities[np.uint64(j)]
        end = start
    return chosen


@njit
def _highest_priority_by_query(
    space: JoinSpace,
    first: Integer,
    group: Integer,
    i: Integer,
    max_distance: Integer,
    zero: Integer,
) -> Integer:
    """Return the same as `_highest_priority`, searching in the order of the read."""
    table, priorities, by_query = space.table, space.priorities, space.by_query
    query = np.int64(table[QUERY, np.uint64(i)])
    chosen: Integer = np.int64(NONE)
    top = -1.0
    if first == zero and np.int64(table[QUERY, _0]) == query:
        chosen, top = np.int64(0), priorities[_0]
    rank = space.floors[np.uint64(i)]
    while rank > _0:
        rank -= _1
        candidate = by_query[rank]
        if np.int64(table[QUERY, candidate]) <= query - max_distance:
            break
        j = np.int64(candidate)
        if first <= j < group and (
            priorities[candidate] > top or (priorities[candidate] == top and j < chosen)
        ):
            chosen, top = j, priorities[candidate]
    return chosen


@njit
def _moved_tree(space: JoinSpace, tree: _Tree, first: Integer, end: Integer) -> _Tree:
    """Count a search; remove the anchors before `first` from the tree, add those up to `end`."""
    if tree.searches < _MAX_SEARCHES:
        return _Tree(tree.size, tree.first, tree.end, tree.searches + 1)
    if tree.searches == _MAX_SEARCHES:
        for node in range(2 * tree.size):
            space.tree[node] = NONE
    for anchor in range(tree.first, min(first, tree.end)):
        _put_in_tree(space, tree.size, np.uint64(anchor), NONE)
    for anchor in range(max(first, tree.end), end):
        _put_in_tree(space, tree.size, np.uint64(anchor), np.int32(anchor))
    return _Tree(tree.size, first, end, tree.searches + 1)


@njit_inlined
def _put_in_tree(space: JoinSpace, size: Integer, anchor: Integer, value: Integer) -> None:
    """Set the leaf of an anchor to the anchor or `NONE`."""
    nodes, priorities = space.tree, space.priorities
    node = np.uint64(size) + space.ranks[anchor]
    nodes[node] = value
    while node > _1:
        better = _better(priorities, nodes[node], nodes[node ^ _1])
        node >>= _1
        nodes[node] = better


@njit_inlined
def _better(priorities: NDArray[np.float64], one: Integer, other: Integer) -> Integer:
    """Return the anchor of higher priority, the first of ties; `NONE` is no anchor."""
    if one < 0:
        return other
    if other < 0:
        return one
    difference = priorities[np.uint64(one)] - priorities[np.uint64(other)]
    return one if difference > 0 or (difference == 0 and one < other) else other


@njit
def _highest_priority_in_tree(
    space: JoinSpace, tree: _Tree, i: Integer, max_distance: Integer, zero: Integer
) -> Integer:
    """Return the same as `_highest_priority`, of the anchors in the tree."""
    table, by_query, nodes = space.table, space.by_query, space.tree
    query = np.int64(table[QUERY, np.uint64(i)])
    chosen: Integer = NONE
    if tree.first == zero and np.int64(table[QUERY, _0]) == query:
        chosen = np.int32(0)
    low, high = _0, space.floors[np.uint64(i)]
    end = high
    while low < high:
        middle = (low + high) >> _1
        if np.int64(table[QUERY, by_query[middle]]) <= query - max_distance:
            low = middle + _1
        else:
            high = middle
    node, node_end = low + np.uint64(tree.size), end + np.uint64(tree.size)
    while node < node_end:
        if node & _1:
            chosen = _better(space.priorities, chosen, nodes[node])
            node += _1
        if node_end & _1:
            node_end -= _1
            chosen = _better(space.priorities, chosen, nodes[node_end])
        node >>= _1
        node_end >>= _1
    return np.int64(chosen)


@njit_inlined
def _best_near(
    space: JoinSpace,
    penalties: NDArray[np.int32],
    limits: JoinLimits,
    i: Integer,
    best: Integer,
    predecessor: Integer,
) -> tuple[Integer, Integer]:
    """Return score and predecessor of anchor i after visiting the active anchors before it.

    They are visited from the nearest in the read on, and skipped as in `scores.cpu.chain_scores`.
    """
    table, by_query, floors, active = space.table, space.by_query, space.floors, space.active
    own = np.uint64(i)
    min_position = np.int64(table[QUERY, own]) - limits.inner_distance
    skipped: Integer = np.int64(0)
    rank: Integer = np.int64(floors[own])
    while True:
        rank = _next_active(table, by_query, active, np.uint64(rank), min_position)
        if rank < 0:
            return best, predecessor
        candidate = by_query[np.uint64(rank)]
        score, _, _, gap = pair_score(table, penalties, own, candidate)
        if gap >= np.uint32(penalties.size):
            continue
        if score > best:
            best, predecessor = score, np.int32(candidate)
            skipped = max(skipped - 1, 0)
        elif table[MARK, candidate] == i:
            skipped += 1
            if skipped > limits.max_skip:
                return best, predecessor
        before = table[PREDECESSOR, candidate]
        if before >= 0:
            table[MARK, np.uint64(before)] = i


@njit_inlined
def _next_active(
    table: NDArray[np.int32],
    by_query: NDArray[np.uint64],
    active: NDArray[np.uint64],
    rank: Integer,
    min_position: Integer,
) -> Integer:
    """Return the highest active rank below `rank`; -1 if its position is below `min_position`."""
    word = rank >> _6
    bits = active[word] & ((_1 << (rank & _63)) - _1)
    while bits == _0:
        if word == _0 or table[QUERY, by_query[(word << _6) - _1]] < min_position:
            return np.int64(NONE)
        word -= _1
        bits = active[word]
    found = word << _6 | (_63 - leading_zeros(bits))
    return np.int64(found if table[QUERY, by_query[found]] >= min_position else NONE)

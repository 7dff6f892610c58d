"""Chains, traced back from their last anchors; the highest score first.

An anchor belongs to the first chain that takes it. A chain stops where extending it would only
lower its score (Li 2021, Bioinformatics 37:4572, and minimap2 since 2.24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.parameters import ChainParameters
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_1 = np.uint64(1)


class ChainLimits(NamedTuple):
    """Limits on chains: largest drop of the score on the way, fewest anchors, lowest score."""

    max_drop: int
    min_count: int
    min_score: int


class TracingSpace(NamedTuple):
    """Working arrays for one read of at most a anchors and their chains.

    Attributes
    ----------
    keys, order
        uint64[a], to sort by: keys, and the rows they belong to; perhaps the arrays x and y of the
        resulting chains.
    is_taken
        uint8[a], 0 or 1: the anchor belongs to a chain, or to a chain that is dropped.
    path
        int32[a]: the anchors of the chains, each chain from its last anchor back.
    path_ends
        int32[a]: the end of each chain in `path`.
    scores
        int32[a]: the score of each chain.
    ranked
        int32[a]: the chains in the order of their first anchors.
    """

    keys: NDArray[np.uint64]
    order: NDArray[np.uint64]
    is_taken: NDArray[np.uint8]
    path: NDArray[np.int32]
    path_ends: NDArray[np.int32]
    scores: NDArray[np.int32]
    ranked: NDArray[np.int32]


class ChainColumns(NamedTuple):
    """The arrays of `Chains` but `offsets`; of a result, large enough for the largest."""

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    anchor_offsets: NDArray[np.int64]
    scores: NDArray[np.int32]


def trace_chains(anchors: Anchors, scores: ChainScores, parameters: ChainParameters) -> Chains:
    """Trace the chains of each read, in one thread.

    Parameters
    ----------
    anchors
        Anchors of n reads.
    scores
        Scores of the anchors, from `chain_scores`.
    parameters
        Fewest anchors and lowest score of a chain; its score may drop by the bandwidth on the way.
    """
    limits = ChainLimits(parameters.bandwidth, parameters.min_count, parameters.min_score)
    columns = chain_columns(anchors.x.size, 0, limits)
    offsets = np.zeros(anchors.offsets.size, dtype=np.int64)
    _trace_reads(
        read_only(anchors.x),
        read_only(anchors.y),
        read_only(anchors.offsets),
        read_only(scores.scores),
        read_only(scores.predecessors),
        limits,
        columns,
        offsets,
    )
    return filled_chains(columns, offsets)


def chain_columns(anchors: int, chains: int, limits: ChainLimits) -> ChainColumns:
    """Return arrays for `anchors` anchors, their chains, and `chains` other chains.

    The system allocates memory only when it is written to.
    """
    max_chains = chains + anchors // max(limits.min_count, 1)
    anchor_offsets = np.empty(max_chains + 1, dtype=np.int64)
    anchor_offsets[0] = 0
    return ChainColumns(
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        anchor_offsets,
        np.empty(max_chains, dtype=np.int32),
    )


def filled_chains(columns: ChainColumns, offsets: NDArray[np.int64]) -> Chains:
    """Return the filled part of the arrays; `offsets`, int64[n + 1], are of the reads."""
    chains = int(offsets[-1])
    count = int(columns.anchor_offsets[chains])
    return Chains(
        columns.x[:count],
        columns.y[:count],
        columns.anchor_offsets[: chains + 1],
        columns.scores[:chains],
        offsets,
    )


@njit
def tracing_space(anchors: Integer, columns: ChainColumns) -> TracingSpace:
    """Return working arrays for reads of at most `anchors` anchors.

    If there are no others, memory of the resulting chains is used.
    """
    keys, order = columns.x, columns.y
    if anchors < keys.size:
        keys, order = np.empty(anchors, dtype=np.uint64), np.empty(anchors, dtype=np.uint64)
    return TracingSpace(
        keys,
        order,
        np.empty(anchors, dtype=np.uint8),
        np.empty(anchors, dtype=np.int32),
        np.empty(anchors, dtype=np.int32),
        np.empty(anchors, dtype=np.int32),
        np.empty(anchors, dtype=np.int32),
    )


@njit
def _trace_reads(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    anchor_offsets: NDArray[np.int64],
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    limits: ChainLimits,
    columns: ChainColumns,
    offsets: NDArray[np.int64],
) -> None:
    """Append the chains of each read."""
    longest: Integer = np.int64(0)
    for read in range(anchor_offsets.size - 1):
        longest = max(longest, anchor_offsets[read + 1] - anchor_offsets[read])
    space = tracing_space(longest, columns)
    for read in range(anchor_offsets.size - 1):
        read_start = np.uint64(anchor_offsets[read])
        count = np.uint64(anchor_offsets[read + 1]) - read_start
        offsets[read + 1] = trace_read(
            x, y, scores, predecessors, read_start, count, limits, space, columns, offsets[read]
        )


@njit
def trace_read(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    read_start: Integer,
    count: Integer,
    limits: ChainLimits,
    space: TracingSpace,
    columns: ChainColumns,
    chains: Integer,
) -> Integer:
    """Append the chains of the `count` anchors from `read_start` on to the columns.

    Parameters
    ----------
    x, y
        uint64[a]: as in `Anchors`.
    scores, predecessors
        int32[a]: as in `ChainScores`.
    read_start, count
        Anchors of the read.
    limits
        Limits on chains.
    space
        Working arrays for at least `count` anchors.
    columns
        Contain `chains` chains before.
    chains
        Number of chains before.

    Returns
    -------
    int
        Number of chains after.
    """
    keys, order, path, path_ends = space.keys, space.order, space.path, space.path_ends
    ends = _list_chain_ends(scores, read_start, count, limits.min_score, space)
    radix_sort(keys, order, 0, ends)
    found = _take_chains(scores, predecessors, read_start, ends, limits, space)
    for chain in range(found):
        keys[np.uint64(chain)] = x[read_start + np.uint64(path[np.uint64(path_ends[chain] - 1)])]
        order[np.uint64(chain)] = np.uint64(chain)
    radix_sort(keys, order, 0, found)
    for rank in range(found):
        space.ranked[np.uint64(rank)] = np.int32(order[np.uint64(rank)])
    _append_chains(x, y, read_start, found, space, columns, chains)
    return chains + found


@njit_inlined
def _list_chain_ends(
    scores: NDArray[np.int32],
    read_start: Integer,
    count: Integer,
    min_score: Integer,
    space: TracingSpace,
) -> Integer:
    """List the anchors at which a chain may end, with scores; return their number.

    All anchors are set to not taken.
    """
    keys, order, is_taken = space.keys, space.order, space.is_taken
    ends: Integer = np.int64(0)
    for k in range(count):
        is_taken[k] = 0
        score = scores[read_start + k]
        if score >= min_score:
            keys[np.uint64(ends)] = np.uint64(score)
            order[np.uint64(ends)] = k
            ends += 1
    return ends


@njit_inlined
def _take_chains(
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    read_start: Integer,
    ends: Integer,
    limits: ChainLimits,
    space: TracingSpace,
) -> Integer:
    """Append chains to the path, each from its last anchor back; return their number.

    Anchors of a chain that is too short or scores too low are taken as well.
    """
    order, is_taken, path = space.order, space.is_taken, space.path
    path_ends, chain_scores = space.path_ends, space.scores
    max_drop, min_count, min_score = limits.max_drop, limits.min_count, limits.min_score
    found: Integer = np.int64(0)
    size: Integer = np.int64(0)
    for rank in range(ends - 1, -1, -1):
        last = np.int64(order[np.uint64(rank)])
        if is_taken[np.uint64(last)]:
            continue
        before = _anchor_before_chain(scores, predecessors, read_start, is_taken, last, max_drop)
        path_start = size
        anchor = last
        while anchor != before:
            path[np.uint64(size)] = anchor
            is_taken[np.uint64(anchor)] = 1
            size += 1
            anchor = np.int64(predecessors[read_start + np.uint64(anchor)])
        score = np.int64(scores[read_start + np.uint64(last)])
        if before >= 0:
            score -= np.int64(scores[read_start + np.uint64(before)])
        if score >= min_score and size - path_start >= max(min_count, 1):
            path_ends[np.uint64(found)] = size
            chain_scores[np.uint64(found)] = score
            found += 1
        else:
            size = path_start
    return found


@njit_inlined
def _anchor_before_chain(
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    read_start: Integer,
    is_taken: NDArray[np.uint8],
    last: Integer,
    max_drop: Integer,
) -> Integer:
    """Return the anchor before the chain that ends at `last`; -1 if there is none.

    The chain is cut where its score is highest; the search stops once the score has dropped by more
    than `max_drop`.
    """
    last_score = np.int64(scores[read_start + np.uint64(last)])
    before, highest = last, np.int64(0)
    anchor = last
    while True:
        anchor = np.int64(predecessors[read_start + np.uint64(anchor)])
        score = last_score
        if anchor >= 0:
            score -= np.int64(scores[read_start + np.uint64(anchor)])
        if score > highest:
            before, highest = anchor, score
        elif highest - score > max_drop:
            return before
        if anchor < 0 or is_taken[np.uint64(anchor)]:
            return before


@njit_inlined
def _append_chains(
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    read_start: Integer,
    found: Integer,
    space: TracingSpace,
    columns: ChainColumns,
    chains: Integer,
) -> None:
    """Append the chains of the path in sorted order, each from its first anchor on."""
    ranked, path, path_ends, chain_scores = space.ranked, space.path, space.path_ends, space.scores
    out_x, out_y = columns.x, columns.y
    anchor_offsets, out_scores = columns.anchor_offsets, columns.scores
    row = np.uint64(anchor_offsets[np.uint64(chains)])
    for rank in range(found):
        chain = np.uint64(ranked[np.uint64(rank)])
        start = path_ends[chain - _1] if chain else np.int32(0)
        for k in range(path_ends[chain] - 1, start - 1, -1):
            anchor = read_start + np.uint64(path[np.uint64(k)])
            out_x[row], out_y[row] = x[anchor], y[anchor]
            row += _1
        out_scores[np.uint64(chains + rank)] = chain_scores[chain]
        anchor_offsets[np.uint64(chains + rank + 1)] = np.int64(row)

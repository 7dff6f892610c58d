"""Chains from the scores of anchors: traced back from their ends, the best first.

A chain takes anchors that none before it took, and ends where going on would lower its score for
good (Li 2021, Bioinformatics 37:4572, and minimap2 since 2.24).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.batches import Anchors, Chains, ChainScores
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_1, _ALL_TAKEN = np.uint64(1), np.uint8(1)


class ChainLimits(NamedTuple):
    """What a chain must be: how far its score may fall on the way, least anchors and score."""

    max_drop: int
    min_count: int
    min_score: int


class TracingSpace(NamedTuple):
    """Working arrays, each for all anchors of one read."""

    keys: NDArray[np.uint64]
    order: NDArray[np.uint64]
    is_taken: NDArray[np.uint8]
    path: NDArray[np.int32]
    path_ends: NDArray[np.int32]
    scores: NDArray[np.int32]


class ChainColumns(NamedTuple):
    """Where chains are put; the arrays of `Chains`, with room."""

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    anchor_offsets: NDArray[np.int64]
    scores: NDArray[np.int32]


def trace_chains(anchors: Anchors, scores: ChainScores, parameters: ChainParameters) -> Chains:
    """Trace the chains of each read, in one thread.

    Parameters
    ----------
    anchors
        Of n reads.
    scores
        Of the anchors, from `chain_scores`.
    parameters
        Least anchors and score of a chain; its score may fall by the bandwidth on the way.
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
    """Return arrays with room for so many anchors, and, besides their chains, for others.

    Memory that is not written to is never taken from the system.
    """
    most = chains + anchors // max(limits.min_count, 1)
    anchor_offsets = np.empty(most + 1, dtype=np.int64)
    anchor_offsets[0] = 0
    return ChainColumns(
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        anchor_offsets,
        np.empty(most, dtype=np.int32),
    )


def filled_chains(columns: ChainColumns, offsets: NDArray[np.int64]) -> Chains:
    """Return the part of the arrays that is filled."""
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
def tracing_space(anchors: Integer) -> TracingSpace:
    """Return working arrays for reads with up to so many anchors."""
    return TracingSpace(
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint64),
        np.empty(anchors, dtype=np.uint8),
        np.empty(anchors, dtype=np.int32),
        np.empty(anchors, dtype=np.int32),
        np.empty(anchors, dtype=np.int32),
    )


@njit
def _trace_reads(  # noqa: PLR0917  (compiled code takes no keywords)
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
    space = tracing_space(longest)
    for read in range(anchor_offsets.size - 1):
        begin = np.uint64(anchor_offsets[read])
        count = np.uint64(anchor_offsets[read + 1]) - begin
        offsets[read + 1] = trace_read(
            x, y, scores, predecessors, begin, count, limits, space, columns, offsets[read]
        )


@njit
def trace_read(  # noqa: PLR0913, PLR0917  (compiled code takes no keywords)
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    begin: Integer,
    count: Integer,
    limits: ChainLimits,
    space: TracingSpace,
    columns: ChainColumns,
    chains: Integer,
) -> Integer:
    """Append the chains among `count` anchors from `begin` on to the columns.

    `chains` are there before; returns how many are after.
    """
    keys, order, path, path_ends = space.keys, space.order, space.path, space.path_ends
    ends = _list_ends(scores, begin, count, limits.min_score, keys, order, space.is_taken)
    radix_sort(keys, order, 0, ends)
    found = _take_chains(scores, predecessors, begin, ends, limits, space)
    for chain in range(found):
        keys[np.uint64(chain)] = x[begin + np.uint64(path[np.uint64(path_ends[chain] - 1)])]
        order[np.uint64(chain)] = np.uint64(chain)
    radix_sort(keys, order, 0, found)
    _append(x, y, begin, found, space, columns, chains)
    return chains + found


@njit_inlined
def _list_ends(  # noqa: PLR0917  (compiled code takes no keywords)
    scores: NDArray[np.int32],
    begin: Integer,
    count: Integer,
    min_score: Integer,
    keys: NDArray[np.uint64],
    order: NDArray[np.uint64],
    is_taken: NDArray[np.uint8],
) -> Integer:
    """List anchors at which a chain may end, by score; returns their number. None is taken."""
    ends: Integer = np.int64(0)
    for k in range(count):
        is_taken[k] = 0
        score = scores[begin + k]
        if score >= min_score:
            keys[np.uint64(ends)] = np.uint64(score)
            order[np.uint64(ends)] = k
            ends += 1
    return ends


@njit_inlined
def _take_chains(
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    begin: Integer,
    ends: Integer,
    limits: ChainLimits,
    space: TracingSpace,
) -> Integer:
    """Put chains into the path one after the other, each from its end on; returns their number.

    Anchors of a chain that is too short or scores too low are taken all the same.
    """
    order, is_taken, path = space.order, space.is_taken, space.path
    path_ends, chain_scores = space.path_ends, space.scores
    max_drop, min_count, min_score = limits.max_drop, limits.min_count, limits.min_score
    found: Integer = np.int64(0)
    size: Integer = np.int64(0)
    for place in range(ends - 1, -1, -1):
        end = np.int64(order[np.uint64(place)])
        if is_taken[np.uint64(end)]:
            continue
        stop = _stop_of_chain(scores, predecessors, begin, is_taken, end, max_drop)
        start = size
        at = end
        while at != stop:
            path[np.uint64(size)] = at
            is_taken[np.uint64(at)] = 1
            size += 1
            at = np.int64(predecessors[begin + np.uint64(at)])
        score = np.int64(scores[begin + np.uint64(end)])
        if stop >= 0:
            score -= np.int64(scores[begin + np.uint64(stop)])
        if score >= min_score and size - start >= max(min_count, 1):
            path_ends[np.uint64(found)] = size
            chain_scores[np.uint64(found)] = score
            found += 1
        else:
            size = start
    return found


@njit_inlined
def _stop_of_chain(
    scores: NDArray[np.int32],
    predecessors: NDArray[np.int32],
    begin: Integer,
    is_taken: NDArray[np.uint8],
    end: Integer,
    max_drop: Integer,
) -> Integer:
    """Return the anchor before the first one of the chain that ends at `end`; -1 if none is.

    It is where the chain scores most; the search is given up where that is a drop behind.
    """
    top = np.int64(scores[begin + np.uint64(end)])
    stop, highest = end, np.int64(0)
    at = end
    while True:
        at = np.int64(predecessors[begin + np.uint64(at)])
        score = top
        if at >= 0:
            score -= np.int64(scores[begin + np.uint64(at)])
        if score > highest:
            stop, highest = at, score
        elif highest - score > max_drop:
            return stop
        if at < 0 or is_taken[np.uint64(at)]:
            return stop


@njit_inlined
def _append(  # noqa: PLR0917  (compiled code takes no keywords)
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    begin: Integer,
    found: Integer,
    space: TracingSpace,
    columns: ChainColumns,
    chains: Integer,
) -> None:
    """Append the chains of the path in the order found, each from its first anchor on."""
    order, path, path_ends, chain_scores = space.order, space.path, space.path_ends, space.scores
    out_x, out_y = columns.x, columns.y
    anchor_offsets, out_scores = columns.anchor_offsets, columns.scores
    at = np.uint64(anchor_offsets[np.uint64(chains)])
    for k in range(found):
        chain = order[np.uint64(k)]
        start = path_ends[chain - _1] if chain else np.int32(0)
        for place in range(path_ends[chain] - 1, start - 1, -1):
            anchor = begin + np.uint64(path[np.uint64(place)])
            out_x[at], out_y[at] = x[anchor], y[anchor]
            at += _1
        out_scores[np.uint64(chains + k)] = chain_scores[chain]
        anchor_offsets[np.uint64(chains + k + 1)] = np.int64(at)

"""Chains joined over long gaps: the anchors of a read's chains are chained once more.

As in minimap2 since 2.19 (Li 2021, Bioinformatics 37:4572).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.longread.batches import Chains
from hapgpu.longread.chain.chains import (
    ChainColumns,
    ChainLimits,
    chain_columns,
    filled_chains,
    trace_read,
    tracing_space,
)
from hapgpu.longread.chain.join_scores import JoinLimits, join_space, score_joins
from hapgpu.longread.chain.pair_score import TILE
from hapgpu.longread.parameters import JoinParameters
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_MIN_UNCHAINED: Final = 1000
_MIN_FRACTION: Final = np.float32(0.1)


def join_chains(
    chains: Chains,
    lengths: NDArray[np.int32],
    parameters: JoinParameters,
    tile: int = TILE,
    *,
    overwrites: bool = False,
) -> Chains:
    """Join the chains of each read with several chains, in one thread.

    Parameters
    ----------
    chains
        Chains of n reads.
    lengths
        int32[n]: lengths of the reads in bases.
    parameters
        Parameters of the long join.
    tile
        Anchors of a read that the working memory is for, besides those within reach.
    overwrites
        Whether the arrays of the given chains may be overwritten: their memory is used.

    Returns
    -------
    Chains
        New chains for reads with several chains, which may be cut elsewhere; the given chains for
        the others.
    """
    limits = ChainLimits(parameters.bandwidth, parameters.min_count, parameters.min_score)
    columns = chain_columns(chains.x.size, chains.scores.size, limits)
    offsets = np.zeros(chains.offsets.size, dtype=np.int64)
    join_limits = JoinLimits(
        parameters.max_distance,
        parameters.inner_distance,
        parameters.max_candidates,
        0.5 * parameters.slope,
        parameters.max_skip,
    )
    given = columns_of(ChainColumns, chains)
    penalties = parameters.penalties.astype(np.int32)
    longest = int(np.diff(chains.anchor_offsets[chains.offsets]).max(initial=0))
    x, y = chains.x, chains.y
    if not overwrites or longest < x.size:
        x, y = np.empty(longest, dtype=np.uint64), np.empty(longest, dtype=np.uint64)
    _join_reads(
        given,
        read_only(chains.offsets),
        read_only(lengths),
        penalties,
        join_limits,
        limits,
        x,
        y,
        tile,
        columns,
        offsets,
    )
    return filled_chains(columns, offsets)


@njit
def _join_reads(
    given: ChainColumns,
    chain_offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    penalties: NDArray[np.int32],
    join_limits: JoinLimits,
    limits: ChainLimits,
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    tile: Integer,
    columns: ChainColumns,
    offsets: NDArray[np.int64],
) -> None:
    """Append the chains of each read, joined or unchanged; x and y get the anchors of a read."""
    given_x, given_y, anchor_offsets = given.x, given.y, given.anchor_offsets
    longest = x.size
    scores = np.empty(longest, dtype=np.int32)
    predecessors = np.empty(longest, dtype=np.int32)
    space, tracing = join_space(min(longest, tile)), tracing_space(longest, columns)
    for read in range(lengths.size):
        first, end = chain_offsets[read], chain_offsets[read + 1]
        if not _needs_join(given_y, anchor_offsets, first, end, lengths[read]):
            offsets[read + 1] = _copy_chains(given, first, end, columns, offsets[read])
            continue
        start = np.uint64(anchor_offsets[first])
        count = np.int64(anchor_offsets[end] - anchor_offsets[first])
        for k in range(np.uint64(count)):
            x[k], y[k] = given_x[start + k], given_y[start + k]
        radix_sort(x, y, 0, count)
        space = score_joins(x, y, count, penalties, join_limits, space, scores, predecessors)
        offsets[read + 1] = trace_read(
            x,
            y,
            scores,
            predecessors,
            np.uint64(0),
            np.uint64(count),
            limits,
            tracing,
            columns,
            offsets[read],
        )


@njit_inlined
def _needs_join(
    y: NDArray[np.uint64],
    anchor_offsets: NDArray[np.int64],
    first: Integer,
    end: Integer,
    length: Integer,
) -> bool:
    """Return True if a read has several chains and is not a short read of small chains.

    The first chain must leave more than `_MIN_UNCHAINED` bases of the read, or cover more than
    `_MIN_FRACTION` of it.
    """
    if end - first < 2:
        return False
    first_position = np.int32(y[anchor_offsets[first]])
    last_position = np.int32(y[anchor_offsets[first + 1] - 1])
    covered = np.int64(last_position) - np.int64(first_position)
    return bool(
        np.int64(length) - covered > _MIN_UNCHAINED
        or np.float32(covered) > np.float32(length) * _MIN_FRACTION
    )


@njit_inlined
def _copy_chains(
    given: ChainColumns, first: Integer, end: Integer, columns: ChainColumns, chains: Integer
) -> Integer:
    """Append given chains unchanged; return the new number of chains."""
    given_x, given_y, given_offsets = given.x, given.y, given.anchor_offsets
    out_x, out_y, offsets = columns.x, columns.y, columns.anchor_offsets
    shift = offsets[chains] - given_offsets[first]
    for anchor in range(given_offsets[first], given_offsets[end]):
        out_x[anchor + shift], out_y[anchor + shift] = given_x[anchor], given_y[anchor]
    for chain in range(first, end):
        columns.scores[chains + chain - first] = given.scores[chain]
        offsets[chains + chain - first + 1] = given_offsets[chain + 1] + shift
    return chains + end - first

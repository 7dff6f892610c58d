"""Chains joined over long gaps, on a GPU (`cuda/chaining/join/join.cu`).

Same as `hapgpu/chaining/join/cpu.py`.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, Chains
from hapgpu.chaining.chains.cuda import trace_chains
from hapgpu.chaining.join.scores_cuda import score_joins
from hapgpu.chaining.kernels import chaining_kernel
from hapgpu.chaining.parameters import ChainParameters, JoinParameters
from hapgpu.runtime.gpu.kernel import Array, Scalar
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import QUEUE, WARP, launch_threads, work_queue

_THREADS: Final = 128  # per block, as in the source

_X, _Y = Array("x", np.uint64, "anchors"), Array("y", np.uint64, "anchors")
_ANCHORS = Scalar("anchors", np.int64)
_CHAIN_ENDS = (Array("anchor_offsets", np.int64, "chains", 1), Scalar("chains", np.int32))
_OFFSETS = Array("offsets", np.int64, "reads", 1)
_READS = Scalar("reads", np.int32)
_QUEUE = (*QUEUE, Scalar("one", np.int32))
_JOINED_OFFSETS = Array("joined_offsets", np.int64, "reads", 1)

COUNT_JOINED: Final = chaining_kernel(
    "join/join.cu",
    "count_joined",
    (
        _Y,
        _ANCHORS,
        *_CHAIN_ENDS,
        _OFFSETS,
        Array("lengths", np.int32, "reads"),
        _READS,
        Array("counts", np.int64, "reads", 1),
    ),
)
SORT_JOINED: Final = chaining_kernel(
    "join/join.cu",
    "sort_joined",
    (
        _X,
        _Y,
        _ANCHORS,
        *_CHAIN_ENDS,
        _OFFSETS,
        _READS,
        _JOINED_OFFSETS,
        *_QUEUE,
        Array("joined_x", np.uint64, "joined"),
        Array("joined_y", np.uint64, "joined"),
        Array("source_rows", np.uint32, "joined"),
        Scalar("joined", np.int64),
    ),
)
COUNT_MERGED: Final = chaining_kernel(
    "join/join.cu",
    "count_merged",
    (
        *_CHAIN_ENDS,
        _OFFSETS,
        _READS,
        _JOINED_OFFSETS,
        Array("joined_anchor_offsets", np.int64, "joined_chains", 1),
        Scalar("joined_chains", np.int32),
        Array("joined_chain_offsets", np.int64, "reads", 1),
        Array("chain_counts", np.int64, "reads", 1),
        Array("anchor_counts", np.int64, "reads", 1),
    ),
)
MERGE_CHAINS: Final = chaining_kernel(
    "join/join.cu",
    "merge_chains",
    (
        *(_X, _Y, _ANCHORS),
        Array("anchor_offsets", np.int64, "chains", 1),
        Array("scores", np.int32, "chains"),
        Scalar("chains", np.int32),
        _OFFSETS,
        _READS,
        _JOINED_OFFSETS,
        Array("joined_x", np.uint64, "joined_anchors"),
        Array("joined_y", np.uint64, "joined_anchors"),
        Scalar("joined_anchors", np.int64),
        Array("joined_anchor_offsets", np.int64, "joined_chains", 1),
        Array("joined_scores", np.int32, "joined_chains"),
        Scalar("joined_chains", np.int32),
        Array("joined_chain_offsets", np.int64, "reads", 1),
        Array("merged_offsets", np.int64, "reads", 1),
        Array("merged_starts", np.int64, "reads", 1),
        Array("merged_x", np.uint64, "merged_anchors"),
        Array("merged_y", np.uint64, "merged_anchors"),
        Scalar("merged_anchors", np.int64),
        Array("merged_anchor_offsets", np.int64, "merged_chains", 1),
        Array("merged_scores", np.int32, "merged_chains"),
        Scalar("merged_chains", np.int32),
    ),
)


def join_chains(chains: Chains, lengths: Any, parameters: JoinParameters) -> Chains:
    """Join the chains of each read with several chains.

    Works on the current stream of the chains' device, which must be the current device. A read
    keeps its chains if the first chain leaves at most 1000 bases and covers at most a tenth of it.

    Parameters
    ----------
    chains
        Chains of n reads, on the device.
    lengths
        int32[n] on the device: lengths of the reads in bases.
    parameters
        Parameters of the long join.

    Returns
    -------
    Chains
        On the device; the same object if no read needs a join.
    """
    offsets = _joined_offsets(chains, lengths)
    (total,) = last_values(offsets)
    if not total:
        return chains
    anchors = _sorted_anchors(chains, offsets, total)
    joined = trace_chains(
        anchors, score_joins(anchors, parameters), _tracing_parameters(parameters)
    )
    return _merged(chains, joined, offsets)


def _joined_offsets(chains: Chains, lengths: Any) -> Any:
    """Return int64[n + 1]: the first anchor of each read among the anchors of all reads to join."""
    reads = lengths.size
    counts = cupy.empty(reads + 1, dtype=np.int64)
    arguments = (
        *(chains.y, chains.y.size, chains.anchor_offsets, chains.scores.size, chains.offsets),
        *(lengths, reads, counts),
    )
    launch_threads(COUNT_JOINED, _THREADS, reads, arguments)
    return cupy.cumsum(counts)


def _sorted_anchors(chains: Chains, offsets: Any, total: int) -> Anchors:
    """Return the anchors of the reads to join, `total` in all, sorted by x."""
    x, y = (cupy.empty(total, dtype=np.uint64) for _ in range(2))
    reads = offsets.size - 1
    arguments = (
        *(chains.x, chains.y, chains.x.size, chains.anchor_offsets, chains.scores.size),
        *(chains.offsets, reads, offsets, *work_queue(offsets), 1),
        *(x, y, cupy.empty(total, dtype=np.uint32), total),
    )
    launch_threads(SORT_JOINED, _THREADS, reads * WARP, arguments)
    return Anchors(x, y, offsets)


def _tracing_parameters(parameters: JoinParameters) -> ChainParameters:
    """Return the parameters for tracing joined chains."""
    return ChainParameters(
        max_distance_x=parameters.max_distance,
        max_distance_y=parameters.max_distance,
        bandwidth=parameters.bandwidth,
        penalties=parameters.penalties,
        max_skip=parameters.max_skip,
        max_iterations=parameters.max_candidates,
        min_count=parameters.min_count,
        min_score=parameters.min_score,
    )


def _merged(chains: Chains, joined: Chains, joined_offsets: Any) -> Chains:
    """Return the chains of each read: joined chains if it had anchors to join."""
    reads = joined_offsets.size - 1
    chain_counts, anchor_counts = (cupy.empty(reads + 1, dtype=np.int64) for _ in range(2))
    arguments: tuple[Any, ...] = (
        *(chains.anchor_offsets, chains.scores.size, chains.offsets, reads, joined_offsets),
        *(joined.anchor_offsets, joined.scores.size, joined.offsets),
        *(chain_counts, anchor_counts),
    )
    launch_threads(COUNT_MERGED, _THREADS, reads, arguments)
    offsets, starts = cupy.cumsum(chain_counts), cupy.cumsum(anchor_counts)
    count, total = last_values(offsets, starts)
    merged = Chains(
        x=cupy.empty(total, dtype=np.uint64),
        y=cupy.empty(total, dtype=np.uint64),
        anchor_offsets=cupy.empty(count + 1, dtype=np.int64),
        scores=cupy.empty(count, dtype=np.int32),
        offsets=offsets,
    )
    arguments = (
        *_columns(chains),
        *(reads, joined_offsets),
        *_columns(joined),
        *(offsets, starts, merged.x, merged.y, total),
        *(merged.anchor_offsets, merged.scores, count),
    )
    launch_threads(MERGE_CHAINS, _THREADS, reads * WARP, arguments)
    return merged


def _columns(chains: Chains) -> tuple[Any, ...]:
    return (
        *(chains.x, chains.y, chains.x.size, chains.anchor_offsets, chains.scores),
        *(chains.scores.size, chains.offsets),
    )

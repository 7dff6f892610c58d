"""Chains joined over long gaps, on a GPU (`cuda/longread/join/{scores,join}.cu`).

Same as `hapgpu/longread/chain/join.py` and `scores_cpu.py`.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.cuda.chains import trace_chains
from hapgpu.longread.cuda.row_sort import sorted_rows
from hapgpu.longread.cuda.scores import (
    SEGMENTS,
    cut_into_segments,
)
from hapgpu.longread.kernels import (
    ANCHORS,
    CHAIN_SCORES,
    CHAINS,
    anchor_fields,
    chain_fields,
    chaining_kernel,
    chains_struct,
    score_fields,
    sizes,
)
from hapgpu.longread.parameters import JoinParameters
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source

SCORE_JOINED: Final = chaining_kernel(
    "chain/join_scores.cu",
    "score_joined",
    (
        *(ANCHORS, SEGMENTS),
        Struct(
            "parameters",
            (
                *sizes("max_distance", "inner_distance", "max_candidates", "bandwidth"),
                Array("penalties", np.uint16, "bandwidth", 1),
                *(Scalar("half_slope", np.float64), Scalar("max_skip", np.int32)),
            ),
        ),
        CHAIN_SCORES,
        Struct(
            "scratch",
            (
                Array("nodes", np.int32, "anchors.count", width=4),
                Array("marks", np.int32, "anchors.count"),
                Array("ranks", np.int64, "anchors.count"),
                Array("ceilings", np.int64, "anchors.count"),
                Array("old_ceilings", np.int64, "anchors.count"),
                Array("near_keys", np.uint64, "anchors.count"),
            ),
        ),
        *(Array("taken", np.uint32, "one"), Length("one")),
    ),
)


def score_joins(anchors: Anchors, parameters: JoinParameters) -> ChainScores:
    """Find the best chain over long gaps that ends at each anchor.

    A read is cut into segments where consecutive anchors are farther apart on the reference than a
    chain allows; one warp scores a segment. Works on the current stream of the anchors' device,
    which must be the current device.

    Parameters
    ----------
    anchors
        Anchors of the reads to join, on the device, sorted by x; at least one.
    parameters
        Parameters of the long join.

    Returns
    -------
    ChainScores
        On the device; equal to the scores on the CPU.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The anchors do not fit the device.
    """
    count = int(anchors.x.size)
    scores = ChainScores(cupy.empty(count, dtype=np.int32), cupy.empty(count, dtype=np.int32))
    segments = cut_into_segments(anchors, scores, parameters.max_distance)
    scratch = (
        *(cupy.empty(4 * count, dtype=np.int32), cupy.empty(count, dtype=np.int32)),
        *(cupy.empty(count, dtype=np.int64) for _ in range(3)),
        cupy.empty(count, dtype=np.uint64),
    )
    arguments = (
        *(anchor_fields(anchors), segments.fields, _parameter_fields(parameters)),
        *(score_fields(scores), scratch, cupy.zeros(1, dtype=np.uint32), 1),
    )
    # Two anchors make the smallest segment.
    launch_threads(SCORE_JOINED, _THREADS, max(count // 2, 1) * WARP, arguments)
    return scores


def _parameter_fields(parameters: JoinParameters) -> tuple[GpuArray | float, ...]:
    return (
        *(parameters.max_distance, parameters.inner_distance, parameters.max_candidates),
        *(parameters.bandwidth, cupy.asarray(parameters.penalties)),
        *(0.5 * parameters.slope, parameters.max_skip),
    )


_KEPT: Final = chains_struct("kept")
_JOINED: Final = chains_struct("joined", "kept.reads")
_JOINED_OFFSETS = Array("joined_offsets", np.int64, "kept.reads", 1)

COUNT_JOINED: Final = chaining_kernel(
    "chain/join.cu",
    "count_joined",
    (
        CHAINS,
        Array("lengths", np.int32, "chains.reads"),
        Array("counts", np.int64, "chains.reads", 1),
    ),
)
LIST_JOINED: Final = chaining_kernel(
    "chain/join.cu",
    "list_joined",
    (
        CHAINS,
        Array("joined_offsets", np.int64, "chains.reads", 1),
        Array("joined_x", np.uint64, "joined"),
        Array("source_rows", np.uint32, "joined"),
        Array("unsorted", np.int32, "chains.reads"),
        Scalar("joined", np.int32),
    ),
)
COUNT_MERGED: Final = chaining_kernel(
    "chain/join.cu",
    "count_merged",
    (
        *(_KEPT, _JOINED, _JOINED_OFFSETS),
        Array("chain_counts", np.int64, "kept.reads", 1),
        Array("anchor_counts", np.int64, "kept.reads", 1),
    ),
)
MERGE_CHAINS: Final = chaining_kernel(
    "chain/join.cu",
    "merge_chains",
    (
        *(_KEPT, _JOINED, _JOINED_OFFSETS),
        Array("merged_starts", np.int64, "kept.reads", 1),
        chains_struct("merged", "kept.reads"),
    ),
)


def join_chains(chains: Chains, lengths: GpuArray, parameters: JoinParameters) -> Chains:
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
    joined = trace_chains(anchors, score_joins(anchors, parameters), parameters)
    return _merged(chains, joined, offsets)


def _joined_offsets(chains: Chains, lengths: GpuArray) -> GpuArray:
    """Return int64[n + 1]: the first anchor of each read among the anchors of all reads to join."""
    reads = lengths.size
    counts = cupy.empty(reads + 1, dtype=np.int64)
    launch_threads(COUNT_JOINED, _THREADS, reads, (chain_fields(chains), lengths, counts))
    return cupy.cumsum(counts)


def _sorted_anchors(chains: Chains, offsets: GpuArray, total: int) -> Anchors:
    """Return the anchors of the reads to join, `total` in all, sorted by x."""
    reads = offsets.size - 1
    x, rows = cupy.empty(total, dtype=np.uint64), cupy.empty(total, dtype=np.uint32)
    unsorted = cupy.zeros(reads, dtype=np.int32)
    arguments = (chain_fields(chains), offsets, x, rows, unsorted, total)
    launch_threads(LIST_JOINED, _THREADS, total, arguments)
    x, rows = sorted_rows(x, rows, offsets, unsorted)
    return Anchors(x, chains.y[rows], offsets)


def _merged(chains: Chains, joined: Chains, joined_offsets: GpuArray) -> Chains:
    """Return the chains of each read: joined chains if it had anchors to join."""
    reads = joined_offsets.size - 1
    chain_counts, anchor_counts = (cupy.empty(reads + 1, dtype=np.int64) for _ in range(2))
    given = (chain_fields(chains), chain_fields(joined), joined_offsets)
    launch_threads(COUNT_MERGED, _THREADS, reads, (*given, chain_counts, anchor_counts))
    offsets, starts = cupy.cumsum(chain_counts), cupy.cumsum(anchor_counts)
    count, total = last_values(offsets, starts)
    merged = Chains(
        x=cupy.empty(total, dtype=np.uint64),
        y=cupy.empty(total, dtype=np.uint64),
        anchor_offsets=cupy.empty(count + 1, dtype=np.int64),
        scores=cupy.empty(count, dtype=np.int32),
        offsets=offsets,
    )
    launch_threads(MERGE_CHAINS, _THREADS, reads * WARP, (*given, starts, chain_fields(merged)))
    return merged

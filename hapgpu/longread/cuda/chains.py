"""Chains on a GPU (`cuda/longread/chain/chains.cu`); same as `hapgpu/longread/chain/chains.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.kernels import OFFSETS, X, Y, chaining_kernel, sizes
from hapgpu.longread.parameters import ChainParameters, JoinParameters
from hapgpu.runtime.gpu.kernel import Array
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import QUEUE, WARP, launch_threads, work_queue
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source

_SORTED = (Array("keys", np.uint64, "anchors"), Array("values", np.uint32, "anchors"))
_PATH = Array("path", np.int32, "anchors")
_FOUND = (_PATH, *(Array(name, np.int32, "anchors") for name in ("chain_ends", "chain_scores")))
_FIRST_ROWS = Array("first_rows", np.int64, "chains")
_ANCHOR_OFFSETS = Array("anchor_offsets", np.int64, "chains", extra=1)


TRACE_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "trace_chains",
    (
        Array("scores", np.int32, "anchors"),
        Array("predecessors", np.int32, "anchors"),
        OFFSETS,
        *QUEUE,
        *_SORTED,
        Array("is_taken", np.uint8, "anchors"),
        *_FOUND,
        Array("chain_counts", np.int64, "reads", extra=1),
        Array("anchor_counts", np.int64, "reads", extra=1),
        *sizes("anchors", "reads", "one", "max_drop", "min_count", "min_score"),
    ),
)
ORDER_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "order_chains",
    (
        X,
        OFFSETS,
        *QUEUE,
        *_SORTED,
        *_FOUND,
        Array("chain_offsets", np.int64, "reads", extra=1),
        Array("kept_offsets", np.int64, "reads", extra=1),
        _FIRST_ROWS,
        _ANCHOR_OFFSETS,
        Array("kept_scores", np.int32, "chains"),
        *sizes("anchors", "reads", "one", "chains"),
    ),
)
GATHER_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "gather_chains",
    (
        X,
        Y,
        OFFSETS,
        _PATH,
        _FIRST_ROWS,
        _ANCHOR_OFFSETS,
        Array("kept_x", np.uint64, "kept"),
        Array("kept_y", np.uint64, "kept"),
        *sizes("anchors", "reads", "chains", "kept"),
    ),
)


@dataclass(frozen=True, slots=True)
class _TracedChains:
    """Chains in the order found, as the kernels exchange them.

    `columns` are path, chain ends and chain scores; row i + 1 of the counts is read i.
    """

    columns: tuple[GpuArray, ...]
    chain_counts: GpuArray
    anchor_counts: GpuArray


def trace_chains(
    anchors: Anchors, scores: ChainScores, parameters: ChainParameters | JoinParameters
) -> Chains:
    """Trace the chains of n reads, as `hapgpu.longread.chain.chains.trace_chains` does.

    Works on the current stream of the current device, and waits for it.

    Parameters
    ----------
    anchors, scores
        Anchors of n reads and their scores, on the device; fewer than 2**31 anchors.
    parameters
        Only `bandwidth`, `min_count` and `min_score` are used.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The device has too little memory for the batch.
    """
    count = anchors.x.size
    if not count:
        no_anchors, no_scores = (cupy.empty(0, dtype=dtype) for dtype in (np.uint64, np.int32))
        offsets = cupy.zeros(len(anchors) + 1, dtype=np.int64)
        return Chains(no_anchors, no_anchors, cupy.zeros(1, dtype=np.int64), no_scores, offsets)
    sort_columns = (cupy.empty(count, dtype=np.uint64), cupy.empty(count, dtype=np.uint32))
    order, taken = work_queue(anchors.offsets)
    found = _find_chains(anchors, scores, parameters, (order, taken), sort_columns)
    return _ordered_chains(anchors, found, (order, cupy.zeros_like(taken)), sort_columns)


def _find_chains(
    anchors: Anchors,
    scores: ChainScores,
    parameters: ChainParameters | JoinParameters,
    queue: tuple[GpuArray, ...],
    sort_columns: tuple[GpuArray, ...],
) -> _TracedChains:
    reads, count = len(anchors), anchors.x.size
    found = _TracedChains(
        tuple(cupy.empty(count, dtype=np.int32) for _ in _FOUND),
        cupy.zeros(reads + 1, dtype=np.int64),
        cupy.zeros(reads + 1, dtype=np.int64),
    )
    arguments = (
        *(scores.scores, scores.predecessors, anchors.offsets, *queue, *sort_columns),
        *(cupy.zeros(count, dtype=np.uint8), *found.columns),
        *(found.chain_counts, found.anchor_counts, count, reads, 1),
        *(parameters.bandwidth, parameters.min_count, parameters.min_score),
    )
    launch_threads(TRACE_CHAINS, _THREADS, reads * WARP, arguments)
    return found


def _ordered_chains(
    anchors: Anchors,
    found: _TracedChains,
    queue: tuple[GpuArray, ...],
    sort_columns: tuple[GpuArray, ...],
) -> Chains:
    reads, count = len(anchors), anchors.x.size
    offsets, kept_offsets = cupy.cumsum(found.chain_counts), cupy.cumsum(found.anchor_counts)
    chains, kept = last_values(offsets, kept_offsets)
    first_rows = cupy.empty(chains, dtype=np.int64)
    anchor_offsets = cupy.zeros(chains + 1, dtype=np.int64)
    scores = cupy.empty(chains, dtype=np.int32)
    x, y = (cupy.empty(kept, dtype=np.uint64) for _ in range(2))
    ordering = (
        *(anchors.x, anchors.offsets, *queue, *sort_columns, *found.columns, offsets, kept_offsets),
        *(first_rows, anchor_offsets, scores, count, reads, 1, chains),
    )
    launch_threads(ORDER_CHAINS, _THREADS, reads * WARP, ordering)
    gathering = (
        *(anchors.x, anchors.y, anchors.offsets, found.columns[0], first_rows, anchor_offsets),
        *(x, y, count, reads, chains, kept),
    )
    launch_threads(GATHER_CHAINS, _THREADS, kept, gathering)
    return Chains(x, y, anchor_offsets, scores, offsets)

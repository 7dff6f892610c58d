"""Chains on a GPU (`cuda/longread/chain/chains.cu`); same as `hapgpu/longread/chain/chains.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Anchors, Chains, ChainScores
from hapgpu.longread.cuda.row_sort import sorted_rows
from hapgpu.longread.kernels import OFFSETS, READS, X, Y, chaining_kernel, sizes
from hapgpu.longread.parameters import ChainParameters, JoinParameters
from hapgpu.runtime.gpu.kernel import Array, Length, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_HIGH: Final = 32  # a number holds two counts, one in its high half
_MAX_INT: Final = 2**31 - 1

_SCORES = Array("scores", np.int32, "anchors")
_MARKS, _COUNTS = (Array(name, np.uint64, "anchors") for name in ("marks", "counts"))
_ANCHORS_OF_ENDS = Array("anchors_of_ends", np.uint32, "ends")
_SEGMENTS = Array("segments", np.int32, "ends")
_END_OFFSETS = Array("end_offsets", np.int64, "reads", extra=1)
_PATH = Array("path", np.int32, "anchors")
_PATH_STARTS, _CHAIN_SCORES = (
    Array(name, np.int32, "ends") for name in ("path_starts", "chain_scores")
)
_COUNTS_OF_CHAINS = Array("counts", np.uint64, "ends")
_CHAIN_ENDS = Array("chain_ends", np.uint32, "chains")
_FIRST_ROWS = Array("first_rows", np.int32, "chains")


MARK_ANCHORS: Final = chaining_kernel(
    "chain/chains.cu",
    "mark_anchors",
    (
        X,
        _SCORES,
        _MARKS,
        *sizes("anchors", "max_distance", "min_score"),
    ),
)
MARK_READS: Final = chaining_kernel(
    "chain/chains.cu", "mark_reads", (OFFSETS, _MARKS, Length("anchors"), READS)
)
LIST_ENDS: Final = chaining_kernel(
    "chain/chains.cu",
    "list_ends",
    (
        _SCORES,
        _COUNTS,
        OFFSETS,
        Array("keys", np.uint64, "ends"),
        _ANCHORS_OF_ENDS,
        _END_OFFSETS,
        Array("end_counts", np.int32, "reads"),
        *sizes("anchors", "reads"),
        Length("ends"),
    ),
)
FIND_SEGMENTS: Final = chaining_kernel(
    "chain/chains.cu",
    "find_segments",
    (_COUNTS, _ANCHORS_OF_ENDS, _SEGMENTS, Length("anchors"), *sizes("ends")),
)
TRACE_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "trace_chains",
    (
        Struct(
            "traces",
            (
                *(_SCORES, Array("predecessors", np.int32, "anchors")),
                *(Array("is_taken", np.uint8, "anchors"), _PATH),
                Array("chains", np.uint64, "ends.count"),
                Array("path_starts", np.int32, "ends.count"),
                Array("chain_scores", np.int32, "ends.count"),
            ),
        ),
        Struct(
            "ends",
            (
                Array("anchors", np.uint32, "count"),
                Array("segments", np.int32, "count"),
                Array("order", np.int64, "count"),
                *sizes("count"),
            ),
        ),
        Struct("limits", sizes("max_drop", "min_count", "min_score")),
        *(OFFSETS, Length("anchors"), READS),
    ),
)
LIST_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "list_chains",
    (
        X,
        _END_OFFSETS,
        _PATH,
        *(_PATH_STARTS, _COUNTS_OF_CHAINS),
        Array("keys", np.uint64, "chains"),
        _CHAIN_ENDS,
        Array("chain_offsets", np.int64, "reads", extra=1),
        Array("chain_counts", np.int32, "reads"),
        Length("anchors"),
        *sizes("reads", "ends"),
        Length("chains"),
    ),
)
ORDER_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "order_chains",
    (
        _CHAIN_ENDS,
        *(_COUNTS_OF_CHAINS, _PATH_STARTS, _CHAIN_SCORES),
        Array("sizes", np.int64, "chains", extra=1),
        _FIRST_ROWS,
        Array("kept_scores", np.int32, "chains"),
        Length("ends"),
        *sizes("chains"),
    ),
)
GATHER_CHAINS: Final = chaining_kernel(
    "chain/chains.cu",
    "gather_chains",
    (
        *(X, Y, _PATH, _FIRST_ROWS),
        Array("anchor_offsets", np.int64, "chains", extra=1),
        Array("kept_x", np.uint64, "kept"),
        Array("kept_y", np.uint64, "kept"),
        Length("anchors"),
        *sizes("chains", "kept"),
    ),
)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Anchors of n reads at which chains may end, by read and in each ascending by score.

    Attributes
    ----------
    anchors, segments
        uint32[e]: the anchors; int32[e]: their segments.
    offsets
        int64[n + 1]: the ends of read i are `offsets[i]` to `offsets[i + 1]`.
    """

    anchors: GpuArray
    segments: GpuArray
    offsets: GpuArray


@dataclass(frozen=True, slots=True)
class _TracedChains:
    """Chains by their ends.

    Attributes
    ----------
    path
        int32[a]: anchors of chains.
    chains
        uint64[e]: number of anchors of the chain from an end, with a 1 in the high half; 0 without
        a chain.
    path_starts, scores
        int32[e]: where the anchors of the chain start in the path, the first anchor first; its
        score.
    """

    path: GpuArray
    chains: GpuArray
    path_starts: GpuArray
    scores: GpuArray


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
        Only the largest distance, `bandwidth`, `min_count` and `min_score` are used.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The device has too little memory for the batch.
    """
    if anchors.x.size:
        ends = _ranked_ends(anchors, scores, parameters)
        if ends.anchors.size:
            traced = _traced_chains(anchors, scores, ends, parameters)
            return _ordered_chains(anchors, ends, traced)
    no_anchors, no_scores = (cupy.empty(0, dtype=dtype) for dtype in (np.uint64, np.int32))
    offsets = cupy.zeros(len(anchors) + 1, dtype=np.int64)
    return Chains(no_anchors, no_anchors, cupy.zeros(1, dtype=np.int64), no_scores, offsets)


def _max_distance(parameters: ChainParameters | JoinParameters) -> int:
    """Return the largest distance on the reference between an anchor and its predecessor."""
    if isinstance(parameters, JoinParameters):
        return parameters.max_distance
    return min(parameters.max_distance_x, _MAX_INT)


def _ranked_ends(
    anchors: Anchors, scores: ChainScores, parameters: ChainParameters | JoinParameters
) -> _Ends:
    reads, count = len(anchors), anchors.x.size
    marks = cupy.empty(count, dtype=np.uint64)
    limits = (_max_distance(parameters), parameters.min_score)
    marking = (anchors.x, scores.scores, marks, count, *limits)
    launch_threads(MARK_ANCHORS, _THREADS, count, marking)
    launch_threads(MARK_READS, _THREADS, reads, (anchors.offsets, marks, count, reads))
    counts = cupy.cumsum(marks)
    (last,) = last_values(counts)
    found = last & (2**_HIGH - 1)
    keys, rows = cupy.empty(found, dtype=np.uint64), cupy.empty(found, dtype=np.uint32)
    offsets = cupy.empty(reads + 1, dtype=np.int64)
    end_counts, segments = (cupy.empty(size, dtype=np.int32) for size in (reads, found))
    listed = (keys, rows, offsets, end_counts)
    listing = (scores.scores, counts, anchors.offsets, *listed, count, reads, found)
    launch_threads(LIST_ENDS, _THREADS, count, listing)
    _, rows = sorted_rows(keys, rows, offsets, end_counts)
    launch_threads(FIND_SEGMENTS, _THREADS, found, (counts, rows, segments, count, found))
    return _Ends(rows, segments, offsets)


def _traced_chains(
    anchors: Anchors,
    scores: ChainScores,
    ends: _Ends,
    parameters: ChainParameters | JoinParameters,
) -> _TracedChains:
    count, found = anchors.x.size, ends.anchors.size
    traced = _TracedChains(
        cupy.empty(count, dtype=np.int32),
        cupy.zeros(found, dtype=np.uint64),
        *(cupy.empty(found, dtype=np.int32) for _ in range(2)),
    )
    order = cupy.argsort(ends.segments)  # stable: ascending by rank in each segment
    is_taken = cupy.zeros(count, dtype=np.uint8)
    chains = (traced.path, traced.chains, traced.path_starts, traced.scores)
    arguments = (
        (scores.scores, scores.predecessors, is_taken, *chains),
        (ends.anchors, ends.segments, order, found),
        (parameters.bandwidth, parameters.min_count, parameters.min_score),
        *(anchors.offsets, count, len(anchors)),
    )
    launch_threads(TRACE_CHAINS, _THREADS, found, arguments)
    return traced


def _ordered_chains(anchors: Anchors, ends: _Ends, traced: _TracedChains) -> Chains:
    """Return the chains of each read in the order of their first anchors."""
    reads, found = len(anchors), ends.anchors.size
    counts = cupy.cumsum(traced.chains)
    (last,) = last_values(counts)
    chains, kept = last >> _HIGH, last & (2**_HIGH - 1)
    keys, chain_ends = cupy.empty(chains, dtype=np.uint64), cupy.empty(chains, dtype=np.uint32)
    offsets = cupy.empty(reads + 1, dtype=np.int64)
    chain_counts = cupy.empty(reads, dtype=np.int32)
    listing = (anchors.x, ends.offsets, traced.path, traced.path_starts, counts)
    listed = (keys, chain_ends, offsets, chain_counts)
    arguments = (*listing, *listed, anchors.x.size, reads, found, chains)
    launch_threads(LIST_CHAINS, _THREADS, found, arguments)
    _, chain_ends = sorted_rows(keys, chain_ends, offsets, chain_counts)
    chain_sizes = cupy.empty(chains + 1, dtype=np.int64)
    first_rows, scores = (cupy.empty(chains, dtype=np.int32) for _ in range(2))
    columns = (chain_ends, counts, traced.path_starts, traced.scores)
    ordering = (*columns, chain_sizes, first_rows, scores, found, chains)
    launch_threads(ORDER_CHAINS, _THREADS, chains, ordering)
    anchor_offsets = cupy.cumsum(chain_sizes)
    x, y = (cupy.empty(kept, dtype=np.uint64) for _ in range(2))
    gathering = (anchors.x, anchors.y, traced.path, first_rows, anchor_offsets, x, y)
    launch_threads(GATHER_CHAINS, _THREADS, kept, (*gathering, anchors.x.size, chains, kept))
    return Chains(x, y, anchor_offsets, scores, offsets)

"""Chain scores on a GPU (`cuda/chaining/scores/scores.cu`).

Same as `hapgpu/chaining/scores/cpu.py`.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.kernels import chaining_kernel
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.scores.segments_cuda import (
    ANCHOR_ARRAYS,
    BINS,
    NEVER_DENSE,
    SCORE_ARRAYS,
    SEGMENT_ARRAYS,
    Segments,
    cut_into_segments,
)
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import persistent_blocks

_THREADS: Final = 256
_MAX_SHARED_PENALTIES: Final = 2048  # as in the source
_MAX_SHARED_RANKS: Final = 5120  # as in the source
_MORE_WORDS: Final = 8  # of marks; a search may read beyond the last word
_MAX_DENSITY: Final = 200  # anchors per 1000 bases; unique sequence has at most 182 with w = 10
_MAX_TEAM_SKIP: Final = 100  # with more, predecessors are rarely skipped
_MAX_INT: Final = 2**31 - 1


def _kernel(*, is_shared: bool) -> Kernel:
    """Return the kernel with penalties and marks in shared memory or in global memory."""
    sizes = ("bins", "entries", "two", "max_distance_x", "max_distance_y", "bandwidth")
    return chaining_kernel(
        "scores/scores.cu",
        f"chain<{str(is_shared).lower()}>",
        (
            *ANCHOR_ARRAYS,
            *SEGMENT_ARRAYS,
            Array("penalties", np.uint16, "entries"),
            *SCORE_ARRAYS,
            Array("marks", np.uint32, "words"),
            Array("taken", np.uint32, "two"),
            Scalar("anchors", np.int64),
            Scalar("capacity", np.int64),
            Scalar("words", np.int64),
            *(Scalar(name, np.int32) for name in (*sizes, "max_skip", "max_iterations")),
        ),
    )


CHAIN_SHARED: Final = _kernel(is_shared=True)
CHAIN_GLOBAL: Final = _kernel(is_shared=False)


def chain_scores(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    """Find the best chain that ends at each anchor, as minimap2 2.30 does (`mg_lchain_dp`).

    A read is cut into segments where consecutive anchors are farther apart on the reference than a
    chain allows. One thread scores a short segment, one warp a longer one: it compares 32 anchors
    with one predecessor at a time or, if predecessors may be skipped, one anchor with 32. A thread
    block scores a long segment of a repeat, where most predecessors within reach are invalid.

    Works on the current stream of the anchors' device, which must be the current device.

    Parameters
    ----------
    anchors
        Anchors of a batch, on the device; fewer than 2**31 per read.
    parameters
        Parameters of chaining.

    Returns
    -------
    ChainScores
        On the device; equal to the scores on the CPU.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The batch does not fit the device.
    """
    total = int(anchors.x.size)
    scores = ChainScores(cupy.empty(total, dtype=np.int32), cupy.empty(total, dtype=np.int32))
    if total:
        max_distance = min(parameters.max_distance_x, _MAX_INT)
        density = _MAX_DENSITY if _uses_teams(parameters) else NEVER_DENSE
        segments = cut_into_segments(anchors, scores, max_distance, density)
        chain_segments(anchors, segments, scores, parameters)
    return scores


def _fits_shared(parameters: ChainParameters) -> bool:
    """Return whether penalties and marks fit into shared memory."""
    return (
        parameters.penalties.size <= _MAX_SHARED_PENALTIES
        and parameters.max_iterations <= _MAX_SHARED_RANKS
    )


def _uses_teams(parameters: ChainParameters) -> bool:
    """Return whether thread blocks score dense segments."""
    return _fits_shared(parameters) and parameters.max_skip <= _MAX_TEAM_SKIP


def chain_segments(
    anchors: Anchors, segments: Segments, scores: ChainScores, parameters: ChainParameters
) -> None:
    """Set the scores and predecessors of all anchors in segments."""
    total, device = int(anchors.x.size), cupy.cuda.Device().id
    penalties = cupy.asarray(parameters.penalties)
    fits_shared = _fits_shared(parameters)
    words = 1 if fits_shared else total // 16 + _MORE_WORDS
    loaded = load_kernel(CHAIN_SHARED if fits_shared else CHAIN_GLOBAL, device)
    loaded.launch(
        persistent_blocks(loaded, _THREADS, device),
        _THREADS,
        (
            anchors.x,
            anchors.y,
            segments.rows,
            segments.counts,
            penalties,
            scores.scores,
            scores.predecessors,
            cupy.zeros(words, dtype=np.uint32),
            cupy.zeros(2, dtype=np.uint32),
            total,
            segments.capacity,
            words,
            BINS,
            penalties.size,
            2,
            min(parameters.max_distance_x, _MAX_INT),
            min(parameters.max_distance_x, parameters.max_distance_y, _MAX_INT),
            parameters.bandwidth,
            min(max(parameters.max_skip, 0), _MAX_INT),
            min(max(parameters.max_iterations, 0), _MAX_INT),
        ),
    )

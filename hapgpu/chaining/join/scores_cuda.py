"""Scores of the long join on a GPU (`cuda/chaining/join/scores.cu`).

Same as `hapgpu/chaining/join/scores_cpu.py`.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.kernels import chaining_kernel
from hapgpu.chaining.parameters import JoinParameters
from hapgpu.chaining.scores.segments_cuda import (
    ANCHOR_ARRAYS,
    BINS,
    SCORE_ARRAYS,
    SEGMENT_ARRAYS,
    cut_into_segments,
)
from hapgpu.runtime.gpu.kernel import Array, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

_THREADS: Final = 128  # per block, as in the source

SCORE_JOINED: Final = chaining_kernel(
    "join/scores.cu",
    "score_joined",
    (
        *ANCHOR_ARRAYS,
        *SEGMENT_ARRAYS,
        Array("penalties", np.uint16, "bandwidth", 1),
        *SCORE_ARRAYS,
        Array("nodes", np.int32, "anchors", width=4),
        Array("marks", np.int32, "anchors"),
        Array("ranks", np.int64, "anchors"),
        Array("ceilings", np.int64, "anchors"),
        Array("old_ceilings", np.int64, "anchors"),
        Array("near_keys", np.uint64, "anchors"),
        Array("taken", np.uint32, "one"),
        Scalar("anchors", np.int64),
        Scalar("capacity", np.int64),
        Scalar("bins", np.int32),
        Scalar("one", np.int32),
        Scalar("max_distance", np.int32),
        Scalar("inner_distance", np.int32),
        Scalar("max_candidates", np.int32),
        Scalar("bandwidth", np.int32),
        Scalar("half_slope", np.float64),
        Scalar("max_skip", np.int32),
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
    arguments = (
        *(anchors.x, anchors.y, segments.rows, segments.counts, cupy.asarray(parameters.penalties)),
        *(scores.scores, scores.predecessors),
        *(cupy.empty(4 * count, dtype=np.int32), cupy.empty(count, dtype=np.int32)),
        *(cupy.empty(count, dtype=np.int64) for _ in range(3)),
        *(cupy.empty(count, dtype=np.uint64), cupy.zeros(1, dtype=np.uint32)),
        *(count, segments.capacity, BINS, 1),
        *(
            parameters.max_distance,
            parameters.inner_distance,
            parameters.max_candidates,
            parameters.bandwidth,
        ),
        *(0.5 * parameters.slope, parameters.max_skip),
    )
    # Two anchors make the smallest segment.
    launch_threads(SCORE_JOINED, _THREADS, max(count // 2, 1) * WARP, arguments)
    return scores

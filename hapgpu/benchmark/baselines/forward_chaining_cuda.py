"""Chain scores by forward transformation, on a GPU (`cuda/benchmark/forward_chaining.cu`).

The method of mm2-ax (Sadasivan et al. 2023): no predecessor is skipped, and each anchor updates the
scores of its possible successors.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.chaining.scores.segments_cuda import ANCHOR_ARRAYS, OFFSETS, SCORE_ARRAYS
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

_THREADS: Final = 128  # as in the paper
_MAX_BLOCKS: Final = 2**20
_MAX_INT: Final = 2**31 - 1

_SIZES: Final = (
    "reads",
    "entries",
    "max_distance_x",
    "max_distance_y",
    "bandwidth",
    "max_iterations",
)
UPDATE_SUCCESSORS: Final = Kernel(
    "benchmark/forward_chaining.cu",
    "update_successors",
    (
        *ANCHOR_ARRAYS,
        OFFSETS,
        Array("penalties", np.uint16, "entries"),
        *SCORE_ARRAYS,
        Scalar("anchors", np.int64),
        *(Scalar(name, np.int32) for name in _SIZES),
    ),
)


def successor_scores(anchors: Anchors, parameters: ChainParameters) -> ChainScores:
    """Find the best chain that ends at each anchor, visiting all predecessors.

    The result equals `scores.cuda.chain_scores` with `UNLIMITED_SKIP` if no anchor has more than
    `parameters.max_iterations` predecessors within reach. Beyond these, minimap2 visits one more,
    the anchor of the highest score; this method does not.

    Parameters
    ----------
    anchors
        As for `scores.cuda.chain_scores`.
    parameters
        Parameters of chaining; `max_skip` is not used.

    Returns
    -------
    ChainScores
        On the device.
    """
    total = int(anchors.x.size)
    scores = ChainScores(cupy.empty(total, dtype=np.int32), cupy.empty(total, dtype=np.int32))
    if not total:
        return scores
    penalties = cupy.asarray(parameters.penalties)
    load_kernel(UPDATE_SUCCESSORS, cupy.cuda.Device().id).launch(
        min(len(anchors), _MAX_BLOCKS),
        _THREADS,
        (
            anchors.x,
            anchors.y,
            anchors.offsets,
            penalties,
            scores.scores,
            scores.predecessors,
            total,
            len(anchors),
            penalties.size,
            min(parameters.max_distance_x, _MAX_INT),
            min(parameters.max_distance_x, parameters.max_distance_y, _MAX_INT),
            parameters.bandwidth,
            min(max(parameters.max_iterations, 0), _MAX_INT),
        ),
    )
    return scores

"""Independently chained segments of anchors, on a GPU (`cuda/chaining/scores/segments.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.chaining.batches import Anchors, ChainScores
from hapgpu.chaining.kernels import chaining_kernel
from hapgpu.runtime.gpu.kernel import Array, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

BINS: Final = 31  # as in the source
NEVER_DENSE: Final = 2**31 - 1
_MIN_DENSE_BITS: Final = 10  # as in the source
_THREADS: Final = 256
_BLOCKS_PER_READ: Final = 32 * 32 // _THREADS  # one warp per tile, as in the source
_MAX_BLOCKS: Final = 8192

ANCHOR_ARRAYS: Final = (Array("x", np.uint64, "anchors"), Array("y", np.uint64, "anchors"))
OFFSETS: Final = Array("offsets", np.int64, "reads", extra=1)
SCORE_ARRAYS: Final = (
    Array("scores", np.int32, "anchors"),
    Array("predecessors", np.int32, "anchors"),
)
SEGMENT_ARRAYS: Final = (
    Array("segments", np.int64, "capacity", width=2),
    Array("counts", np.uint32, "bins"),
)

LIST_SEGMENTS: Final = chaining_kernel(
    "scores/segments.cu",
    "list_segments",
    (
        *ANCHOR_ARRAYS,
        OFFSETS,
        *SCORE_ARRAYS,
        *SEGMENT_ARRAYS,
        Scalar("anchors", np.int64),
        Scalar("capacity", np.int64),
        Scalar("reads", np.int32),
        Scalar("bins", np.int32),
        Scalar("max_distance", np.int32),
        Scalar("max_density", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of at least two anchors in a batch, in bins by the logarithm of their length.

    Dense segments come after the bins.

    Attributes
    ----------
    rows
        int64[capacity, 2] on the device: first anchor; length | its number in the read << 32.
    counts
        uint32[BINS] on the device: segments per bin; dense segments in place of bin 0.
    """

    rows: Any
    counts: Any

    @property
    def capacity(self) -> int:
        """Number of rows, used or not."""
        return int(self.rows.shape[0])


def cut_into_segments(
    anchors: Anchors, scores: ChainScores, max_distance: int, max_density: int = NEVER_DENSE
) -> Segments:
    """List the segments; set the scores and predecessors of anchors outside any segment.

    Parameters
    ----------
    anchors
        Anchors of a batch, on the current device.
    scores
        Output.
    max_distance
        Largest distance on the reference between consecutive anchors of a segment, in bases.
    max_density
        A segment of at least 1024 anchors, more than `max_density` per 1000 bases of the reference,
        is dense.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The segments do not fit the device.
    """
    total = int(anchors.x.size)
    capacity = sum(total >> bin_ for bin_ in range(1, BINS)) + (total >> _MIN_DENSE_BITS)
    segments = Segments(
        cupy.empty((capacity, 2), dtype=np.int64), cupy.zeros(BINS, dtype=np.uint32)
    )
    load_kernel(LIST_SEGMENTS, cupy.cuda.Device().id).launch(
        min(len(anchors) * _BLOCKS_PER_READ, _MAX_BLOCKS),
        _THREADS,
        (
            anchors.x,
            anchors.y,
            anchors.offsets,
            scores.scores,
            scores.predecessors,
            segments.rows,
            segments.counts,
            total,
            capacity,
            len(anchors),
            BINS,
            max_distance,
            max_density,
        ),
    )
    return segments

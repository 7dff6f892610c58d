"""Chain scores on a GPU (`cuda/longread/scores/{segments,scores}.cu`).

Same as `hapgpu/longread/chain/scores.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Anchors, ChainScores
from hapgpu.longread.kernels import (
    ANCHORS,
    CHAIN_SCORES,
    anchor_fields,
    chaining_kernel,
    score_fields,
    sizes,
)
from hapgpu.longread.parameters import ChainParameters
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import persistent_blocks
from hapgpu.runtime.gpu_array import GpuArray

BINS: Final = 31  # as in the source
NEVER_DENSE: Final = 2**31 - 1
_MIN_DENSE_BITS: Final = 10  # as in the source
_THREADS: Final = 256
_BLOCKS_PER_READ: Final = 32 * 32 // _THREADS  # one warp per tile, as in the source
_MAX_BLOCKS: Final = 8192

SEGMENTS: Final = Struct(
    "segments",
    (
        Array("rows", np.int64, "capacity", width=2),
        Array("counts", np.uint32, "bins"),
        *(Length("capacity"), Scalar("bins", np.int32)),
    ),
)

LIST_SEGMENTS: Final = chaining_kernel(
    "chain/segments.cu",
    "list_segments",
    (ANCHORS, CHAIN_SCORES, SEGMENTS, *sizes("max_distance", "max_density")),
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

    rows: GpuArray
    counts: GpuArray

    @property
    def capacity(self) -> int:
        """Number of rows, used or not."""
        return int(self.rows.shape[0])

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `SEGMENTS`: int64 rows, uint32 counts, and their numbers."""
        return self.rows, self.counts, self.capacity, BINS


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
            *(anchor_fields(anchors), score_fields(scores), segments.fields),
            *(max_distance, max_density),
        ),
    )
    return segments


_MAX_SHARED_PENALTIES: Final = 2048  # as in the source
_MAX_SHARED_RANKS: Final = 5120  # as in the source
_MORE_WORDS: Final = 8  # of marks; a search may read beyond the last word
_MAX_DENSITY: Final = 200  # anchors per 1000 bases; unique sequence has at most 182 with w = 10
_MAX_TEAM_SKIP: Final = 100  # with more, predecessors are rarely skipped
_MAX_INT: Final = 2**31 - 1


CHAIN_PARAMETERS: Final = Struct(
    "parameters",
    (
        *(Scalar("max_distance_x", np.uint32), Scalar("max_distance_y", np.uint32)),
        *(Scalar("bandwidth", np.int32), Array("penalties", np.uint16, "bandwidth", 1)),
    ),
)


def _kernel(*, is_shared: bool) -> Kernel:
    """Return the kernel with penalties and marks in shared memory or in global memory."""
    return chaining_kernel(
        "chain/scores.cu",
        f"chain<{str(is_shared).lower()}>",
        (
            *(ANCHORS, SEGMENTS, CHAIN_PARAMETERS),
            Struct("limits", sizes("max_skip", "max_iterations")),
            CHAIN_SCORES,
            *(Array("marks", np.uint32, "words"), Array("taken", np.uint32, "two")),
            *(Length("words"), Length("two")),
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
    fits_shared = _fits_shared(parameters)
    words = 1 if fits_shared else total // 16 + _MORE_WORDS
    loaded = load_kernel(CHAIN_SHARED if fits_shared else CHAIN_GLOBAL, device)
    loaded.launch(
        persistent_blocks(loaded, _THREADS, device),
        _THREADS,
        (
            *(anchor_fields(anchors), segments.fields, parameter_fields(parameters)),
            (_limited(parameters.max_skip), _limited(parameters.max_iterations)),
            score_fields(scores),
            *(cupy.zeros(words, dtype=np.uint32), cupy.zeros(2, dtype=np.uint32)),
            *(words, 2),
        ),
    )


def parameter_fields(parameters: ChainParameters) -> tuple[GpuArray | int, ...]:
    """Return the fields of `CHAIN_PARAMETERS`: numbers, and uint16 penalties on the device."""
    return (
        min(parameters.max_distance_x, _MAX_INT),
        min(parameters.max_distance_x, parameters.max_distance_y, _MAX_INT),
        parameters.bandwidth,
        cupy.asarray(parameters.penalties),
    )


def _limited(count: int) -> int:
    """Return the number of 32 bits from 0 on that is nearest."""
    return min(max(count, 0), _MAX_INT)

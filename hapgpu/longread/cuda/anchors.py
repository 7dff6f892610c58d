"""Anchors on a GPU (`cuda/longread/seed/anchors.cu`); same as `hapgpu/longread/seed/anchors.py`."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.batches import Anchors, Seeds
from hapgpu.longread.cuda.index import DeviceMinimizerIndex
from hapgpu.longread.cuda.row_sort import sorted_rows
from hapgpu.longread.kernels import LENGTHS, OFFSETS, READS, X, Y, chaining_kernel, sizes
from hapgpu.runtime.gpu.kernel import Array, Length
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

MAX_ANCHORS: Final = 2**31 - 1
"""Largest number of anchors in a batch; the later stages could not hold more on a GPU."""

_THREADS: Final = 128  # per block, as in the source
_BYTES_PER_ANCHOR: Final = 32

_POSITIONS = Array("positions", np.uint32, "seeds")
_ENDS = Array("ends", np.int64, "seeds")
_ANCHOR_SEEDS = Array("anchor_seeds", np.uint32, "anchors")


BOUND_ANCHORS: Final = chaining_kernel(
    "seed/anchors.cu",
    "bound_anchors",
    (
        _ENDS,
        Array("seed_offsets", np.int64, "reads", extra=1),
        OFFSETS,
        Array("counts", np.int32, "reads"),
        *(Length("seeds"), READS),
    ),
)
EXPAND_OCCURRENCES: Final = chaining_kernel(
    "seed/anchors.cu",
    "expand_occurrences",
    (
        Array("occurrences", np.uint64, "occurrence_count"),
        _POSITIONS,
        Array("first_occurrences", np.int64, "seeds"),
        _ENDS,
        X,
        _ANCHOR_SEEDS,
        Length("occurrence_count"),
        *sizes("seeds", "anchors"),
    ),
)
SET_POSITIONS: Final = chaining_kernel(
    "seed/anchors.cu",
    "set_positions",
    (
        _POSITIONS,
        Array("spans", np.uint8, "seeds"),
        Array("is_tandem", np.uint8, "seeds"),
        LENGTHS,
        OFFSETS,
        X,
        _ANCHOR_SEEDS,
        Y,
        Length("seeds"),
        *sizes("anchors", "reads"),
    ),
)


def anchor_offsets(seeds: Seeds) -> GpuArray:
    """Return int64[n + 1] on the device: offsets of the anchors that n reads will have.

    Parameters
    ----------
    seeds
        Seeds of the reads, on the device.
    """
    if not seeds.occurrence_counts.size:
        return cupy.zeros_like(seeds.offsets)
    return _bounds(seeds)[1]


def _bounds(seeds: Seeds) -> tuple[GpuArray, GpuArray, GpuArray]:
    """Return the end of the anchors of each seed, and the offsets and the counts of each read's."""
    reads, seed_count = seeds.offsets.size - 1, seeds.occurrence_counts.size
    ends = cupy.cumsum(seeds.occurrence_counts, dtype=np.int64)
    offsets, counts = cupy.empty(reads + 1, dtype=np.int64), cupy.empty(reads, dtype=np.int32)
    arguments = (ends, seeds.offsets, offsets, counts, seed_count, reads)
    launch_threads(BOUND_ANCHORS, _THREADS, reads + 1, arguments)
    return ends, offsets, counts


def expand_anchors(index: DeviceMinimizerIndex, seeds: Seeds, lengths: GpuArray) -> Anchors:
    """Return the anchors of n reads, as `hapgpu.longread.seed.anchors.expand_anchors` does.

    Works on the current stream of the current device, and waits for it once.

    Parameters
    ----------
    index
        The index in which the seeds were found.
    seeds
        Seeds of n reads, fewer than 2**31 in all, on the device.
    lengths
        int32[n] on the device: lengths of the reads in bases.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The batch has too many anchors.
    """
    reads, seed_count = lengths.size, seeds.occurrence_counts.size
    if not seed_count:
        none = cupy.empty(0, dtype=np.uint64)
        return Anchors(none, none, cupy.zeros(reads + 1, dtype=np.int64))
    ends, offsets, counts = _bounds(seeds)
    (count,) = last_values(offsets)
    if count > MAX_ANCHORS:
        raise cupy.cuda.memory.OutOfMemoryError(count * _BYTES_PER_ANCHOR, 0)
    x, anchor_seeds = cupy.empty(count, dtype=np.uint64), cupy.empty(count, dtype=np.uint32)
    occurrences = (index.occurrences, seeds.positions, seeds.first_occurrences, ends)
    sizes = (index.occurrences.size, seed_count, count)
    launch_threads(EXPAND_OCCURRENCES, _THREADS, count, (*occurrences, x, anchor_seeds, *sizes))
    x, anchor_seeds = sorted_rows(x, anchor_seeds, offsets, counts)
    y = cupy.empty(count, dtype=np.uint64)
    columns = (seeds.positions, seeds.spans, seeds.is_tandem, lengths, offsets)
    arguments = (*columns, x, anchor_seeds, y, seed_count, count, reads)
    launch_threads(SET_POSITIONS, _THREADS, count, arguments)
    return Anchors(x, y, offsets)

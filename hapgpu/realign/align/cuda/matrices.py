"""Alignment by whole matrices (`cuda/realign/align.cu`): a launch per bucket of similar pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.cuda.buckets import Bucket, PairLengths, PairSizes, plan_buckets
from hapgpu.realign.align.cuda.kernels import kernel_for
from hapgpu.realign.align.cuda.layouts import (
    MAX_THREADS_PER_BLOCK,
    MAX_WARPS_PER_BLOCK,
    Grid,
    ScratchLayout,
    choose_grid,
)
from hapgpu.realign.align.cuda.outputs import Outputs
from hapgpu.realign.align.cuda.scratch import affordable_warps
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import KernelArgument
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel
from hapgpu.runtime.gpu_array import GpuArray

_TAG_BITS: Final = 4
_DIAGONAL, _INSERTION_EXTENDED, _DELETION_EXTENDED = 8, 2, 1


def align_by_matrices(
    pairs: DevicePairs, lengths: PairLengths, rows: GpuArray, task: AlignTask, outputs: Outputs
) -> None:
    """Align some pairs of a batch on their GPU, which is the current one, on the current stream.

    Parameters
    ----------
    pairs, lengths
        n pairs and their lengths.
    rows
        int64[k]: the numbers of the pairs to align, at least one.
    task
        If it is without traceback, only scores are written.
    outputs
        Of n pairs; only `rows` are written.
    """
    sizes = PairSizes.of(lengths.take(rows))
    score_type = sizes.score_type(task.scoring)
    order, buckets = plan_buckets(sizes, score_type, with_trace=task.with_trace)
    rows = rows[order]
    chosen = pairs.take(rows)
    output_rows = rows.astype(np.int32)
    kernels = [
        load_kernel(
            kernel_for(bucket.layout.columns, score_type, with_trace=task.with_trace),
            task.device.index,
        )
        for bucket in buckets
    ]
    grids = _grids(buckets, kernels, task)
    words = [grid.warps * bucket.scratch.words for bucket, grid in zip(buckets, grids, strict=True)]
    scratch = cupy.empty(max(words), dtype=np.uint32)  # all launches share it
    sequences = (_sequences(pairs.references), _sequences(pairs.queries))
    for bucket, kernel, grid in zip(buckets, kernels, grids, strict=True):
        part = chosen.slice(bucket.first, bucket.last)
        arguments = (
            (*sequences, part.reference_index, part.query_index, len(part)),
            _steps(task.scoring, task.overhang),
            int(task.overhang),
            *(bucket.layout.lanes, bucket.layout.stripes),
            *_scratch(scratch, bucket.scratch),
            output_rows[bucket.first : bucket.last],
            outputs.fields,
        )
        kernel.launch(grid.blocks, grid.threads_per_block, arguments)


def _sequences(rows: DeviceRagged) -> tuple[KernelArgument, ...]:
    """Return sequences as the kernel takes them."""
    return rows.data, rows.offsets.astype(np.int32), rows.data.size, len(rows)


def _scratch(memory: GpuArray, layout: ScratchLayout) -> tuple[KernelArgument, ...]:
    """Return the memory of all warps as the kernel takes it."""
    return (
        *(memory, memory.size),
        *(layout.words, layout.last_row_at, layout.borders_at, layout.runs_at),
        *(layout.blocks_per_stripe, layout.run_capacity),
    )


def _steps(scoring: Scoring, overhang: Overhang) -> tuple[int, ...]:
    """Return the weights as in the kernel's `Steps`: shifted, with the tag of each step."""
    match, mismatch, gap_open, gap_extend = (weight << _TAG_BITS for weight in scoring.weights)
    border = (0, 0) if overhang.has_free_ends else (scoring.gap_open, scoring.gap_extend)
    return (
        match - gap_open + _DIAGONAL,
        mismatch - gap_open + _DIAGONAL,
        gap_open,
        gap_extend + _INSERTION_EXTENDED,
        gap_extend + _DELETION_EXTENDED,
        *border,
    )


def _grids(
    buckets: Sequence[Bucket], kernels: Sequence[LoadedKernel], task: AlignTask
) -> list[Grid]:
    """Return the grid of each launch, of as many warps as have scratch memory."""
    count = multiprocessors(task.device.index)
    grids = []
    for bucket, kernel in zip(buckets, kernels, strict=True):
        needed = -(-(bucket.last - bucket.first) // bucket.layout.pairs_per_warp)
        blocks = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK)
        resident = blocks * MAX_WARPS_PER_BLOCK * count
        warps = min(needed, resident)
        affordable = affordable_warps(bucket.scratch.words, warps, task.device)
        grids.append(choose_grid(needed, resident, affordable, count))
    return grids

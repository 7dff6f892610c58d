"""Aligner on a GPU (`cuda/realign/align.cu`): one launch per bucket of pairs of similar size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.errors import DeviceError
from hapgpu.realign.align.kernels import MAX_COLUMNS, ScoreType, kernel_for
from hapgpu.realign.align.layouts import (
    MAX_THREADS_PER_BLOCK,
    MAX_WARPS_PER_BLOCK,
    Grid,
    ScratchLayout,
    StripeLayout,
    choose_grid,
    choose_layout,
    scratch_layout,
)
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, multiprocessors, thread_streams
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel

_TAG_BITS = 4
_DIAGONAL, _INSERTION_EXTENDED, _DELETION_EXTENDED = 8, 2, 1
_INT32_SCORES = 1 << 25
_LARGEST_INDEX = 2**31 - 1
_CLASSES = 64  # of reference lengths: powers of two
_RUNS_PER_CIGAR = 8
_BYTES_PER_PAIR = 4 * (6 + _RUNS_PER_CIGAR)


def align_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> AlignmentBatch:
    """Align pairs by GATK's recurrences (Ren et al. 2019, eq. 1-3, with GATK's tie rules).

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The GPU; the result does not depend on it.

    Returns
    -------
    n alignments in the order of the pairs.

    Raises
    ------
    DeviceError
        A single pair does not fit the memory of the device, or a launch fails.
    """
    task = _Task(scoring, overhang, device, with_trace=True)
    return AlignmentBatch.concatenate(_compute(pairs, task))


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    task = _Task(scoring, overhang, device, with_trace=False)
    return np.concatenate([piece.scores for piece in _compute(pairs, task)])


def score_type_for(pairs: PairBatch, scoring: Scoring) -> ScoreType:
    """Return the narrowest type for all tagged scores, and for GATK's lowest score if needed."""
    steps = int(pairs.reference_lengths.max() + pairs.query_lengths.max()) + 2
    return np.int32 if scoring.largest * steps < _INT32_SCORES else np.int64


@dataclass(frozen=True, slots=True)
class _Task:
    """The arguments of a call that all pairs share."""

    scoring: Scoring
    overhang: Overhang
    device: CudaDevice
    with_trace: bool


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Pairs of one launch: `first` to `last` of the sorted batch."""

    layout: StripeLayout
    scratch: ScratchLayout
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Arrays on the device that the launches fill; the CIGARs in `pool` are in no order."""

    scores: Any
    offsets: Any
    cigar_starts: Any
    cigar_counts: Any
    pool: Any
    pool_used: Any

    @classmethod
    def for_pairs(cls, pairs: int, pool_capacity: int) -> _Outputs:
        return cls(
            scores=cupy.empty(pairs, dtype=np.int32),
            offsets=cupy.empty(pairs, dtype=np.int32),
            cigar_starts=cupy.empty(pairs, dtype=np.int32),
            cigar_counts=cupy.empty(pairs, dtype=np.int32),
            pool=cupy.empty(pool_capacity, dtype=np.uint32),
            pool_used=cupy.zeros(1, dtype=np.uint64),
        )

    def of(self, first: int, last: int) -> tuple[Any, ...]:
        """Return the arguments of the launch for pairs `first` to `last`."""
        per_pair = (self.scores, self.offsets, self.cigar_starts, self.cigar_counts)
        return (
            *(array[first:last] for array in per_pair),
            self.pool,
            self.pool.size,
            self.pool_used,
            self.pool_used.size,
        )


def _compute(pairs: PairBatch, task: _Task) -> list[AlignmentBatch]:
    """Compute a batch; split it where it does not fit the memory of the device."""
    try:
        with cupy.cuda.Device(task.device.index), thread_streams(task.device.index, 1)[0]:
            if _fits(pairs, task.device):
                return [_run(pairs, task, _RUNS_PER_CIGAR * len(pairs) + 1024)]
    except OUT_OF_MEMORY:
        cupy.get_default_memory_pool().free_all_blocks()
    except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as error:
        message = f"{task.device.name}: failed ({error})"
        raise DeviceError(message) from error
    if len(pairs) > 1:
        pieces = np.array_split(np.arange(len(pairs)), 2)
        return [
            alignments
            for piece in pieces
            for alignments in _compute(pairs.take(piece).compact(), task)
        ]
    if len(pairs.references) + len(pairs.queries) > 2:
        return _compute(pairs.compact(), task)
    lengths = f"{pairs.reference_lengths[0]:,} and {pairs.query_lengths[0]:,} bases"
    message = f"{task.device.name}: too little memory for a pair of {lengths}"
    raise DeviceError(f"{message}; use --device cpu")


def _fits(pairs: PairBatch, device: CudaDevice) -> bool:
    """Return whether the arrays need at most half of the memory, and offsets fit 32 bits."""
    largest = max(pairs.references.data.size, pairs.queries.data.size)
    size = pairs.references.data.size + pairs.queries.data.size + _BYTES_PER_PAIR * len(pairs)
    return size <= device.memory_budget() // 2 and largest <= _LARGEST_INDEX


def kernel_seconds(
    pairs: PairBatch,
    scoring: Scoring,
    overhang: Overhang,
    device: CudaDevice,
    *,
    with_trace: bool,
    repeats: int,
) -> float:
    """Measure the kernels alone: the median of `repeats` runs, in seconds."""
    task = _Task(scoring, overhang, device, with_trace)
    seconds = []
    with cupy.cuda.Device(device.index), thread_streams(device.index, 1)[0] as stream:
        score_type = score_type_for(pairs, scoring)
        order, buckets = _plan(pairs, score_type, with_trace=with_trace)
        outputs = _Outputs.for_pairs(len(pairs), _RUNS_PER_CIGAR * len(pairs) + 1024)
        launches = _prepare(pairs.take(order), buckets, task, score_type, outputs)
        for _ in range(repeats + 1):
            outputs.pool_used.fill(0)
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            for launch in launches:
                launch()
            end.record(stream)
            end.synchronize()
            seconds.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return float(np.median(seconds[1:]))


def _run(pairs: PairBatch, task: _Task, pool_capacity: int) -> AlignmentBatch:
    """Launch all buckets; once more if the CIGARs did not fit the pool."""
    score_type = score_type_for(pairs, task.scoring)
    order, buckets = _plan(pairs, score_type, with_trace=task.with_trace)
    count = len(pairs)
    traced, capacity = (count, pool_capacity) if task.with_trace else (0, 0)
    outputs = _Outputs.for_pairs(count, capacity)
    for launch in _prepare(pairs.take(order), buckets, task, score_type, outputs):
        launch()
    used = int(outputs.pool_used.get()[0])
    if used > _LARGEST_INDEX:
        raise cupy.cuda.memory.OutOfMemoryError(4 * used, 0)
    if used > capacity:
        return _run(pairs, task, used)
    position = np.empty_like(order)
    position[order] = np.arange(count)
    offsets, starts, counts = (
        array[:traced].get()[position[:traced]]
        for array in (outputs.offsets, outputs.cigar_starts, outputs.cigar_counts)
    )
    cigars = Ragged.gather(outputs.pool[:used].get(), starts, counts)
    return AlignmentBatch(outputs.scores.get()[position], offsets, cigars)


def _plan(
    pairs: PairBatch, score_type: ScoreType, *, with_trace: bool
) -> tuple[NDArray[np.int64], list[_Bucket]]:
    """Sort the pairs into buckets of one layout and of similar scratch size."""
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    # Every warp of a launch has scratch for the largest pair, so references differ at most twofold.
    row_class = np.frexp(rows.astype(np.float64))[1].astype(np.int64)
    sizes, size = np.unique(columns * _CLASSES + row_class, return_inverse=True)
    layouts = [
        choose_layout(int(key) // _CLASSES, 1 << int(key) % _CLASSES, MAX_COLUMNS[score_type])
        for key in sizes
    ]
    numbers = {layout: number for number, layout in enumerate(sorted(set(layouts)))}
    layout_number = np.array([numbers[layout] for layout in layouts], dtype=np.int64)[size]
    launch = layout_number * _CLASSES + row_class
    order = np.lexsort((columns, rows, launch))[::-1]
    changes = np.flatnonzero(np.diff(launch[order])) + 1
    bounds = [0, *changes.tolist(), len(pairs)]
    score_words = np.dtype(score_type).itemsize // 4
    buckets = []
    for first, last in pairwise(bounds):
        layout = layouts[size[order[first]]]
        members = order[first:last]
        scratch = scratch_layout(
            layout,
            int(rows[members].max()),
            int(columns[members].max()),
            score_words=score_words,
            with_trace=with_trace,
        )
        buckets.append(_Bucket(layout, scratch, first, last))
    return order, buckets


def _prepare(
    pairs: PairBatch,
    buckets: list[_Bucket],
    task: _Task,
    score_type: ScoreType,
    outputs: _Outputs,
) -> list[Callable[[], None]]:
    """Upload the pairs, and bind the arguments of each launch; all launches share scratch."""
    sequences = (
        cupy.asarray(pairs.references.data),
        cupy.asarray(pairs.references.offsets.astype(np.int32)),
        cupy.asarray(pairs.queries.data),
        cupy.asarray(pairs.queries.offsets.astype(np.int32)),
    )
    indices = (cupy.asarray(pairs.reference_index), cupy.asarray(pairs.query_index))
    sizes = (
        pairs.references.data.size,
        len(pairs.references),
        pairs.queries.data.size,
        len(pairs.queries),
    )
    budget = task.device.memory_budget() // 4  # words
    kernels, grids = [], []
    for bucket in buckets:
        declared = kernel_for(bucket.layout.columns, score_type, with_trace=task.with_trace)
        kernels.append(load_kernel(declared, task.device.index))
        grids.append(_grid(bucket, kernels[-1], task.device.index, budget))
    words = [grid.warps * bucket.scratch.words for bucket, grid in zip(buckets, grids, strict=True)]
    scratch = cupy.empty(max(words, default=0), dtype=np.uint32)
    return [
        partial(
            kernel.launch,
            grid.blocks,
            grid.threads_per_block,
            (
                *sequences,
                *(index[bucket.first : bucket.last] for index in indices),
                *sizes,
                bucket.last - bucket.first,
                *_steps(task.scoring, task.overhang),
                int(task.overhang),
                bucket.layout.lanes,
                bucket.layout.stripes,
                bucket.scratch.blocks_per_stripe,
                scratch,
                scratch.size,
                bucket.scratch.words,
                bucket.scratch.last_row_at,
                bucket.scratch.borders_at,
                bucket.scratch.runs_at,
                bucket.scratch.run_capacity,
                *outputs.of(bucket.first, bucket.last),
            ),
        )
        for bucket, kernel, grid in zip(buckets, kernels, grids, strict=True)
    ]


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


def _grid(bucket: _Bucket, kernel: LoadedKernel, device: int, budget_words: int) -> Grid:
    count = multiprocessors(device)
    blocks = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK)
    return choose_grid(
        needed=-(-(bucket.last - bucket.first) // bucket.layout.pairs_per_warp),
        resident=blocks * MAX_WARPS_PER_BLOCK * count,
        affordable=budget_words // bucket.scratch.words,
        multiprocessors=count,
    )

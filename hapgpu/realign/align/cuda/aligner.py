"""Aligner on a GPU (`cuda/realign/align.cu`): one launch per bucket of pairs of similar size.

Pairs come from host memory (`align_pairs`, `score_pairs`) or are on the GPU
(`align_device_pairs`, `score_device_pairs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.cuda.buckets import Bucket, PairLengths, PairSizes, plan_buckets
from hapgpu.realign.align.cuda.exact_matches import exact_positions, with_exact_matches
from hapgpu.realign.align.cuda.kernels import ScoreType, kernel_for
from hapgpu.realign.align.cuda.layouts import (
    MAX_THREADS_PER_BLOCK,
    MAX_WARPS_PER_BLOCK,
    Grid,
    ScratchLayout,
    choose_grid,
)
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    multiprocessors,
    thread_streams,
)
from hapgpu.runtime.gpu.kernel import KernelArgument
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel
from hapgpu.runtime.gpu.memory_turns import TooLittleMemoryError, memory_turns
from hapgpu.runtime.gpu_array import GpuArray

_TAG_BITS = 4
_DIAGONAL, _INSERTION_EXTENDED, _DELETION_EXTENDED = 8, 2, 1
_LARGEST_INDEX = 2**31 - 1
_RUNS_PER_CIGAR = 8
_BYTES_PER_PAIR = 4 * (6 + _RUNS_PER_CIGAR)
_SMALL_BYTES = 1 << 26  # of pairs that are tried without asking for the memory of the GPU


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
    return AlignmentBatch.concatenate(_computed(pairs, task))


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    task = _Task(scoring, overhang, device, with_trace=False)
    return np.concatenate([piece.scores for piece in _computed(pairs, task)])


def align_device_pairs(
    pairs: DevicePairs, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> DeviceAlignments:
    """Align pairs on their GPU, which is the current one, on the current stream.

    Parameters
    ----------
    pairs
        n pairs.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The GPU.

    Returns
    -------
    n alignments in the order of the pairs, as `align_pairs` of `dispatch` computes them.

    Raises
    ------
    InputError
        A sequence is empty, or scores would not fit 32 bits.
    DeviceError
        A single pair does not fit the memory of the device.
    """
    if not len(pairs):
        return DeviceAlignments.none()
    task = _Task(scoring, overhang, device, with_trace=True)
    return DeviceAlignments.concatenate(_pieces(pairs, task))


def score_device_pairs(
    pairs: DevicePairs, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> GpuArray:
    """Return only the scores, int32[n] on the GPU, of `align_device_pairs`, in less time."""
    if not len(pairs):
        return DeviceAlignments.none().scores
    task = _Task(scoring, overhang, device, with_trace=False)
    pieces = [piece.scores for piece in _pieces(pairs, task)]
    return pieces[0] if len(pieces) == 1 else cupy.concatenate(pieces)


@dataclass(frozen=True, slots=True)
class _Task:
    """The arguments of a call that all pairs share."""

    scoring: Scoring
    overhang: Overhang
    device: CudaDevice
    with_trace: bool


@dataclass(frozen=True, slots=True)
class _Outputs:
    """Arrays on the device that the launches fill; the CIGARs in `pool` are in no order."""

    scores: GpuArray
    offsets: GpuArray
    cigar_starts: GpuArray
    cigar_counts: GpuArray
    pool: GpuArray
    pool_used: GpuArray

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

    def of(self, first: int, last: int) -> tuple[KernelArgument, ...]:
        """Return the struct of the launch for pairs `first` to `last`."""
        per_pair = (self.scores, self.offsets, self.cigar_starts, self.cigar_counts)
        return (
            *(array[first:last] for array in per_pair),
            *(self.pool, self.pool_used, self.pool_used.size, self.pool.size),
        )


def _computed(pairs: PairBatch, task: _Task) -> list[AlignmentBatch]:
    number = task.device.index
    with device_errors(task.device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        return memory_turns(task.device).compute(partial(_compute, pairs, task))


def _compute(pairs: PairBatch, task: _Task) -> list[AlignmentBatch]:
    """Compute a batch of host memory; split it where it does not fit the memory of the device."""
    try:
        if _fits(pairs, task.device):
            return [_run(DevicePairs.upload(pairs), task).download()]
    except OUT_OF_MEMORY:
        cupy.get_default_memory_pool().free_all_blocks()
    if len(pairs) > 1:
        pieces = np.array_split(np.arange(len(pairs)), 2)
        return [
            alignments
            for piece in pieces
            for alignments in _compute(pairs.take(piece).compact(), task)
        ]
    if len(pairs.references) + len(pairs.queries) > 2:
        return _compute(pairs.compact(), task)
    raise _pair_too_large(pairs.reference_lengths[0], pairs.query_lengths[0], task.device)


def _pieces(pairs: DevicePairs, task: _Task) -> list[DeviceAlignments]:
    """Compute a batch on the device; split it where its work space does not fit the memory."""
    has_small_offsets = max(pairs.references.data.size, pairs.queries.data.size) <= _LARGEST_INDEX
    if has_small_offsets:
        try:
            return [_run(pairs, task)]
        except OUT_OF_MEMORY:
            cupy.get_default_memory_pool().free_all_blocks()
    count = len(pairs)
    if count > 1:
        middle = (count + 1) // 2
        halves = [pairs.slice(0, middle), pairs.slice(middle, count)]
        if not has_small_offsets:
            halves = [half.compact() for half in halves]
        return [piece for half in halves for piece in _pieces(half, task)]
    if len(pairs.references) + len(pairs.queries) > 2:
        return _pieces(pairs.compact(), task)
    raise _pair_too_large(pairs.references.data.size, pairs.queries.data.size, task.device)


def _pair_too_large(rows: int, columns: int, device: CudaDevice) -> TooLittleMemoryError:
    lengths = f"{rows:,} and {columns:,} bases"
    return TooLittleMemoryError(
        f"{device.name}: too little memory for a pair of {lengths}; use --device cpu"
    )


def _fits(pairs: PairBatch, device: CudaDevice) -> bool:
    """Return whether the arrays need at most half of the memory, and offsets fit 32 bits."""
    largest = max(pairs.references.data.size, pairs.queries.data.size)
    size = pairs.references.data.size + pairs.queries.data.size + _BYTES_PER_PAIR * len(pairs)
    if device.memory_limit is None and size <= _SMALL_BYTES:
        return True
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
        uploaded = DevicePairs.upload(pairs)
        outputs = _Outputs.for_pairs(len(pairs), _pool_capacity(uploaded, task))
        _, launches = _prepare(uploaded, PairLengths.of(uploaded), task, outputs)
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


def _pool_capacity(pairs: DevicePairs, task: _Task) -> int:
    return _RUNS_PER_CIGAR * len(pairs) + 1024 if task.with_trace else 0


def _run(pairs: DevicePairs, task: _Task) -> DeviceAlignments:
    """Align pairs, except those that match exactly and whose ends are free, by GATK's rule."""
    lengths = PairLengths.of(pairs)
    lengths.check(task.scoring, task.overhang)
    if not task.overhang.has_free_ends:
        return _by_recurrences(pairs, lengths, task)
    positions = exact_positions(pairs)
    rest = cupy.flatnonzero(positions < 0)
    if rest.size == len(pairs):
        return _by_recurrences(pairs, lengths, task)
    computed = DeviceAlignments.none()
    if rest.size:
        computed = _by_recurrences(pairs.take(rest), lengths.take(rest), task)
    columns, match = lengths.columns, task.scoring.match
    return with_exact_matches(rest, computed, positions, columns, match)


def _by_recurrences(pairs: DevicePairs, lengths: PairLengths, task: _Task) -> DeviceAlignments:
    """Launch all buckets; once more if the CIGARs did not fit the pool."""
    count, capacity = len(pairs), _pool_capacity(pairs, task)
    outputs = _Outputs.for_pairs(count, capacity)
    order, launches = _prepare(pairs, lengths, task, outputs)
    for launch in launches:
        launch()
    scores = _in_input_order(outputs.scores, order)
    if not task.with_trace:
        none = DeviceAlignments.none()
        return DeviceAlignments(scores, none.offsets, none.cigars)
    used = int(outputs.pool_used.get()[0])
    if used > _LARGEST_INDEX:
        raise cupy.cuda.memory.OutOfMemoryError(4 * used, 0)
    if used > capacity:
        outputs = _Outputs.for_pairs(count, used)
        order, launches = _prepare(pairs, lengths, task, outputs)
        for launch in launches:
            launch()
    starts, counts = (
        _in_input_order(array, order) for array in (outputs.cigar_starts, outputs.cigar_counts)
    )
    cigars = DeviceRagged.gather(outputs.pool, starts, counts)
    return DeviceAlignments(scores, _in_input_order(outputs.offsets, order), cigars)


def _in_input_order(values: GpuArray, order: GpuArray) -> GpuArray:
    """Return `values[k]` at `order[k]`."""
    placed = cupy.empty_like(values)
    placed[order] = values
    return placed


def _prepare(
    pairs: DevicePairs, lengths: PairLengths, task: _Task, outputs: _Outputs
) -> tuple[GpuArray, list[Callable[[], None]]]:
    """Sort the pairs, and bind the arguments of each launch; all launches share scratch.

    Returns
    -------
    int64[n] on the GPU, the pair of each row of the outputs; and the launches.
    """
    sizes = PairSizes.of(lengths)
    score_type = sizes.score_type(task.scoring)
    order, buckets = plan_buckets(sizes, score_type, with_trace=task.with_trace)
    return order, _launches(pairs, order, buckets, task, score_type, outputs)


def _launches(
    pairs: DevicePairs,
    order: GpuArray,
    buckets: list[Bucket],
    task: _Task,
    score_type: ScoreType,
    outputs: _Outputs,
) -> list[Callable[[], None]]:
    sequences = (_sequences(pairs.references), _sequences(pairs.queries))
    indices = (pairs.reference_index[order], pairs.query_index[order])
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
                (
                    *sequences,
                    *(index[bucket.first : bucket.last] for index in indices),
                    bucket.last - bucket.first,
                ),
                _steps(task.scoring, task.overhang),
                int(task.overhang),
                *(bucket.layout.lanes, bucket.layout.stripes),
                *_scratch(scratch, bucket.scratch),
                outputs.of(bucket.first, bucket.last),
            ),
        )
        for bucket, kernel, grid in zip(buckets, kernels, grids, strict=True)
    ]


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


def _grid(bucket: Bucket, kernel: LoadedKernel, device: int, budget_words: int) -> Grid:
    count = multiprocessors(device)
    blocks = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK)
    return choose_grid(
        needed=-(-(bucket.last - bucket.first) // bucket.layout.pairs_per_warp),
        resident=blocks * MAX_WARPS_PER_BLOCK * count,
        affordable=budget_words // bucket.scratch.words,
        multiprocessors=count,
    )

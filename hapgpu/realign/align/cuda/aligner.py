"""Aligner on a GPU: batches, and their pieces where a batch does not fit the memory.

Pairs come from host memory (`align_pairs`, `score_pairs`) or are on the GPU
(`align_device_pairs`, `score_device_pairs`).
"""

from __future__ import annotations

from functools import partial
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.cuda.few import align_few
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS
from hapgpu.realign.align.cuda.stages import RUNS_PER_PAIR, align_batch
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY, device_errors, thread_streams
from hapgpu.runtime.gpu.memory_turns import TooLittleMemoryError, memory_turns
from hapgpu.runtime.gpu_array import GpuArray

_LARGEST_INDEX: Final = 2**31 - 1
_MAX_PAIRS: Final = 1 << 27  # of a piece: 32 bits number the elements of its CIGARs
_BYTES_PER_PAIR: Final = 4 * (6 + FIXED_RUNS + RUNS_PER_PAIR)
_SMALL_BYTES: Final = 1 << 26  # of pairs that are tried without asking for the memory of the GPU


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
    task = AlignTask(scoring, overhang, device, with_trace=True)
    return AlignmentBatch.concatenate(_computed(pairs, task))


def score_pairs(
    pairs: PairBatch, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> NDArray[np.int32]:
    """Return only the scores, int32[n], of `align_pairs`, in less time."""
    task = AlignTask(scoring, overhang, device, with_trace=False)
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
    task = AlignTask(scoring, overhang, device, with_trace=True)
    return DeviceAlignments.concatenate(_pieces(pairs, task))


def score_device_pairs(
    pairs: DevicePairs, scoring: Scoring, overhang: Overhang, device: CudaDevice
) -> GpuArray:
    """Return only the scores, int32[n] on the GPU, of `align_device_pairs`, in less time."""
    if not len(pairs):
        return DeviceAlignments.none().scores
    task = AlignTask(scoring, overhang, device, with_trace=False)
    pieces = [piece.scores for piece in _pieces(pairs, task)]
    return pieces[0] if len(pieces) == 1 else cupy.concatenate(pieces)


def _computed(pairs: PairBatch, task: AlignTask) -> list[AlignmentBatch]:
    number = task.device.index
    with device_errors(task.device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        return memory_turns(task.device).compute(partial(_compute, pairs, task))


def _compute(pairs: PairBatch, task: AlignTask) -> list[AlignmentBatch]:
    """Compute a batch of host memory; split it where it does not fit the memory of the device."""
    try:
        if _fits(pairs, task.device):
            if (found := align_few(pairs, task)) is not None:
                return [found]
            return [align_batch(DevicePairs.upload(pairs), task).download()]
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


def _pieces(pairs: DevicePairs, task: AlignTask) -> list[DeviceAlignments]:
    """Compute a batch on the device; split it where its work space does not fit the memory."""
    has_small_offsets = max(pairs.references.data.size, pairs.queries.data.size) <= _LARGEST_INDEX
    count = len(pairs)
    if has_small_offsets and count <= _MAX_PAIRS:
        try:
            return [align_batch(pairs, task)]
        except OUT_OF_MEMORY:
            cupy.get_default_memory_pool().free_all_blocks()
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
    if len(pairs) > _MAX_PAIRS:
        return False
    largest = max(pairs.references.data.size, pairs.queries.data.size)
    size = pairs.references.data.size + pairs.queries.data.size + _BYTES_PER_PAIR * len(pairs)
    if device.memory_limit is None and size <= _SMALL_BYTES:
        return True
    return size <= device.memory_budget() // 2 and largest <= _LARGEST_INDEX

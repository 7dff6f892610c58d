"""Alignment of a batch on a GPU: each stage takes the pairs that those before it leave.

A stage takes far fewer steps per pair than the next one: alignments without a gap that are proved
to be the best (`ungapped`), then matrices (`matrices`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.cuda.buckets import Longest, PairLengths
from hapgpu.realign.align.cuda.matrices import align_by_matrices
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS, Outputs
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.align.cuda.ungapped import UngappedRules, ungapped_alignments
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray

RUNS_PER_PAIR: Final = 8
"""Elements of CIGARs, besides the fixed ones, for which there is memory at first."""

_LARGEST_INDEX: Final = 2**31 - 1


def align_batch(pairs: DevicePairs, task: AlignTask) -> DeviceAlignments:
    """Align pairs on their GPU, which is the current one, on the current stream.

    Parameters
    ----------
    pairs
        n pairs, at least one.
    task
        What to compute.

    Returns
    -------
    n alignments in the order of the pairs; without traceback, only the scores.

    Raises
    ------
    InputError
        A sequence is empty, or scores would not fit 32 bits.
    MemoryError
        The pairs need more memory than there is.
    """
    lengths = PairLengths.of(pairs)
    longest = lengths.checked(task.scoring, task.overhang)
    outputs = Outputs.for_pairs(len(pairs), _other_runs(len(pairs)) if task.with_trace else 0)
    fill(pairs, lengths, longest, task, outputs)
    if not task.with_trace:
        none = DeviceAlignments.none()
        return DeviceAlignments(outputs.scores, none.offsets, none.cigars)
    (used,) = last_values(outputs.pool_used)
    if used > outputs.pool.size:
        if used > _LARGEST_INDEX:
            raise cupy.cuda.memory.OutOfMemoryError(4 * used, 0)
        outputs = Outputs.for_pairs(len(pairs), used - FIXED_RUNS * len(pairs))
        fill(pairs, lengths, longest, task, outputs)
    return outputs.alignments()


class Passes(NamedTuple):
    """Numbers of the pairs that the stages with matrices take.

    Attributes
    ----------
    whole
        int64[k]: all cells are computed, with 32 bits or more.
    """

    whole: GpuArray


def fill(
    pairs: DevicePairs, lengths: PairLengths, longest: Longest, task: AlignTask, outputs: Outputs
) -> Passes:
    """Run all stages.

    Parameters
    ----------
    pairs, lengths, longest
        n pairs, at least one, and their lengths, which were checked.
    task
        What to compute.
    outputs
        Of n pairs, filled.
    """
    rest = _rest_of_ungapped(pairs, longest, task, outputs)
    if rest.size:
        align_by_matrices(pairs, lengths, rest, task, outputs)
    return Passes(rest)


def _other_runs(pairs: int) -> int:
    return RUNS_PER_PAIR * pairs + 1024


def _rest_of_ungapped(
    pairs: DevicePairs, longest: Longest, task: AlignTask, outputs: Outputs
) -> GpuArray:
    """Align pairs without a gap where the ends are free; return int64[k], the other pairs."""
    if not task.overhang.has_free_ends:
        return cupy.arange(len(pairs), dtype=np.int64)
    reaches_lowest = longest.reaches_lowest(task.scoring)
    rules = UngappedRules.of(task.scoring, task.overhang, reaches_lowest=reaches_lowest)
    return ungapped_alignments(pairs, rules, outputs)

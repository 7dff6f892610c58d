"""Alignment of a batch on a GPU: each stage takes the pairs that those before it leave.

A stage takes far fewer steps per pair than the next one: alignments without a gap that are proved
to be the best (`ungapped`), scores of whole matrices in 16 bits (`packed`), alignments that go
straight back from their end cells (`diagonals`), bands around the end cells (`bands`), and whole
matrices with directions (`matrices`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import chosen_rows
from hapgpu.realign.align.cuda.bands import banded_alignments
from hapgpu.realign.align.cuda.batches import DeviceAlignments, DevicePairs
from hapgpu.realign.align.cuda.buckets import PairLengths
from hapgpu.realign.align.cuda.diagonals import diagonal_alignments
from hapgpu.realign.align.cuda.end_cells import ALIGNED, UNCERTIFIED, EndCells
from hapgpu.realign.align.cuda.matrices import align_by_matrices
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS, Outputs
from hapgpu.realign.align.cuda.packed import fits_packed, max_bases, write_end_cells
from hapgpu.realign.align.cuda.packed_layouts import sort_packed
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
    lengths.check(task.scoring, task.overhang)
    outputs = Outputs.for_pairs(len(pairs), _other_runs(len(pairs)) if task.with_trace else 0)
    fill(pairs, lengths, task, outputs)
    if not task.with_trace:
        none = DeviceAlignments.none()
        return DeviceAlignments(outputs.scores, none.offsets, none.cigars)
    (used,) = last_values(outputs.pool_used)
    if used > outputs.pool.size:
        if used > _LARGEST_INDEX:
            raise cupy.cuda.memory.OutOfMemoryError(4 * used, 0)
        outputs = Outputs.for_pairs(len(pairs), used - FIXED_RUNS * len(pairs))
        fill(pairs, lengths, task, outputs)
    return outputs.alignments()


class Passes(NamedTuple):
    """Pairs that the stages with matrices take.

    Attributes
    ----------
    scored
        int64[k]: their numbers where only scores of whole matrices are computed, in 16 bits.
    banded
        int64[k]: their numbers where bands are computed with directions.
    whole
        int64[k]: their numbers where whole matrices are computed, in 32 or 64 bits.
    ends
        End cells of n pairs, known for those `scored`; None if there are none.
    """

    scored: GpuArray
    banded: GpuArray
    whole: GpuArray
    ends: EndCells | None


def fill(pairs: DevicePairs, lengths: PairLengths, task: AlignTask, outputs: Outputs) -> Passes:
    """Run all stages.

    Parameters
    ----------
    pairs, lengths
        n pairs, at least one, and their lengths, which were checked.
    task
        What to compute.
    outputs
        Of n pairs, filled.
    """
    none = cupy.empty(0, dtype=np.int64)
    rest = _rest_of_ungapped(pairs, lengths, task, outputs)
    passes = Passes(none, none, rest, None)
    if rest.size and fits_packed(task.scoring, task.overhang):
        passes = _scored(pairs, lengths, rest, task, outputs)
    if passes.whole.size:
        align_by_matrices(pairs, lengths, passes.whole, task, outputs)
    return passes


def _rest_of_ungapped(
    pairs: DevicePairs, lengths: PairLengths, task: AlignTask, outputs: Outputs
) -> GpuArray:
    """Align pairs without a gap where the ends are free; return int64[k], the other pairs."""
    if not task.overhang.has_free_ends:
        return cupy.arange(len(pairs), dtype=np.int64)
    reaches_lowest = lengths.extremes.reaches_lowest(task.scoring)
    rules = UngappedRules.of(task.scoring, task.overhang, reaches_lowest=reaches_lowest)
    return ungapped_alignments(pairs, rules, outputs)


def _scored(
    pairs: DevicePairs, lengths: PairLengths, rest: GpuArray, task: AlignTask, outputs: Outputs
) -> Passes:
    """Find the end cells of pairs first, then their alignments; `whole` are left."""
    scoring, overhang = task.scoring, task.overhang
    is_all = rest.size == len(pairs)
    sizes = lengths if is_all else lengths.take(rest)
    order, buckets = sort_packed(sizes, max_bases(scoring))
    rows = cupy.full(len(pairs), ALIGNED, dtype=np.int32)
    ends = EndCells(outputs.scores, rows, cupy.empty(len(pairs), dtype=np.int32))
    numbers = order if is_all else rest[order]
    write_end_cells(pairs, numbers, buckets, ends, task)
    none = rest[:0]
    if not task.with_trace:
        return Passes(rest, none, chosen_rows(rows == UNCERTIFIED), ends)
    diagonal_alignments(pairs, ends, scoring, overhang, outputs)
    gapped = chosen_rows(outputs.cigar_counts == 0)
    if not gapped.size:
        return Passes(rest, none, none, ends)
    whole = banded_alignments(pairs, gapped, ends, task, outputs)
    return Passes(rest, gapped, whole, ends)


def _other_runs(pairs: int) -> int:
    return RUNS_PER_PAIR * pairs + 1024

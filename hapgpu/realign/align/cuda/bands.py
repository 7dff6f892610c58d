"""Tracebacks in bands of diagonals around end cells, on a GPU (`cuda/realign/bands.cu`).

A band holds every alignment that has the score of its pair. Let p be the row and q the column of
the end cell, b the best step of the diagonal or 0, and gap weights be no bonus. An alignment that
visits a diagonal with x more rows per column inserts x bases from there to the end cell. So it has
at most min(p, q - x) steps of the diagonal, of b each, and loses at least
-open - (x - 1) * max(open, extend) by gaps; borders only lose more. On the other side the same
holds for x deleted bases and min(p - x, q) steps. An alignment with the score S loses
b * min(p, q) - S. So x is bounded, unless nothing is lost per base: then by the matrix.

The traceback stays on the diagonal while bases match, if no step has more than a match and a gap
costs least by its extension: a gap that ends beside a match is no better one base before it, with
the match after it. So a band may end before all matches of the end cell's diagonal.

Within a band that holds all these alignments, the traceback is as in the matrix. Each source that
ties on it is the end of one of them, and has the same score in both. Other sources have no higher
score than in the matrix, as fewer alignments lead there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.realign.align.cuda.batches import PAIRS, DevicePairs
from hapgpu.realign.align.cuda.diagonals import BORDER, border_weights
from hapgpu.realign.align.cuda.end_cells import END_CELLS, EndCells
from hapgpu.realign.align.cuda.layouts import (
    MAX_THREADS_PER_BLOCK,
    MAX_WARPS_PER_BLOCK,
    ROWS_PER_WORD,
    WARP_LANES,
    choose_grid,
)
from hapgpu.realign.align.cuda.outputs import OUTPUTS, Outputs
from hapgpu.realign.align.cuda.scratch import affordable_warps
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256
_TAG_BITS: Final = 4
_DIAGONAL, _INSERTION_EXTENDED, _DELETION_EXTENDED = 8, 2, 1
_SCORE_LIMIT: Final = 1 << 23
"""Bound of the scores. Rows after the last one of a band may lower its unused cells as much."""

_ROW_CLASSES: Final = 32  # by the binary digits of the number of rows
_ROW_BITS: Final = 24  # of a key, below the class

PLAN_BANDS: Final = Kernel(
    "realign/band_plan.cu",
    "plan_bands",
    (
        *(PAIRS, END_CELLS),
        *(Array("rows", np.int64, "count"), Scalar("count", np.int32)),
        Struct(
            "weights",
            tuple(
                Scalar(name, np.int32) for name in ("best_step", "open", "smaller", "skips_matches")
            ),
        ),
        *(Scalar(name, np.int32) for name in ("largest_weight", "score_limit")),
        *(Array(name, np.int32, "count") for name in ("matches", "after", "keys")),
        *(Array("counts", np.int32, "counted"), Length("counted")),
    ),
)


class BandLayout(NamedTuple):
    """Diagonals of a lane in registers, and lanes of a band."""

    diagonals: int
    lanes: int


LAYOUTS = (
    *(BandLayout(diagonals, 1) for diagonals in (8, 16, 24, 32)),
    *(BandLayout(16, lanes) for lanes in (4, 8, 16, 32)),
)
"""Layout of each class of widths."""
_CLASSES: Final = len(LAYOUTS)


@cache
def band_kernel(diagonals: int, *, is_shared: bool) -> Kernel:
    """Return the kernel for a number of diagonals per lane, one lane per band or several."""
    names = ("match", "mismatch", "gap_open", "insertion_extend", "deletion_extend")
    steps = tuple(Scalar(name, np.int32) for name in names)
    others = (Scalar("match", np.int32), Scalar("overhang", np.int32))
    return Kernel(
        "realign/bands.cu",
        f"banded_alignments<{diagonals}, {str(is_shared).lower()}>",
        (
            *(PAIRS, END_CELLS),
            Array("rows", np.int64, "planned"),
            *(Array(name, np.int32, "planned") for name in ("matches", "after")),
            *(Array("order", np.int64, "count"), Length("planned"), Scalar("count", np.int32)),
            Struct("task", (Struct("step", steps), BORDER, *others)),
            Scalar("group_lanes", np.int32),
            *(Array("scratch", np.uint32, "scratch_words"), Length("scratch_words")),
            *(Scalar("words_per_warp", np.int64), OUTPUTS),
        ),
    )


def banded_alignments(
    pairs: DevicePairs,
    rows: GpuArray,
    ends: EndCells,
    scoring: Scoring,
    overhang: Overhang,
    device: CudaDevice,
    outputs: Outputs,
) -> GpuArray:
    """Write alignments that are traced back in bands; waits for the GPU.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences, on the current GPU.
    rows
        int64[k]: the pairs to align.
    ends
        End cells of the n pairs.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference.
    device
        The current GPU.
    outputs
        The alignments of the n pairs.

    Returns
    -------
    int64[r]: those of `rows` that are left to the kernel for whole matrices, because of a wide
    band, large scores, or an end cell that is not known.

    Raises
    ------
    cupy.cuda.memory.OutOfMemoryError
        The directions do not fit the memory of the device; nothing is written then.
    """
    if not rows.size or max(scoring.gap_open, scoring.gap_extend) > 0:
        return rows
    count = int(rows.size)
    plan = _plan(pairs, rows, ends, scoring)
    order = cupy.argsort(-plan.keys)
    buckets = list(_buckets(cupy.asnumpy(plan.counts)))
    whole = sum(bucket.count for bucket in buckets if bucket.width_class == _CLASSES)
    border = border_weights(scoring, overhang)
    task = (_steps(scoring), border, scoring.match, int(overhang))
    inputs = (pairs.fields, ends.fields, rows, plan.matches, plan.after)
    _launch(buckets, inputs, (order, count), task, device, outputs)
    return rows[order[:whole]]


def band_cells(pairs: DevicePairs, rows: GpuArray, ends: EndCells, scoring: Scoring) -> GpuArray:
    """Return int64[k]: the cells that `banded_alignments` computes of each pair of `rows`.

    Parameters
    ----------
    pairs, rows, ends, scoring
        As for `banded_alignments`, with gaps that are no bonus; `rows` are int64[k], k > 0.
    """
    keys = _plan(pairs, rows, ends, scoring).keys
    widths = [layout.diagonals * layout.lanes for layout in LAYOUTS]
    band_rows = keys & (1 << _ROW_BITS) - 1
    return cupy.array([*widths, 0], dtype=np.int64)[keys >> _ROW_BITS] * band_rows


class _Plan(NamedTuple):
    """What the kernel `plan_bands` writes, all int32."""

    matches: GpuArray
    after: GpuArray
    keys: GpuArray
    counts: GpuArray


def _plan(pairs: DevicePairs, rows: GpuArray, ends: EndCells, scoring: Scoring) -> _Plan:
    count = int(rows.size)
    matches, after, keys = (cupy.empty(count, dtype=np.int32) for _ in range(3))
    plan = _Plan(matches, after, keys, cupy.zeros((_CLASSES + 1) * _ROW_CLASSES, dtype=np.int32))
    limits = (scoring.largest, _SCORE_LIMIT)
    planned = (rows, count, _gap_weights(scoring), *limits, *plan, plan.counts.size)
    launch_threads(PLAN_BANDS, _THREADS, count, (pairs.fields, ends.fields, *planned))
    return plan


@dataclass(frozen=True, slots=True)
class _Bucket:
    """Bands of a launch: `first` to `first + count` in order of their keys."""

    width_class: int
    first: int
    count: int
    most_rows: int


def _buckets(counts: NDArray[np.int32]) -> Iterator[_Bucket]:
    """Yield the buckets of bands that `plan_bands` counted, the widest and longest first."""
    first = 0
    for number in np.flatnonzero(counts)[::-1].tolist():
        width_class, digits = divmod(number, _ROW_CLASSES)
        count = int(counts[number])
        yield _Bucket(width_class, first, count, max((1 << digits) - 1, 1))
        first += count


def _launch(
    buckets: list[_Bucket],
    inputs: tuple[KernelArgument, ...],
    ordered: tuple[GpuArray, int],
    task: tuple[KernelArgument, ...],
    device: CudaDevice,
    outputs: Outputs,
) -> None:
    """Launch the kernels of all buckets; they share scratch memory."""
    order, planned = ordered
    count = multiprocessors(device.index)
    launches = []
    for bucket in buckets:
        if bucket.width_class == _CLASSES:
            continue
        layout = LAYOUTS[bucket.width_class]
        kernel = load_kernel(
            band_kernel(layout.diagonals, is_shared=layout.lanes > 1), device.index
        )
        blocks = -(-(bucket.most_rows + layout.lanes - 1) // ROWS_PER_WORD)
        words = blocks * layout.diagonals * WARP_LANES
        blocks_each = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK)
        needed = -(-bucket.count * layout.lanes // WARP_LANES)
        resident = blocks_each * MAX_WARPS_PER_BLOCK * count
        affordable = affordable_warps(words, min(needed, resident), device)
        grid = choose_grid(needed, resident, affordable, count)
        launches.append((bucket, layout, kernel, grid, words))
    most = max((grid.warps * words for *_, grid, words in launches), default=0)
    scratch = cupy.empty(most, dtype=np.uint32)
    for bucket, layout, kernel, grid, words in launches:
        part = order[bucket.first : bucket.first + bucket.count]
        arguments = (*inputs, part, planned, bucket.count, task, layout.lanes)
        memory = (scratch, scratch.size, words)
        kernel.launch(grid.blocks, grid.threads_per_block, (*arguments, *memory, outputs.fields))


def _gap_weights(scoring: Scoring) -> tuple[int, int, int, bool]:
    """Return the fields of the kernel's `GapWeights`, as losses."""
    best_step = max(scoring.match, scoring.mismatch, 0)
    smaller = min(-scoring.gap_open, -scoring.gap_extend)
    skips_matches = scoring.match == best_step and scoring.gap_open <= scoring.gap_extend
    return best_step, -scoring.gap_open, smaller, skips_matches


def _steps(scoring: Scoring) -> tuple[int, ...]:
    """Return the weights as in the kernel's `Steps`: shifted, with the tag of each step."""
    match, mismatch, gap_open, gap_extend = (weight << _TAG_BITS for weight in scoring.weights)
    return (
        match - gap_open + _DIAGONAL,
        mismatch - gap_open + _DIAGONAL,
        gap_open,
        gap_extend + _INSERTION_EXTENDED,
        gap_extend + _DELETION_EXTENDED,
    )

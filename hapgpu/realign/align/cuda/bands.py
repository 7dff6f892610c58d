"""Tracebacks in bands of diagonals around end cells, on a GPU (`cuda/realign/align/bands.cu`).

A band holds every alignment that has the score of its pair. Let p be the row and q the column of
the end cell, b the best step of the diagonal or 0, and gap weights be no bonus. An alignment that
visits a diagonal with x more rows per column inserts x bases from there to the end cell. So it has
at most min(p, q - x) steps of the diagonal, of b each, and loses at least
-open - (x - 1) * max(open, extend) by gaps; borders only lose more. On the other side the same
holds for x deleted bases and min(p - x, q) steps. An alignment with the score S loses
b * min(p, q) - S. So x is bounded, unless nothing is lost per base: then by the matrix.

The traceback stays on a diagonal while its bases match, if no step scores more than a match and an
extension costs no more than an opening. Take an alignment that ends with an insertion where bases
match, and the step by which it came to this row. With the same insertion one row before, or a
shorter one, and the match after it, it scores no less; columns likewise. So a band may end before
the matches of the end cell's diagonal.

Within a band that holds all these alignments, the traceback is as in the matrix. Each source that
ties on it is the end of one of them, and has the same score in both. Other sources have no higher
score than in the matrix, as fewer alignments lead there.
"""

from __future__ import annotations

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
    Grid,
    choose_grid,
)
from hapgpu.realign.align.cuda.outputs import OUTPUTS, Outputs
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256
_TAG_BITS: Final = 4
_DIAGONAL, _INSERTION_EXTENDED, _DELETION_EXTENDED = 8, 2, 1
_SCORE_LIMIT: Final = 1 << 23
"""Bound of the scores. Rows after the last one of a band may lower its unused cells as much."""

_ROW_GROUPS: Final = 16
_SHORT_ROWS: Final = 512  # bands of row group g have fewer rows than this << g
_LANE_DIAGONALS: Final = 8
_KEPT_RUNS: Final = 16
_BANDS_PER_WARP: Final = WARP_LANES // np.arange(WARP_LANES, 0, -1)  # by descending width
_ROW_BINS: Final = 64  # of the bands of a row group and a width
_BINS_PER_GROUP: Final = WARP_LANES * _ROW_BINS
_BINS: Final = 1 + _ROW_GROUPS * _BINS_PER_GROUP  # bin 0 is of pairs without a band

PLAN_BANDS: Final = Kernel(
    "realign/align/band_plan.cu",
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
        *(Array(name, np.int32, "count") for name in ("matches", "after", "bins")),
        *(Array("bin_counts", np.int32, "all_bins"), Length("all_bins")),
    ),
)

ORDER_BANDS: Final = Kernel(
    "realign/align/band_plan.cu",
    "order_bands",
    (
        *(Array("bins", np.int32, "count"), Scalar("count", np.int32)),
        *(Array("bounds", np.int32, "all_bins"), Length("all_bins")),
        Array("order", np.int32, "count"),
    ),
)


_TASK: Final = Struct(
    "task",
    (
        Struct(
            "step",
            tuple(
                Scalar(name, np.int32)
                for name in ("match", "mismatch", "gap_open", "insertion_extend", "deletion_extend")
            ),
        ),
        *(BORDER, Scalar("match", np.int32), Scalar("overhang", np.int32)),
    ),
)

BANDED_ALIGNMENTS: Final = Kernel(
    "realign/align/bands.cu",
    "banded_alignments",
    (
        *(PAIRS, END_CELLS),
        Array("rows", np.int64, "planned"),
        *(Array(name, np.int32, "planned") for name in ("matches", "after")),
        *(Array("order", np.int32, "planned"), Length("planned")),
        *(Array("bounds", np.int32, "group_bins", 1), Length("group_bins")),
        *(Array("taken", np.int32, "one"), Length("one")),
        *(_TASK, Array("scratch", np.uint32, "scratch_words"), Length("scratch_words")),
        *(Scalar("words_per_warp", np.int64), OUTPUTS),
    ),
)


def banded_alignments(
    pairs: DevicePairs,
    rows: GpuArray,
    ends: EndCells,
    task: AlignTask,
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
    task
        Weights, treatment of query bases outside the reference, and the current GPU.
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
    scoring, overhang, device = task.scoring, task.overhang, task.device
    if not rows.size or max(scoring.gap_open, scoring.gap_extend) > 0:
        return rows
    count = int(rows.size)
    matches, after, bins, counts = _plan(pairs, rows, ends, scoring)
    order = cupy.empty(count, dtype=np.int32)
    bounds = cupy.cumsum(counts[: _BINS + 1], dtype=np.int32)
    launch_threads(ORDER_BANDS, _THREADS, count, (bins, count, bounds, _BINS, order))

    left, by_group = _counts_of(bounds)
    kernel = load_kernel(BANDED_ALIGNMENTS, device.index)
    launches = _launches(kernel, by_group, device)
    largest = max((grid.warps * words for _, grid, words in launches), default=0)
    scratch = cupy.empty(largest, dtype=np.uint32)
    weights = (_steps(scoring), border_weights(scoring, overhang), scoring.match, int(overhang))
    for group, grid, words in launches:
        first = 1 + group * _BINS_PER_GROUP
        arguments = (
            *(pairs.fields, ends.fields, rows, matches, after, order, count),
            *(bounds[first : first + _BINS_PER_GROUP + 1], _BINS_PER_GROUP),
            *(counts[_BINS + 1 + group :], 1, weights, scratch, scratch.size, words),
            outputs.fields,
        )
        kernel.launch(grid.blocks, grid.threads_per_block, arguments)
    return rows[order[:left]] if left else rows[:0]


def band_cells(pairs: DevicePairs, rows: GpuArray, ends: EndCells, scoring: Scoring) -> GpuArray:
    """Return int64[k]: how many cells `banded_alignments` at least computes of each pair of `rows`.

    Parameters
    ----------
    pairs, rows, ends, scoring
        As for `banded_alignments`, with gaps that are no bonus; `rows` are int64[k], k > 0.
    """
    bins = _plan(pairs, rows, ends, scoring).bins - 1
    in_group = bins % _BINS_PER_GROUP
    group = _ROW_GROUPS - 1 - bins // _BINS_PER_GROUP
    lanes = WARP_LANES - in_group // _ROW_BINS
    row_bin = (_ROW_BINS - 1 - in_group % _ROW_BINS).astype(np.int64)
    fewest = (row_bin * (_SHORT_ROWS // _ROW_BINS)) << cupy.maximum(group, 0)
    return cupy.where(bins >= 0, fewest * lanes * _LANE_DIAGONALS, 0)


class _Plan(NamedTuple):
    """What the kernel `plan_bands` writes, all int32.

    After the counts of the bins, there is room for the end of the last bin, and for the numbers
    of the launches.
    """

    matches: GpuArray
    after: GpuArray
    bins: GpuArray
    counts: GpuArray


def _plan(pairs: DevicePairs, rows: GpuArray, ends: EndCells, scoring: Scoring) -> _Plan:
    count = int(rows.size)
    matches, after, bins = (cupy.empty(count, dtype=np.int32) for _ in range(3))
    plan = _Plan(matches, after, bins, cupy.zeros(_BINS + 1 + _ROW_GROUPS, dtype=np.int32))
    weights = (_gap_weights(scoring), scoring.largest, _SCORE_LIMIT)
    arguments = (pairs.fields, ends.fields, rows, count, *weights, *plan, _BINS)
    launch_threads(PLAN_BANDS, _THREADS, count, arguments)
    return plan


def _counts_of(bounds: GpuArray) -> tuple[int, NDArray[np.int64]]:
    """Return the number of pairs without a band, and int64[16, 32]: of bands by group and width.

    `bounds` are the starts of the bins; row groups and widths come in their order.
    """
    starts = cupy.asnumpy(bounds[1::_ROW_BINS])
    return int(starts[0]), np.diff(starts).reshape(_ROW_GROUPS, WARP_LANES).astype(np.int64)


def _launches(
    kernel: LoadedKernel, by_group: NDArray[np.int64], device: CudaDevice
) -> list[tuple[int, Grid, int]]:
    """Return the row groups with bands, the grids for them, and words of scratch per warp."""
    processors = multiprocessors(device.index)
    resident = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK) * MAX_WARPS_PER_BLOCK
    budget = device.memory_budget() // 4  # words
    launches = []
    for group, by_width in enumerate(by_group):
        if by_width.any():
            words = _words_per_warp(_SHORT_ROWS << (_ROW_GROUPS - 1 - group))
            needed = int((-(-by_width // _BANDS_PER_WARP)).sum())
            grid = choose_grid(needed, resident * processors, budget // words, processors)
            launches.append((group, grid, words))
    return launches


def _words_per_warp(rows: int) -> int:
    """Return the words of scratch memory for bands with fewer rows."""
    blocks = -(-(rows + WARP_LANES) // ROWS_PER_WORD)
    return WARP_LANES * (_KEPT_RUNS + blocks * _LANE_DIAGONALS)


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

"""Best end cells of pairs on a GPU, two pairs at a time (`cuda/realign/end_cells.cu`).

A cell of score H at column j has the cost match * j - H. With the weights of `fits_packed`, no step
of an alignment lowers it, and costs are 16 bits wide. They have two forms:

- Small: no cell costs more than one gap of each kind over all bases. If that is below 2,048, costs
  are exact.
- Wide: costs are clamped, every few rows, at a cap that leaves room for the rows between: a cell
  costs at most the cell above it and the opening of a deletion. Clamping only lowers costs, and no
  path through a clamped cell ends below the cap. So cells below the cap are exact, and all others
  have scores of at most match * m - cap, for m query bases. A best score above that is exact, and
  so are its ties. Other pairs are `UNCERTIFIED`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import cupy
import numpy as np

from hapgpu.realign.align.cuda.batches import PAIRS, DevicePairs
from hapgpu.realign.align.cuda.buckets import PairLengths
from hapgpu.realign.align.cuda.end_cells import END_CELLS, UNCERTIFIED, EndCells
from hapgpu.realign.align.cuda.layouts import (
    MAX_THREADS_PER_BLOCK,
    MAX_WARPS_PER_BLOCK,
    Grid,
    choose_grid,
)
from hapgpu.realign.align.cuda.packed_layouts import MAX_BASES, PackedBucket, sort_packed
from hapgpu.realign.align.cuda.scratch import affordable_warps
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.realign.scoring import LOWEST_SCORE, Overhang, Scoring
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel
from hapgpu.runtime.gpu_array import GpuArray

_LARGEST_STEP: Final = 2047
_SMALL_COST: Final = 2047  # half precision holds integers up to it as their own bits
_LARGEST_COST: Final = 2**16 - 1
_ROWS_PER_CLAMP: Final = 8  # as in the source
_HALVES: Final = 0x00010001

_HALF_STEPS: Final = (
    *("mismatch", "insertion_open", "insertion_extend", "deletion_open", "deletion_extend"),
    *("edge_open", "edge_extend", "cap"),
)
_STEPS: Final = Struct(
    "steps",
    (
        *(Scalar(name, np.uint32) for name in _HALF_STEPS),
        *(Scalar(name, np.int32) for name in ("top_open", "top_extend", "match", "divisor")),
    ),
)


@cache
def end_cells_kernel(columns: int, *, is_wide: bool) -> Kernel:
    """Return the kernel for a number of columns per lane, for small or wide costs."""
    return Kernel(
        "realign/align/end_cells.cu",
        f"end_cells<{columns}, {str(is_wide).lower()}>",
        (
            *(PAIRS, Array("order", np.int64, "count"), Scalar("count", np.int32), _STEPS),
            *(Scalar(name, np.int32) for name in ("overhang", "group_lanes", "stripes")),
            *(Array("scratch", np.uint32, "scratch_words"), Length("scratch_words")),
            *(Scalar(n, np.int64) for n in ("words_per_warp", "borders_at", "last_rows_at")),
            *(Scalar("row_capacity", np.int32), END_CELLS),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Costs:
    """Costs of the steps, from weights that are divided by their divisor."""

    mismatch: int
    insertion_open: int
    insertion_extend: int
    deletion_open: int
    deletion_extend: int
    match: int

    @classmethod
    def of(cls, scoring: Scoring) -> _Costs:
        match, mismatch, gap_open, gap_extend = scoring.divided().weights
        gaps = (match - gap_open, match - gap_extend, -gap_open, -gap_extend)
        return cls(match - mismatch, *gaps, match)

    @property
    def steps(self) -> tuple[int, int, int, int, int]:
        gaps = (self.insertion_open, self.insertion_extend)
        return (self.mismatch, *gaps, self.deletion_open, self.deletion_extend)

    @property
    def cap(self) -> int:
        """The limit of clamped costs: deletions and a step, before the next clamp, fit 16 bits."""
        return _LARGEST_COST - max(self.steps) - _ROWS_PER_CLAMP * self.deletion_open

    def highest(self, rows: int, columns: int, overhang: Overhang) -> int:
        """Return a cost that no cell of a matrix exceeds."""
        highest = self.insertion_open + columns * self.insertion_extend
        if overhang.has_free_ends:
            return highest
        return highest + self.deletion_open + rows * self.deletion_extend

    def arguments(self, overhang: Overhang, divisor: int) -> tuple[int, ...]:
        """Return the fields of the kernel's `Steps`."""
        edge, top = (0, 0), (self.match, self.match)
        if not overhang.has_free_ends:
            edge = (self.deletion_open, self.deletion_extend)
            top = (self.insertion_open, self.insertion_extend)
        halves = (_HALVES * cost for cost in (*self.steps, *edge, self.cap))
        return (*halves, *top, self.match, divisor)


def fits_packed(scoring: Scoring, overhang: Overhang) -> bool:
    """Return whether costs of 16 bits are possible: no step is negative or too large.

    GATK's weights fit, and usual others. Where ends are free, also a query base outside the
    reference is a step, of the weight of a match.
    """
    costs = _Costs.of(scoring)
    steps = (*costs.steps, costs.match) if overhang.has_free_ends else costs.steps
    return min(steps) >= 0 and max(steps) <= _LARGEST_STEP


def packed_end_cells(
    pairs: DevicePairs,
    lengths: PairLengths,
    scoring: Scoring,
    overhang: Overhang,
    device: CudaDevice,
) -> EndCells:
    """Find the best end cells of pairs on the current GPU and stream, without GATK's exact matches.

    Parameters
    ----------
    pairs, lengths
        n pairs, at least one, and their lengths, which `PairLengths.check` has accepted.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference; `fits_packed` is true.
    device
        The GPU.

    Returns
    -------
    n end cells in the order of the pairs.

    Raises
    ------
    MemoryError
        The memory of the GPU is too small (`OUT_OF_MEMORY`).
    """
    ends = EndCells(*(cupy.empty(len(pairs), dtype=np.int32) for _ in range(3)))
    order, buckets = sort_packed(lengths, max_bases(scoring))
    task = AlignTask(scoring, overhang, device, with_trace=False)
    write_end_cells(pairs, order, buckets, ends, task)
    return ends


def max_bases(scoring: Scoring) -> int:
    """Return the most bases of both sequences of a pair with which GATK's bounds cannot matter."""
    return min(MAX_BASES, (-LOWEST_SCORE - 1) // max(scoring.largest, 1) - 2)


def write_end_cells(
    pairs: DevicePairs,
    order: GpuArray,
    buckets: list[PackedBucket],
    ends: EndCells,
    task: AlignTask,
) -> None:
    """Find end cells as `packed_end_cells`, of pairs that are sorted into buckets.

    Parameters
    ----------
    pairs
        As for `packed_end_cells`.
    order
        int64[k]: numbers of pairs, first those in no bucket, which are not certified.
    buckets
        All buckets.
    ends
        Of n pairs; only those of the `order` are written.
    task
        Weights, treatment of query bases outside the reference, and GPU.

    Raises
    ------
    MemoryError
        The memory of the GPU is too small (`OUT_OF_MEMORY`).
    """
    others = buckets[0].first if buckets else int(order.size)
    if others:
        ends.rows[order[:others]] = UNCERTIFIED
    scoring, overhang, device = task.scoring, task.overhang, task.device
    costs = _Costs.of(scoring)
    steps = costs.arguments(overhang, scoring.divisor)
    launches = []
    for bucket in buckets:
        members = order[bucket.first : bucket.last]
        highest = costs.highest(bucket.rows, bucket.max_columns, overhang)
        kernel = end_cells_kernel(bucket.layout.columns, is_wide=highest > _SMALL_COST)
        loaded = load_kernel(kernel, device.index)
        launches.append((bucket, members, loaded, _grid(bucket, loaded, device)))
    words = max((grid.warps * bucket.scratch.words for bucket, *_, grid in launches), default=0)
    scratch = cupy.empty(words, dtype=np.uint32)
    for bucket, members, loaded, grid in launches:
        loaded.launch(
            grid.blocks,
            grid.threads_per_block,
            (
                *(pairs.fields, members, members.size, steps, int(overhang)),
                *(bucket.layout.lanes, bucket.layout.stripes, scratch, scratch.size),
                *(bucket.scratch.words, bucket.scratch.borders_at, bucket.scratch.last_rows_at),
                *(bucket.row_capacity, ends.fields),
            ),
        )


def _grid(bucket: PackedBucket, kernel: LoadedKernel, device: CudaDevice) -> Grid:
    count = multiprocessors(device.index)
    resident = kernel.blocks_per_multiprocessor(MAX_THREADS_PER_BLOCK) * MAX_WARPS_PER_BLOCK * count
    warps = min(bucket.warps_needed, resident)
    affordable = affordable_warps(bucket.scratch.words, warps, device)
    return choose_grid(bucket.warps_needed, resident, affordable, count)

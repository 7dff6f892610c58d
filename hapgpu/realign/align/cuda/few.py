"""Few pairs of host memory, in as few launches and copies as possible.

Launches and waiting take longer than the cells of few pairs. So the host plans, all matrices are
computed, and all alignments without a gap inside follow from their end cells: the result is the
same as with the search without gaps before (`stages`). Gapped alignments take bands, and only what
is left then, or what the kernels do not take, all stages.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import Ragged
from hapgpu.realign.align.cuda.bands import banded_alignments
from hapgpu.realign.align.cuda.batches import DevicePairs
from hapgpu.realign.align.cuda.diagonals import diagonal_alignments
from hapgpu.realign.align.cuda.end_cells import EndCells
from hapgpu.realign.align.cuda.layouts import WARP_LANES, choose_layout
from hapgpu.realign.align.cuda.outputs import FIXED_RUNS, Outputs
from hapgpu.realign.align.cuda.packed import fits_packed, max_bases, write_end_cells
from hapgpu.realign.align.cuda.packed_layouts import MAX_COLUMNS, PackedBucket
from hapgpu.realign.align.cuda.tasks import AlignTask
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.transfers import downloaded_together, uploaded_together

FEW: Final = 1 << 13
"""Pairs up to which the host plans faster than the GPU."""

_OTHER_RUNS: Final = 8  # of a pair, for which there is memory
_WARPS_PER_MULTIPROCESSOR: Final = 8  # that occupy it
_CLASSES: Final = 64  # of reference lengths, by their binary digits


def align_few(pairs: PairBatch, task: AlignTask) -> AlignmentBatch | None:
    """Align pairs on the current GPU and stream.

    Parameters
    ----------
    pairs
        n pairs, at least one, of non-empty sequences whose scores fit 32 bits.
    task
        What to compute.

    Returns
    -------
    n alignments in the order of the pairs; without traceback, only the scores. None if they are not
    few, or need all stages.

    Raises
    ------
    MemoryError
        The pairs need more memory than there is.
    """
    if len(pairs) > FEW or not _are_possible(pairs, task):
        return None
    on_device, ends = _end_cells(pairs, task)
    return _aligned(on_device, ends, task) if task.with_trace else _scored(ends)


def _are_possible(pairs: PairBatch, task: AlignTask) -> bool:
    """Return whether the kernels take the pairs, and no exact match has to be found first."""
    scoring, overhang = task.scoring, task.overhang
    is_usual = scoring.prefers_exact_match or not overhang.has_free_ends
    bases = int((pairs.reference_lengths + pairs.query_lengths).max())
    return is_usual and fits_packed(scoring, overhang) and bases <= max_bases(scoring)


def _end_cells(pairs: PairBatch, task: AlignTask) -> tuple[DevicePairs, EndCells]:
    """Upload pairs, and find their end cells."""
    order, buckets = _plan(pairs, task.device)
    references, queries = pairs.references, pairs.queries
    copies = uploaded_together(
        [
            *(references.data, references.offsets, queries.data, queries.offsets),
            *(pairs.reference_index, pairs.query_index, order),
        ]
    )
    sequences = (DeviceRagged(*copies[:2]), DeviceRagged(*copies[2:4]))
    on_device = DevicePairs(*sequences, *copies[4:6])
    ends = EndCells(*(cupy.empty(len(pairs), dtype=np.int32) for _ in range(3)))
    write_end_cells(on_device, copies[6], buckets, ends, task)
    return on_device, ends


def _plan(pairs: PairBatch, device: CudaDevice) -> tuple[NDArray[np.int64], list[PackedBucket]]:
    """Return int64[n], the pairs by bucket, each from its longest reference on; and the buckets."""
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    _, digits = np.frexp(rows)
    keys, size = np.unique(columns * _CLASSES + digits, return_inverse=True)
    lanes = _least_lanes(len(pairs), device)
    layouts = [
        (choose_layout(key // _CLASSES, 1 << key % _CLASSES, MAX_COLUMNS, lanes), key % _CLASSES)
        for key in keys.tolist()
    ]
    numbers = {each: number for number, each in enumerate(sorted(set(layouts), reverse=True))}
    launch = np.array([numbers[each] for each in layouts])[size]
    order = np.argsort((launch << 32) - rows, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(launch))).tolist()
    return order, [
        PackedBucket(layout, first, last, int(rows[order[first]]))
        for (layout, _), (first, last) in zip(numbers, pairwise(bounds), strict=True)
    ]


def _least_lanes(pairs: int, device: CudaDevice) -> int:
    """Return how many lanes share a pair at least, so that few pairs occupy more of the GPU."""
    lanes = 2 * WARP_LANES * _WARPS_PER_MULTIPROCESSOR * multiprocessors(device.index) // pairs
    return min(1 << max(lanes.bit_length() - 1, 0), WARP_LANES)


def _scored(ends: EndCells) -> AlignmentBatch | None:
    """Return the scores; None if some are not known."""
    scores, rows = downloaded_together([ends.scores, ends.rows])
    if rows.min() < 0:
        return None
    none = scores[:0]
    return AlignmentBatch(scores, none, Ragged.from_lengths(none.view(np.uint32), none))


def _aligned(pairs: DevicePairs, ends: EndCells, task: AlignTask) -> AlignmentBatch | None:
    """Return the alignments; None if some need all stages."""
    outputs = Outputs.for_pairs(len(pairs), _OTHER_RUNS * len(pairs))
    diagonal_alignments(pairs, ends, task.scoring, task.overhang, outputs)
    found = _Downloaded.of(outputs, FIXED_RUNS * len(pairs))
    gapped = np.flatnonzero(found.cigar_counts == 0)
    if gapped.size:
        rows = cupy.asarray(gapped)
        left = banded_alignments(pairs, rows, ends, task, outputs)
        found = _Downloaded.of(outputs, outputs.pool.size)
        if left.size or found.used > outputs.pool.size:
            return None
    cigars = Ragged.gather(found.pool, found.cigar_starts, found.cigar_counts)
    return AlignmentBatch(found.scores, found.offsets, cigars)


class _Downloaded(NamedTuple):
    """Outputs in host memory: a part of the pool, and how much of it is in use."""

    scores: NDArray[np.int32]
    offsets: NDArray[np.int32]
    cigar_starts: NDArray[np.int32]
    cigar_counts: NDArray[np.int32]
    pool: NDArray[np.uint32]
    used: int

    @classmethod
    def of(cls, outputs: Outputs, runs: int) -> _Downloaded:
        """Copy outputs with the first `runs` of the pool; waits for the GPU."""
        arrays = (outputs.scores, outputs.offsets, outputs.cigar_starts, outputs.cigar_counts)
        scores, offsets, starts, counts, pool, used = downloaded_together(
            [*arrays, outputs.pool[:runs], outputs.pool_used]
        )
        return cls(scores, offsets, starts, counts, pool, int(used[0]))

"""Alignment of pieces one by one on a GPU (`cuda/longread/align/dp/pairs.cu`).

The same as `align_pair` of `hapgpu.longread.align.dp.pairs` for each piece. A warp aligns a piece
with few lanes per antidiagonal, a thread block one with more. Pieces take memory for directions
from a pool, chunk by chunk, because most extensions end long before the end of their matrix.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import GATHER_WORDS, chosen_rows
from hapgpu.longread.align.batches import PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.pair_kernels import (
    CLASSES,
    CLASSIFY_PIECES,
    JOB_NUMBERS,
    MOST_LANES,
    PLAN_PAIRS,
    PLAN_THREADS,
    RING_ARRAYS,
    RING_MARGIN,
    UNKNOWN_WIDTH,
)
from hapgpu.longread.cuda.align.rows import (
    piece_alignment_fields,
    piece_fields,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.runtime.gpu.context import side_stream
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_MOST_LANES: Final = MOST_LANES
_POOL_BYTES: Final = 448 << 20
"""Memory for directions, unless one piece needs more: that of the fills, which is free again."""
_RING_BYTES: Final = 1 << 26
"""Memory for the lanes of the longest antidiagonals, unless one piece needs more."""
_MIN_PROGRESS: Final = 4
"""After a round that aligns a smaller fraction of its pairs, memory is reserved for each pair."""
_WORD: Final = 4


class PairOperations(NamedTuple):
    """Operations of n pieces on the current GPU.

    Attributes
    ----------
    operations
        uint32[c]: CIGAR operations, length << 4 | code.
    starts, counts
        int64[n]: where the operations of each piece start, and their number.
    """

    operations: GpuArray
    starts: GpuArray
    counts: GpuArray


class _Plan(NamedTuple):
    """Bands and memory of n pairs.

    Attributes
    ----------
    rows
        int64[n]: their pieces.
    widths
        int32[n]: widths of narrow bands, 0 without one.
    jobs
        int32[n, 6]: `PairJob`.
    chunk_offsets, byte_offsets
        int64[n + 1]: sums of the chunks and of the bytes of the pairs before.
    keys, classes, lanes
        int64[n], int32[n], int32[n]: order of the pairs, kernel, lanes of an antidiagonal.
    """

    rows: GpuArray
    widths: GpuArray
    jobs: GpuArray
    chunk_offsets: GpuArray
    byte_offsets: GpuArray
    keys: GpuArray
    classes: GpuArray
    lanes: GpuArray

    def first(self, count: int) -> _Plan:
        """Return the plan of the first pairs."""
        offsets = (self.chunk_offsets[: count + 1], self.byte_offsets[: count + 1])
        parts = (column[:count] for column in (*self[:3], *self[5:]))
        rows, widths, jobs, *keys = parts
        return _Plan(rows, widths, jobs, *offsets, *keys)

    def counts(self) -> tuple[GpuArray, ...]:
        """Return, as last elements, chunks, most lanes, and the pairs of class k + 1 or more."""
        large = (cupy.sum(self.classes > k, keepdims=True) for k in range(len(CLASSES) - 1))
        return (self.chunk_offsets, cupy.max(self.lanes, keepdims=True), *large)


class _Inputs(NamedTuple):
    """What pairs are aligned from, and where the results go."""

    pieces: Pieces
    sequences: SequenceCodes
    scoring: AlignScoring
    end_bonus: int
    results: PieceAlignments


class _Round(NamedTuple):
    """Results of n pairs: `PairOperations`, and int32[n], 0 for pairs that are aligned."""

    operations: PairOperations
    states: GpuArray
    remaining: int


def classify_pieces(
    pieces: Pieces, max_cells: int, results: PieceAlignments
) -> tuple[GpuArray, GpuArray]:
    """Mark whole fills and other pieces to align.

    Parameters
    ----------
    pieces
        p pieces, on the current GPU.
    max_cells
        Pieces with more cells are not aligned; 0 for no limit.
    results
        Results of p pieces: all columns but `operations` and `offsets` are set to those of pieces
        that are not aligned.

    Returns
    -------
    is_fill, is_other
        int64[p], 0 or 1: fills whose band covers the matrix, without empty ones, and other pieces.
    """
    is_fill, is_other = (cupy.empty(pieces.kinds.size, dtype=np.int64) for _ in range(2))
    fields = piece_fields(pieces), max_cells, piece_alignment_fields(results)
    arguments = (*fields, is_fill, is_other)
    launch_threads(CLASSIFY_PIECES, PLAN_THREADS, pieces.kinds.size, arguments)
    return is_fill, is_other


def align_pairs(
    pieces: Pieces,
    rows: GpuArray,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
    results: PieceAlignments,
) -> PairOperations:
    """Align some pieces one by one; waits for the current stream.

    Parameters
    ----------
    pieces
        p pieces, on the current GPU.
    rows
        int64[n]: the pieces to align, in any order.
    sequences, scoring, parameters
        As of `align_pieces`.
    results
        Results of p pieces; all columns but `operations` and `offsets` are set at `rows`.

    Returns
    -------
    PairOperations
        Operations of the pieces of `rows`, in this order.
    """
    inputs = _Inputs(pieces, sequences, scoring, parameters.end_bonus, results)
    widths = cupy.full(rows.size, UNKNOWN_WIDTH, dtype=np.int32)
    if rows.size == 0:
        return PairOperations(cupy.empty(0, dtype=np.uint32), rows, rows)
    first = _align_round(inputs, rows, widths, is_reserved=False)
    if first.remaining == 0:
        return first.operations
    return _align_remaining(inputs, rows, widths, first)


def _align_remaining(
    inputs: _Inputs, rows: GpuArray, widths: GpuArray, first: _Round
) -> PairOperations:
    """Align the pairs again whose memory or band was not large enough, as many times as needed."""
    parts = [first.operations.operations]
    starts, counts = first.operations.starts, first.operations.counts
    remaining = chosen_rows(first.states != 0)
    last = first
    while remaining.size:
        some = widths[remaining]
        is_slow = last.states.size > _MIN_PROGRESS * (last.states.size - last.remaining)
        last = again = _align_round(inputs, rows[remaining], some, is_reserved=is_slow)
        count = again.states.size
        widths[remaining] = some
        starts[remaining[:count]] = again.operations.starts + sum(part.size for part in parts)
        counts[remaining[:count]] = again.operations.counts
        parts.append(again.operations.operations)
        undone = chosen_rows(again.states != 0)
        remaining = cupy.concatenate([remaining[undone], remaining[count:]])
    return PairOperations(cupy.concatenate(parts), starts, counts)


def _align_round(inputs: _Inputs, rows: GpuArray, widths: GpuArray, *, is_reserved: bool) -> _Round:
    """Align pairs, each once; if memory is reserved, as many of the first ones as have room.

    Parameters
    ----------
    inputs
        Pieces.
    rows
        int64[n].
    widths
        int32[n]: widths of narrow bands. They are set if unknown, or if not certified.
    is_reserved
        Otherwise pairs take memory as they need it, until none is left.
    """
    plan = _plan(inputs, rows, widths)
    byte_counts = plan.byte_offsets[1:] - plan.byte_offsets[:-1]
    room = cupy.searchsorted(plan.byte_offsets[1:], cupy.full(1, _POOL_BYTES), side="right")
    largest = cupy.max(byte_counts, keepdims=True)
    total, maximum, reserved, *counts = last_values(
        plan.byte_offsets, largest, room, *plan.counts()
    )
    if is_reserved:
        plan = plan.first(max(reserved, 1))
        counts = list(last_values(*plan.counts()))
    pool = cupy.empty(min(total, max(_POOL_BYTES, maximum)), dtype=np.uint8)
    return _launch(inputs, plan, pool, counts)


def _plan(inputs: _Inputs, rows: GpuArray, widths: GpuArray) -> _Plan:
    count = rows.size
    chunk_counts, byte_counts = (cupy.empty(count + 1, dtype=np.int64) for _ in range(2))
    keys = cupy.empty(count, dtype=np.int64)
    classes, lanes = (cupy.empty(count, dtype=np.int32) for _ in range(2))
    jobs = cupy.empty((count, JOB_NUMBERS), dtype=np.int32)
    arguments = (
        *(piece_fields(inputs.pieces), scoring_fields(inputs.scoring), rows),
        (jobs, widths, chunk_counts, byte_counts, keys, classes, lanes),
        *(_MOST_LANES, count),
    )
    launch_threads(PLAN_PAIRS, PLAN_THREADS, count, arguments)
    offsets = cupy.cumsum(chunk_counts), cupy.cumsum(byte_counts)
    return _Plan(rows, widths, jobs, *offsets, keys, classes, lanes)


def _launch(
    inputs: _Inputs,
    plan: _Plan,
    pool: GpuArray,
    plan_counts: list[int],
) -> _Round:
    """Launch the kernels, the one of the largest pairs first; `plan_counts` as in `_Plan`."""
    count = plan.rows.size
    chunks, lanes, *large = plan_counts
    order = cupy.argsort(plan.keys)
    states = cupy.empty(count, dtype=np.int32)
    starts = cupy.zeros(count, dtype=np.int64)
    counts = cupy.zeros(count + 1, dtype=np.int64)
    arguments = (
        (
            read_code_fields(inputs.sequences.reads),
            target_code_fields(inputs.sequences.targets),
            piece_fields(inputs.pieces),
            scoring_fields(inputs.scoring),
            inputs.end_bonus,
        ),
        (plan.jobs, plan.rows, plan.chunk_offsets, plan.widths, states, starts, counts, count),
        (
            *(pool, cupy.zeros(1, dtype=np.uint64), cupy.empty(chunks, dtype=np.int64)),
            *(pool.size, 1, chunks),
        ),
        piece_alignment_fields(inputs.results),
    )
    ends = (count, *large, 0)
    queues = [order[first:end] for end, first in pairwise(ends)]
    _launch_classes(arguments, queues, lanes)
    return _collected(pool, states, starts, counts)


def _launch_classes(
    arguments: tuple[tuple[object, ...], ...], queues: list[GpuArray], lanes: int
) -> None:
    """Align the pairs of each class, those with few lanes on another stream beside the long ones.

    The memory is that of the current stream, which waits for the other one.
    """
    taken = cupy.zeros((len(CLASSES), 1), dtype=np.int32)
    none = (cupy.empty(0, dtype=np.uint32), 0, 1, 0)
    largest = queues[-1].size
    rings = _rings(largest, lanes) if largest else none
    with side_stream() as side:
        current = cupy.cuda.get_current_stream()
        streams = (side, side, current, current)
        for k in reversed(range(len(CLASSES))):
            if queues[k].size == 0:
                continue
            pairs, block = CLASSES[k], CLASSES[k].threads * CLASSES[k].teams
            is_largest = k == len(CLASSES) - 1
            memory, size, _, words = rings if is_largest else none
            items = words // (RING_ARRAYS * size) if is_largest else queues[k].size
            queue = (queues[k], taken[k], queues[k].size)
            with streams[k]:
                given = (*arguments, *queue, memory, size, 1, words)
                launch_threads(pairs.kernel, block, items * pairs.threads, given)


def _rings(count: int, lanes: int) -> tuple[GpuArray, int, int, int]:
    """Return rings in global memory for some or all of `count` pairs, and their size."""
    size = 1 << (lanes + RING_MARGIN - 1).bit_length()
    words = min(count, max(_RING_BYTES // (RING_ARRAYS * _WORD * size), 1)) * RING_ARRAYS * size
    return cupy.empty(words, dtype=np.uint32), size, 1, words


def _collected(pool: GpuArray, states: GpuArray, starts: GpuArray, counts: GpuArray) -> _Round:
    """Copy the operations from the pool, end to end, so that the pool is free again."""
    offsets = cupy.cumsum(counts)
    total, remaining = last_values(offsets, cupy.sum(states != 0, keepdims=True))
    operations = cupy.empty(total, dtype=np.uint32)
    if total:
        words = pool[: pool.size // _WORD * _WORD].view(np.uint32)
        arguments = (words, starts, offsets, operations, words.size, total, states.size)
        launch_threads(GATHER_WORDS, PLAN_THREADS, states.size * WARP, arguments)
    found = PairOperations(operations, offsets[:-1], counts[1:])
    return _Round(found, states, remaining)

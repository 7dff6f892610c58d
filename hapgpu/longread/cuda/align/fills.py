"""Global alignments of many pairs on a GPU (`cuda/longread/align/dp/fills.cu`).

The alignments are those of `hapgpu.longread.align.dp.fills`. Each fill is aligned in a narrow band
of diagonals, and in wider ones as long as the score does not prove that the alignment is that of
the whole matrix. A run aligns all fills in the band that each needs next.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.longread.align.batches import Pieces, SequenceCodes
from hapgpu.longread.align.dp.lanes import fits_lanes
from hapgpu.longread.align.parameters import AlignScoring, costs_of
from hapgpu.longread.cuda.align.rows import (
    PIECES,
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
    piece_fields,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import Fields, sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_MAX_DIRECTIONS: Final = ((1 << 15) + 16) * 256  # bytes of a fill: `direction_bytes`
_CHUNK_BYTES: Final = 448 << 20
"""Directions of so many bytes are in memory at a time, and those of one fill more."""
_POOL_FRACTION: Final = 64
"""Fills have room for an operation per so many bytes of directions in narrow bands."""
_POOL_MINIMUM: Final = 1 << 12
_UNTRIED: Final = 255
_ALIGNED: Final = 1
"""State of a fill; 0 while it is pending."""
_LANES: Final = ((16, 1, 8), (32, 1, 8), (32, 2, 7), (32, 4, 4), (32, 8, 3))
"""Lanes per fill, cells per lane, and thread blocks per multiprocessor, of each band."""

_FILLS = Struct(
    "fills",
    (
        Array("states", np.uint8, "pieces.count"),
        Array("bands", np.uint8, "pieces.count"),
        Array("scores", np.int32, "pieces.count"),
        Array("starts", np.int64, "pieces.count"),
        Array("counts", np.int32, "pieces.count"),
    ),
)
_COSTS = Struct(
    "costs",
    (
        *(Scalar(name, np.uint32) for name in ("pairs", "ambiguous_pairs")),
        *sizes("lowest", "deletion", "insertion", "long_deletion", "long_insertion"),
        *sizes("extend", "long_extend"),
    ),
)
_RUN = Struct(
    "run",
    (
        Array("order", np.int32, "pieces.count"),
        Array("starts", np.int64, "pieces.count"),
        Array("chunks", np.int64, "chunk_count", 1),
        Array("directions", np.uint8, "direction_bytes"),
        *(Length("chunk_count"), Length("direction_bytes"), Scalar("chunk_bytes", np.int64)),
        *(Scalar(name, np.int32) for name in ("chunk", "first", "end")),
    ),
)
_POOL = Struct(
    "pool",
    (
        Array("operations", np.uint32, "size"),
        Array("used", np.uint64, "one"),
        *(Scalar("size", np.int64), Length("one")),
    ),
)
PLAN_FILLS: Final = align_kernel(
    "dp/fills.cu",
    "plan_fills",
    (PIECES, SCORING, Scalar("fits", np.int32), _FILLS, Array("keys", np.uint64, "pieces.count")),
)
ORDER_FILLS: Final = align_kernel(
    "dp/fills.cu",
    "order_fills",
    (
        *(Array("keys", np.uint64, "count"), Array("order", np.int32, "count")),
        *(Array("bytes", np.int64, "count"), Array("ends", np.int64, "bands")),
        *(Scalar("count", np.int32), Length("bands")),
    ),
)
ALIGN_BAND_0, ALIGN_BAND_1, ALIGN_BAND_2, ALIGN_BAND_3, ALIGN_BAND_4 = (
    align_kernel(
        "dp/fills.cu",
        f"align_band<{number}, {lanes}, {cells}, {blocks}>",
        (PIECES, READ_CODES, TARGET_CODES, SCORING, _COSTS, _FILLS, _RUN),
    )
    for number, (lanes, cells, blocks) in enumerate(_LANES)
)
TRACE_FILLS: Final = align_kernel(
    "dp/fills.cu", "trace_fills", (PIECES, READ_CODES, TARGET_CODES, _FILLS, _RUN, _POOL)
)
_BANDS: Final = (ALIGN_BAND_0, ALIGN_BAND_1, ALIGN_BAND_2, ALIGN_BAND_3, ALIGN_BAND_4)


class DeviceFills(NamedTuple):
    """Alignments of p fills, on a GPU.

    Attributes
    ----------
    scores
        int32[p]; 0 for a fill that is not aligned.
    is_aligned
        uint8[p], 0 or 1; also 1 if a sequence is empty, without operations.
    operations
        uint32[c]: the BAM operations of the fills, from low to high positions.
    offsets
        int64[p + 1].
    """

    scores: GpuArray
    is_aligned: GpuArray
    operations: GpuArray
    offsets: GpuArray


class _Fills(NamedTuple):
    """`Fills` of the source: states, last bands tried, scores, and operations in the pool."""

    states: GpuArray
    bands: GpuArray
    scores: GpuArray
    starts: GpuArray
    counts: GpuArray


class _Pool(NamedTuple):
    """Operations of fills, in any order; `used` is uint64[1]."""

    operations: GpuArray
    used: GpuArray

    @property
    def fields(self) -> Fields:
        return (self.operations, self.used, self.operations.size, 1)


def align_fills(pieces: Pieces, sequences: SequenceCodes, scoring: AlignScoring) -> DeviceFills:
    """Align pairs of sequences globally.

    Works on the current stream of the pieces' device, which must be the current device.

    Parameters
    ----------
    pieces, sequences, scoring
        As in `dp.fills.align_fills`, on the device.

    Returns
    -------
    DeviceFills
        Fills are not aligned if they are too long, or if no narrow band has certainly the
        alignment of the whole matrix, or if scores might not fit.
    """
    count = pieces.kinds.size
    fills = _Fills(
        cupy.zeros(count, dtype=np.uint8),
        cupy.full(count, _UNTRIED, dtype=np.uint8),
        cupy.zeros(count, dtype=np.int32),
        cupy.zeros(count, dtype=np.int64),
        cupy.zeros(count, dtype=np.int32),
    )
    pool = _Pool(cupy.empty(0, dtype=np.uint32), cupy.zeros(1, dtype=np.uint64))
    fits = bool(fits_lanes(costs_of(scoring)))
    while count:
        run = _planned(pieces, scoring, fills, fits=fits)
        if run.byte_count == 0:
            break
        if pool.operations.size == 0:
            size = run.byte_count // _POOL_FRACTION + _POOL_MINIMUM
            pool = pool._replace(operations=cupy.empty(size, dtype=np.uint32))
        _align_run(run, pieces, sequences, scoring, fills, pool)
    operations = DeviceRagged.gather_at(pool.operations, fills.starts, offsets_of(fills.counts))
    is_aligned = (fills.states == _ALIGNED).view(np.uint8)
    return DeviceFills(fills.scores, is_aligned, operations.data, operations.offsets)


_SCALE: Final = 128
"""Of scores in cells. Below are tags: see `fill_bands.cuh` for choices and bits of new gaps."""
_CHOICE: Final = 16
_LONG_INSERTION, _LONG_DELETION, _INSERTION, _DELETION, _PAIR = range(5)


def cell_costs(scoring: AlignScoring) -> tuple[int, ...]:
    """Return `CellCosts` of `fill_cells.cuh`; only for scores that `fits_lanes`."""
    costs = costs_of(scoring)
    lowest = -max(costs.mismatch, costs.transition, costs.ambiguous)
    scores = (costs.match, -costs.mismatch, -costs.transition, -costs.mismatch)
    pairs = sum(score - lowest << 8 * k for k, score in enumerate(scores))
    ambiguous = sum(-costs.ambiguous - lowest << 8 * k for k in range(4))
    short, long = costs.gap_open + costs.gap_extend, costs.gap_open2 + costs.gap_extend2
    kinds = ((_DELETION, short), (_INSERTION, short), (_LONG_DELETION, long))
    opened = [
        _CHOICE * kind + (1 << (_DELETION - kind)) - _SCALE * cost
        for kind, cost in (*kinds, (_LONG_INSERTION, long))
    ]
    extend, long_extend = -_SCALE * costs.gap_extend, -_SCALE * costs.gap_extend2
    return (pairs, ambiguous, _SCALE * lowest + _CHOICE * _PAIR, *opened, extend, long_extend)


class _Run(NamedTuple):
    """Fills to align, sorted by band.

    Attributes
    ----------
    order
        int32[p] on the GPU: the fills, then other pieces.
    starts
        int64[p + 1] on the GPU: where the directions of each would start.
    ends
        The end of the rows of each band.
    byte_count
        Bytes of all directions.
    """

    order: GpuArray
    starts: GpuArray
    ends: tuple[int, ...]
    byte_count: int


def _planned(pieces: Pieces, scoring: AlignScoring, fills: _Fills, *, fits: bool) -> _Run:
    """Choose the next band of each fill; waits for the GPU."""
    count = pieces.kinds.size
    keys = cupy.empty(count, dtype=np.uint64)
    arguments = (piece_fields(pieces), scoring_fields(scoring), fits, fills, keys)
    launch_threads(PLAN_FILLS, _THREADS, count, arguments)
    keys = cupy.sort(keys)
    order = cupy.empty(count, dtype=np.int32)
    sizes = cupy.empty(count, dtype=np.int64)
    ends = cupy.empty(len(_BANDS), dtype=np.int64)
    launch_threads(ORDER_FILLS, _THREADS, count, (keys, order, sizes, ends, count, len(_BANDS)))
    starts = offsets_of(sizes)
    *band_ends, total = last_values(*(ends[: k + 1] for k in range(len(_BANDS))), starts)
    return _Run(order, starts, tuple(band_ends), total)


def _align_run(
    run: _Run,
    pieces: Pieces,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    fills: _Fills,
    pool: _Pool,
) -> None:
    """Align the fills of a run, chunk by chunk."""
    chunks = -(-run.byte_count // _CHUNK_BYTES)
    first_bytes = cupy.arange(chunks + 1, dtype=np.int64) * _CHUNK_BYTES
    first_rows = cupy.searchsorted(run.starts[:-1], first_bytes).astype(np.int64, copy=False)
    directions = cupy.empty(min(run.byte_count, _CHUNK_BYTES + _MAX_DIRECTIONS), dtype=np.uint8)
    reads, targets = read_code_fields(sequences.reads), target_code_fields(sequences.targets)
    codes = (piece_fields(pieces), reads, targets)
    scores = (scoring_fields(scoring), cell_costs(scoring))
    arrays = (run.order, run.starts, first_rows, directions)
    sizes = (chunks, directions.size, _CHUNK_BYTES)
    for chunk in range(chunks):
        first = 0
        for kernel, (lanes, *_), end in zip(_BANDS, _LANES, run.ends, strict=True):
            if end > first:
                rows = (*arrays, *sizes, chunk, first, end)
                given = (*codes, *scores, fills, rows)
                launch_threads(kernel, _THREADS, (end - first) * lanes, given)
            first = end
        traced = (*codes, fills, (*arrays, *sizes, chunk, 0, first), pool.fields)
        launch_threads(TRACE_FILLS, _THREADS, first, traced)

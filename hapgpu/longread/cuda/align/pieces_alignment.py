"""Alignment of pieces on a GPU; the same as `hapgpu.longread.align.cpu`."""

from __future__ import annotations

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.longread.align.batches import (
    FILL,
    UNREACHED,
    PieceAlignments,
    Pieces,
    SequenceCodes,
)
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.fills import align_fills
from hapgpu.longread.cuda.align.pairs import align_pairs
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray


def align_pieces(
    pieces: Pieces,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PieceAlignments:
    """Align pieces, as minimap2 2.30 does one by one; waits for the current stream.

    Parameters
    ----------
    pieces, sequences, scoring, parameters
        As of the function of the CPU; arrays are on the current GPU.
    """
    longest = cupy.maximum(pieces.query_lengths, pieces.target_lengths)
    cells = pieces.query_lengths.astype(np.int64) * pieces.target_lengths
    is_capped = (cells > parameters.max_cells) & (parameters.max_cells > 0)
    is_whole = (pieces.kinds == FILL) & (pieces.bands >= longest - 1) & ~is_capped
    is_empty = is_whole & (cells == 0)
    rows = _rows_of(is_whole & ~is_empty)
    fills = align_fills(pieces.take(rows), sequences, scoring)
    results = _unaligned(is_capped)
    results.scores[is_empty] = 0
    results.scores[rows] = fills.scores
    is_other = ~(is_capped | is_empty)
    is_other[rows] = fills.is_aligned == 0
    others = _rows_of(is_other)
    pairs = align_pairs(pieces, others, sequences, scoring, parameters, results)
    starts, counts = (cupy.zeros(longest.size, dtype=np.int64) for _ in range(2))
    starts[rows] = fills.offsets[:-1]
    counts[rows] = fills.offsets[1:] - fills.offsets[:-1]
    starts[others] = pairs.starts + fills.operations.size
    counts[others] = pairs.counts
    data = cupy.concatenate([fills.operations, pairs.operations])
    gathered = DeviceRagged.gather(data, starts, counts)
    return results._replace(operations=gathered.data, offsets=gathered.offsets)


def _rows_of(is_chosen: GpuArray) -> GpuArray:
    """Return int64[c]: the rows at which `is_chosen`, bool[p], is true; waits for the stream.

    CuPy's own function keeps other threads from launching kernels meanwhile.
    """
    if is_chosen.size == 0:
        return cupy.empty(0, dtype=np.int64)
    ends = cupy.cumsum(is_chosen.astype(np.int64))
    (count,) = last_values(ends)
    return cupy.searchsorted(ends, cupy.arange(1, count + 1, dtype=np.int64))


def _unaligned(is_capped: GpuArray) -> PieceAlignments:
    """Return the alignments of p pieces that are not aligned; `is_capped` is bool[p]."""
    count = is_capped.size
    return PieceAlignments(
        scores=cupy.full(count, UNREACHED, dtype=np.int32),
        max_scores=cupy.zeros(count, dtype=np.int32),
        max_targets=cupy.full(count, -1, dtype=np.int32),
        max_queries=cupy.full(count, -1, dtype=np.int32),
        query_end_targets=cupy.full(count, -1, dtype=np.int32),
        reaches_end=cupy.zeros(count, dtype=np.uint8),
        is_dropped=is_capped.astype(np.uint8),
        operations=cupy.empty(0, dtype=np.uint32),
        offsets=cupy.zeros(count + 1, dtype=np.int64),
    )

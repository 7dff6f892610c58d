"""Alignment of pieces on a GPU; the same as `hapgpu.longread.align.cpu`."""

from __future__ import annotations

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.longread.align.batches import PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.fills import align_fills
from hapgpu.longread.cuda.align.pairs import align_pairs, classify_pieces
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
    count = pieces.kinds.size
    results = _uninitialised(count)
    is_fill, is_other = classify_pieces(pieces, parameters.max_cells, results)
    rows = _rows_of(is_fill)
    fills = align_fills(pieces.take(rows), sequences, scoring)
    results.scores[rows] = fills.scores
    is_other[rows] = fills.is_aligned == 0
    others = _rows_of(is_other)
    pairs = align_pairs(pieces, others, sequences, scoring, parameters, results)
    starts, counts = cupy.zeros((2, count), dtype=np.int64)
    starts[rows] = fills.offsets[:-1]
    counts[rows] = fills.offsets[1:] - fills.offsets[:-1]
    starts[others] = pairs.starts + fills.operations.size
    counts[others] = pairs.counts
    data = cupy.concatenate([fills.operations, pairs.operations])
    gathered = DeviceRagged.gather(data, starts, counts)
    return results._replace(operations=gathered.data, offsets=gathered.offsets)


def _rows_of(is_chosen: GpuArray) -> GpuArray:
    """Return int64[c]: the rows at which `is_chosen`, int64[p], is 1; waits for the stream.

    CuPy's own function keeps other threads from launching kernels meanwhile.
    """
    if is_chosen.size == 0:
        return cupy.empty(0, dtype=np.int64)
    ends = cupy.cumsum(is_chosen)
    (count,) = last_values(ends)
    return cupy.searchsorted(ends, cupy.arange(1, count + 1, dtype=np.int64))


def _uninitialised(count: int) -> PieceAlignments:
    """Return uninitialised alignments of pieces, without operations."""
    numbers = cupy.empty((5, count), dtype=np.int32)
    flags = cupy.empty((2, count), dtype=np.uint8)
    none = cupy.empty(0, dtype=np.uint32)
    offsets = cupy.zeros(count + 1, dtype=np.int64)
    return PieceAlignments._make([*numbers, *flags, none, offsets])

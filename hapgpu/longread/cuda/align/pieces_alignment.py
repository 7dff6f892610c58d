"""Alignment of pieces on a GPU; the same as `hapgpu.longread.align.cpu`."""

from __future__ import annotations

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, chosen_rows
from hapgpu.longread.align.batches import PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.fills import align_fills
from hapgpu.longread.cuda.align.pairs import align_pairs, classify_pieces


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
    rows = chosen_rows(is_fill)
    fills = align_fills(pieces.take(rows), sequences, scoring)
    results.scores[rows] = fills.scores
    is_other[rows] = fills.is_aligned == 0
    others = chosen_rows(is_other)
    pairs = align_pairs(pieces, others, sequences, scoring, parameters, results)
    starts, counts = cupy.zeros((2, count), dtype=np.int64)
    starts[rows] = fills.offsets[:-1]
    counts[rows] = fills.offsets[1:] - fills.offsets[:-1]
    starts[others] = pairs.starts + fills.operations.size
    counts[others] = pairs.counts
    data = cupy.concatenate([fills.operations, pairs.operations])
    gathered = DeviceRagged.gather(data, starts, counts)
    return results._replace(operations=gathered.data, offsets=gathered.offsets)


def _uninitialised(count: int) -> PieceAlignments:
    """Return uninitialised alignments of pieces, without operations."""
    numbers = cupy.empty((5, count), dtype=np.int32)
    flags = cupy.empty((2, count), dtype=np.uint8)
    none = cupy.empty(0, dtype=np.uint32)
    offsets = cupy.zeros(count + 1, dtype=np.int64)
    return PieceAlignments._make([*numbers, *flags, none, offsets])

"""Alignments of pieces on a GPU: joined, and by rows (the methods of `PieceAlignments`)."""

from __future__ import annotations

from collections.abc import Sequence

import cupy

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.longread.align.batches import PieceAlignments
from hapgpu.runtime.gpu_array import GpuArray


def join(parts: Sequence[PieceAlignments]) -> PieceAlignments:
    """Return alignments of pieces on the current GPU, part by part."""
    operations = DeviceRagged.concatenate(
        [DeviceRagged(each.operations, each.offsets) for each in parts]
    )
    numbers = map(cupy.concatenate, zip(*(each[:-2] for each in parts), strict=True))
    return PieceAlignments._make([*numbers, operations.data, operations.offsets])


def take(alignments: PieceAlignments, rows: GpuArray) -> PieceAlignments:
    """Return the alignments of some pieces by `rows`, int64[k], in any order."""
    operations = DeviceRagged(alignments.operations, alignments.offsets).take(rows)
    numbers = [column[rows] for column in alignments[:-2]]
    return PieceAlignments._make([*numbers, operations.data, operations.offsets])

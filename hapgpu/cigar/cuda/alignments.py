"""Alignments of queries with references as arguments of kernels (`cuda/cigar/alignments.cuh`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.runtime.gpu.kernel import Array, Scalar

ALIGNMENTS: Final = (
    Array("bases", np.uint8, "base_count"),
    Array("base_offsets", np.int64, "queries", 1),
    Array("rows", np.int64, "count"),
    Array("cigars", np.uint32, "elements"),
    Array("cigar_offsets", np.int64, "count", 1),
    Array("positions", np.int64, "count"),
    Array("references", np.uint8, "reference_bases"),
    Array("reference_offsets", np.int64, "reference_count", 1),
    Array("reference_index", np.int32, "count"),
)
"""Parameters of a kernel, to which the scalars `ALIGNMENT_SIZES` belong."""

ALIGNMENT_SIZES: Final = (
    Scalar("base_count", np.int64),
    Scalar("queries", np.int32),
    Scalar("elements", np.int64),
    Scalar("reference_bases", np.int64),
    Scalar("reference_count", np.int32),
    Scalar("count", np.int32),
)


def alignment_arguments(
    bases: DeviceRagged,
    rows: Any,
    cigars: DeviceRagged,
    positions: Any,
    references: DeviceRagged,
    reference_index: Any,
) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Return the arguments for `ALIGNMENTS` and for `ALIGNMENT_SIZES`.

    Parameters
    ----------
    bases
        uint8 text, q rows: queries, soft-clipped bases included.
    rows
        int64[n], the query of each alignment; None for n queries, one for each.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int32[n] or int64[n], 0-based.
    references
        uint8 text.
    reference_index
        int32[n]: the row of `references` for each alignment; -1 for none.
    """
    count = len(cigars)
    arrays = (
        *(bases.data, bases.offsets),
        cupy.arange(count, dtype=np.int64) if rows is None else rows,
        *(cigars.data, cigars.offsets),
        positions.astype(np.int64, copy=False),
        *(references.data, references.offsets, reference_index),
    )
    sizes = (
        *(bases.data.size, len(bases), cigars.data.size),
        *(references.data.size, len(references), count),
    )
    return arrays, sizes

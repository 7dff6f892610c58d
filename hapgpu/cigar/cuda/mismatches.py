"""NM and MD on a GPU (`cuda/cigar/mismatches.cu`); same as `hapgpu/cigar/mismatches.py`."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

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
    rows: GpuArray,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
) -> tuple[tuple[GpuArray, ...], tuple[int, ...]]:
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


_THREADS: Final = 128

MEASURE_MISMATCHES: Final = Kernel(
    "cigar/mismatches.cu",
    "measure_mismatches",
    (
        *ALIGNMENTS,
        Array("distances", np.int32, "count"),
        Array("sizes", np.int64, "count"),
        *ALIGNMENT_SIZES,
    ),
)
WRITE_MISMATCHES: Final = Kernel(
    "cigar/mismatches.cu",
    "write_mismatches",
    (
        *ALIGNMENTS,
        Array("offsets", np.int64, "count", 1),
        Array("texts", np.uint8, "characters"),
        *ALIGNMENT_SIZES,
        Scalar("characters", np.int64),
    ),
)


def mismatch_tags(
    bases: DeviceRagged,
    rows: GpuArray,
    cigars: DeviceRagged,
    positions: GpuArray,
    references: DeviceRagged,
    reference_index: GpuArray,
) -> tuple[GpuArray, DeviceRagged]:
    """Compute NM and MD of n alignments on the current GPU, and wait for it.

    Parameters
    ----------
    bases, rows, cigars, positions, references, reference_index
        As in `alignment_arguments`; references in upper or lower case.

    Returns
    -------
    NM, int32[n], and MD, uint8 text, as `hapgpu.cigar.mismatches.mismatch_tags` computes them.
    """
    arrays, sizes = alignment_arguments(bases, rows, cigars, positions, references, reference_index)
    count = len(cigars)
    distances = cupy.empty(count, dtype=np.int32)
    lengths = cupy.empty(count, dtype=np.int64)
    measured = (*arrays, distances, lengths, *sizes)
    launch_threads(MEASURE_MISMATCHES, _THREADS, count * WARP, measured)
    offsets = offsets_of(lengths)
    characters = int(offsets[-1])
    texts = cupy.empty(characters, dtype=np.uint8)
    written = (*arrays, offsets, texts, *sizes, characters)
    launch_threads(WRITE_MISMATCHES, _THREADS, count * WARP, written)
    return distances, DeviceRagged(texts, offsets)

"""NM and MD on a GPU (`cuda/cigar/mismatches.cu`); same as `hapgpu/cigar/mismatches.py`."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.cigar.cuda.alignments import ALIGNMENT_SIZES, ALIGNMENTS, alignment_arguments
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads

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
    rows: Any,
    cigars: DeviceRagged,
    positions: Any,
    references: DeviceRagged,
    reference_index: Any,
) -> tuple[Any, DeviceRagged]:
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

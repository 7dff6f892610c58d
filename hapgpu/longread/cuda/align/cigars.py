"""Final CIGARs on a GPU (`cuda/longread/align/{clean_cigars,count_bases}.cu`).

The same as `longread/align/cigars`.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.align.batches import SequenceCodes
from hapgpu.longread.align.parameters import AlignScoring
from hapgpu.longread.cuda.align.rows import (
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
    mapping_array,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Parameter
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 256  # per block, as in the source

_ROWS: Final[tuple[Parameter, ...]] = (
    *(mapping_array("mappings", "mapping_count"), Length("mapping_count")),
    Array("rows", np.int64, "row_count"),
    *sizes("row_count"),
    *(Array("operations", np.uint32, "operation_count"), Length("operation_count")),
    *(READ_CODES, TARGET_CODES),
)
_STARTS = tuple(
    Array(name, np.int32, "operation_count") for name in ("query_starts", "target_starts")
)

CLEAN_CIGARS: Final = align_kernel(
    "clean_cigars.cu",
    "clean_cigars",
    (*_ROWS, *_STARTS, Array("steps", np.int32, "operation_count")),
)
COUNT_BASES: Final = align_kernel("count_bases.cu", "count_bases", (*_ROWS, SCORING, *_STARTS))


def finish_alignments(
    mappings: GpuArray,
    rows: GpuArray,
    operations: GpuArray,
    sequences: SequenceCodes,
    scoring: AlignScoring,
) -> None:
    """Clean the CIGARs of mappings in place, and count their bases.

    Works on the current stream of the mappings' device, which must be the current device.

    Parameters
    ----------
    mappings, rows, operations, sequences, scoring
        As in `align.cigars.finish_alignments`, on the device. `rows` names each mapping once.
    """
    query_starts, target_starts, steps = (
        cupy.empty(operations.size, dtype=np.int32) for _ in range(3)
    )
    arguments = (
        *(mappings, mappings.shape[0], rows, rows.size, operations, operations.size),
        *(read_code_fields(sequences.reads), target_code_fields(sequences.targets)),
    )
    starts = (query_starts, target_starts)
    launch_threads(CLEAN_CIGARS, _THREADS, rows.size * _THREADS, (*arguments, *starts, steps))
    counted = (*arguments, scoring_fields(scoring), *starts)
    launch_threads(COUNT_BASES, _THREADS, rows.size * _THREADS, counted)

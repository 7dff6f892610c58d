"""Kernels of lines (`cuda/longread/lines`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.longread.cuda.align.rows import mapping_array
from hapgpu.longread.cuda.lines.batches import CHUNKS, LINE_BLOCK, LINE_FORM, SLOT_COUNT, SLOTS
from hapgpu.longread.kernels import chaining_kernel
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar

LINE_THREADS: Final = 128
"""Threads per block, as in the sources."""

_BLOCK: Final = (LINE_BLOCK, LINE_FORM)
_OFFSETS: Final = Array("line_offsets", np.int64, "slot_count", 1)
_LINES: Final = (Array("lines", np.uint8, "line_bytes"), Length("line_bytes"))

_WRITING: Final = (CHUNKS, SLOTS, _OFFSETS, *_LINES, Length("slot_count"))


def _kernel(source: str, expression: str, parameters: tuple[Parameter, ...]) -> Kernel:
    return chaining_kernel(f"lines/{source}.cu", expression, parameters)


START_SLOTS: Final = _kernel(
    "records",
    "start_slots",
    (*_BLOCK, SLOTS, Array("counts", np.int64, "slot_count", 1), SLOT_COUNT),
)
MEASURE_LINES: Final = _kernel(
    "records",
    "measure_lines",
    (
        *(*_BLOCK, SLOTS, Array("sizes", np.int64, "slot_count", 1)),
        Array("pieces", np.int64, "slot_count", 1),
        *(Array("counts", np.uint64, "count_values"), Length("count_values"), SLOT_COUNT),
    ),
)
WRITE_LINES: Final = _kernel(
    "records", "write_lines", (*_BLOCK, SLOTS, _OFFSETS, *_LINES, SLOT_COUNT)
)
COPY_BASES: Final = _kernel(
    "bases",
    "copy_bases",
    (
        *(*_BLOCK, SLOTS, Array("pieces", np.int64, "slot_count", 1)),
        *(Array("complements", np.uint8, "byte_values"), Length("byte_values")),
        *(_OFFSETS, *_LINES, SLOT_COUNT, Scalar("piece_count", np.int64)),
    ),
)
MEASURE_OPERATIONS: Final = _kernel(
    "operations", "measure_operations", (*_BLOCK, CHUNKS, SLOTS, Length("slot_count"))
)
SUM_OPERATIONS: Final = _kernel("operations", "sum_operations", (CHUNKS, SLOTS, SLOT_COUNT))
WRITE_OPERATIONS: Final = _kernel("operations", "write_operations", (*_BLOCK, *_WRITING))
MEASURE_CS: Final = _kernel(
    "differences", "measure_cs", (*_BLOCK, CHUNKS, SLOTS, Length("slot_count"))
)
WRITE_CS: Final = _kernel("differences", "write_cs", (*_BLOCK, *_WRITING))
MEASURE_MD: Final = _kernel(
    "differences", "measure_md", (LINE_BLOCK, CHUNKS, SLOTS, Length("slot_count"))
)
WRITE_MD: Final = _kernel("differences", "write_md", (LINE_BLOCK, *_WRITING))
SUM_DIFFERENCES: Final = _kernel(
    "differences", "sum_differences", (CHUNKS, SLOTS, Scalar("is_md", np.int32), SLOT_COUNT)
)
_SPLITS: Final = Array("offsets", np.int64, "chunks.count", 1)
COUNT_SPLITS: Final = _kernel(
    "split", "count_splits", (LINE_BLOCK, CHUNKS, SLOTS, _SPLITS, Length("slot_count"))
)
WRITE_SPLITS: Final = _kernel(
    "split",
    "write_splits",
    (
        *(LINE_BLOCK, CHUNKS, SLOTS, _SPLITS, Array("operations", np.uint32, "operation_count")),
        *(Length("operation_count"), Length("slot_count")),
    ),
)
USE_SPLITS: Final = _kernel(
    "split",
    "use_splits",
    (
        *(Array("chunk_offsets", np.int64, "slot_count", 1), SLOTS),
        *(Array("offsets", np.int64, "chunk_count", 1), Length("chunk_count")),
        *(mapping_array("mappings", "mapping_count"), Length("mapping_count"), SLOT_COUNT),
    ),
)

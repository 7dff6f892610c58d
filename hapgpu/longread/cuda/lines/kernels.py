"""Kernels of lines (`cuda/longread/lines`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.longread.cuda.lines.batches import CHUNKS, LINE_BLOCK, LINE_FORM, SLOT_COUNT, SLOTS
from hapgpu.longread.kernels import chaining_kernel
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar

LINE_THREADS: Final = 128
"""Threads per block, as in the sources."""

_BLOCK: Final = (LINE_BLOCK, LINE_FORM)
_OFFSETS: Final = Array("line_offsets", np.int64, "slot_count", 1)
_LINES: Final = (Array("lines", np.uint8, "line_bytes"), Length("line_bytes"))


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
WRITE_OPERATIONS: Final = _kernel(
    "operations",
    "write_operations",
    (*_BLOCK, CHUNKS, SLOTS, _OFFSETS, *_LINES, Length("slot_count")),
)

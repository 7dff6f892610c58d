"""The kernel of the CUDA aligner (`cuda/realign/align.cu`) and its parameters."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from hapgpu.realign.align.cuda.outputs import OUTPUTS
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct

MAX_COLUMNS = {np.int32: 20, np.int64: 8}
"""Columns that a lane can hold in registers, by the type of the scores."""


ScoreType = type[np.int32] | type[np.int64]


def _sequences(name: str) -> Struct:
    """Declare sequences end to end, with offsets of 32 bits."""
    return Struct(
        name,
        (
            *(Array("bases", np.uint8, "size"), Array("offsets", np.int32, "count", 1)),
            *(Length("size"), Length("count")),
        ),
    )


_PAIRS: Final = Struct(
    "pairs",
    (
        *(_sequences("references"), _sequences("queries")),
        *(Array("reference_index", np.int32, "count"), Array("query_index", np.int32, "count")),
        Scalar("count", np.int32),
    ),
)
_TAGGED_STEPS: Final = ("match", "mismatch", "gap_open", "insertion_extend", "deletion_extend")
_BORDER_STEPS: Final = (Scalar("border_open", np.int32), Scalar("border_extend", np.int32))
_LAYOUT: Final = (Scalar("group_lanes", np.int32), Scalar("stripes", np.int32))
_SCRATCH: Final[tuple[Parameter, ...]] = (
    *(Array("scratch", np.uint32, "scratch_words"), Length("scratch_words")),
    *(
        Scalar(name, np.int64)
        for name in ("words_per_warp", "last_row_at", "borders_at", "runs_at")
    ),
    *(Scalar("blocks_per_stripe", np.int32), Scalar("run_capacity", np.int32)),
)


def kernel_for(columns: int, score_type: ScoreType, *, with_trace: bool) -> Kernel:
    """Return the kernel for a number of columns per lane."""
    return _kernel(columns, is_wide=score_type is np.int64, with_trace=with_trace)


@cache
def _kernel(columns: int, *, is_wide: bool, with_trace: bool) -> Kernel:
    c_type, score_type = ("long long", np.int64) if is_wide else ("int", np.int32)
    parameters: tuple[Parameter, ...] = (
        _PAIRS,
        Struct("steps", (*(Scalar(name, score_type) for name in _TAGGED_STEPS), *_BORDER_STEPS)),
        Scalar("overhang", np.int32),
        *(*_LAYOUT, *_SCRATCH, Array("output_rows", np.int32, "pairs.count"), OUTPUTS),
    )
    return Kernel(
        "realign/align.cu", f"align<{columns}, {c_type}, {str(with_trace).lower()}>", parameters
    )

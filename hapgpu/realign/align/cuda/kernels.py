"""The kernel of the CUDA aligner (`cuda/realign/align.cu`) and its parameters."""

from __future__ import annotations

from functools import cache

import numpy as np

from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar

MAX_COLUMNS = {np.int32: 20, np.int64: 8}
"""Columns that a lane can hold in registers, by the type of the scores."""


ScoreType = type[np.int32] | type[np.int64]


def kernel_for(columns: int, score_type: ScoreType, *, with_trace: bool) -> Kernel:
    """Return the kernel for a number of columns per lane."""
    return _kernel(columns, is_wide=score_type is np.int64, with_trace=with_trace)


@cache
def _kernel(columns: int, *, is_wide: bool, with_trace: bool) -> Kernel:
    c_type, score_type = ("long long", np.int64) if is_wide else ("int", np.int32)
    parameters: tuple[Array | Scalar, ...] = (
        Array("references", np.uint8, "reference_bases"),
        Array("reference_offsets", np.int32, "n_references", 1),
        Array("queries", np.uint8, "query_bases"),
        Array("query_offsets", np.int32, "n_queries", 1),
        Array("reference_index", np.int32, "pairs"),
        Array("query_index", np.int32, "pairs"),
        Scalar("reference_bases", np.int32),
        Scalar("n_references", np.int32),
        Scalar("query_bases", np.int32),
        Scalar("n_queries", np.int32),
        Scalar("pairs", np.int32),
        *(
            Scalar(name, score_type)
            for name in ("match", "mismatch", "gap_open", "insertion_extend", "deletion_extend")
        ),
        *(
            Scalar(name, np.int32)
            for name in ("border_open", "border_extend", "overhang", "group_lanes", "stripes")
        ),
        Scalar("blocks_per_stripe", np.int32),
        Array("scratch", np.uint32, "scratch_words"),
        *(
            Scalar(name, np.int64)
            for name in (
                "scratch_words",
                "words_per_warp",
                "last_row_at",
                "borders_at",
                "runs_at",
            )
        ),
        Scalar("run_capacity", np.int32),
        Array("scores", np.int32, "pairs"),
        Array("offsets", np.int32, "pairs"),
        Array("cigar_starts", np.int32, "pairs"),
        Array("cigar_counts", np.int32, "pairs"),
        Array("pool", np.uint32, "pool_capacity"),
        Scalar("pool_capacity", np.int32),
        Array("pool_used", np.uint64, "one"),
        Scalar("one", np.int32),
    )
    return Kernel(
        "realign/align.cu", f"align<{columns}, {c_type}, {str(with_trace).lower()}>", parameters
    )

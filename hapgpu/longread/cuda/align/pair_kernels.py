"""Kernels that align pieces one by one (`cuda/longread/align/pairs.cu`)."""

from __future__ import annotations

from typing import Final

import numpy as np

from hapgpu.longread.cuda.align.rows import (
    PIECE_ALIGNMENTS,
    PIECES,
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
)
from hapgpu.longread.kernels import sizes
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct

# As in the source.
PLAN_THREADS: Final = 128
JOB_NUMBERS: Final = 6
RING_ARRAYS: Final = 4
RING_MARGIN: Final = 32
UNKNOWN_WIDTH: Final = -1
WARP_TEAMS: Final = 4
WARP_RING: Final = 256
BLOCK_WARPS: Final = 8
BLOCK_RING: Final = 1024
GRID_WARPS: Final = 16

_ROWS: Final = Array("rows", np.int64, "count")
_WIDTHS: Final = Array("widths", np.int32, "count")
_JOBS: Final = Array("jobs", np.int32, "count", width=JOB_NUMBERS)

CLASSIFY_PIECES: Final = align_kernel(
    "pairs.cu",
    "classify_pieces",
    (
        *(PIECES, Scalar("max_cells", np.int64), PIECE_ALIGNMENTS),
        Array("is_fill", np.int64, "pieces.count"),
        Array("is_other", np.int64, "pieces.count"),
    ),
)
PLAN_PAIRS: Final = align_kernel(
    "pairs.cu",
    "plan_pairs",
    (
        *(PIECES, SCORING, _ROWS),
        Struct(
            "plans",
            (
                *(_JOBS, _WIDTHS),
                Array("chunk_counts", np.int64, "count", 1),
                Array("byte_counts", np.int64, "count", 1),
                Array("keys", np.int64, "count"),
                Array("classes", np.int32, "count"),
                Array("lanes", np.int32, "count"),
            ),
        ),
        *sizes("max_warp_lanes", "max_block_lanes", "count"),
    ),
)


def _pair_kernel(warps: int, teams: int, ring: int, blocks: int) -> Kernel:
    return align_kernel(
        "pairs.cu",
        f"align_pairs<{warps}, {teams}, {ring}, {blocks}>",
        (
            Struct(
                "inputs", (READ_CODES, TARGET_CODES, PIECES, SCORING, Scalar("end_bonus", np.int32))
            ),
            Struct(
                "jobs",
                (
                    *(_JOBS, _ROWS, Array("chunk_offsets", np.int64, "count", 1), _WIDTHS),
                    Array("states", np.int32, "count"),
                    Array("operation_starts", np.int64, "count"),
                    Array("operation_counts", np.int64, "count", 1),
                    *sizes("count"),
                ),
            ),
            Struct(
                "pool",
                (
                    Array("bytes", np.uint8, "size"),
                    Array("used", np.uint64, "one"),
                    Array("chunks", np.int64, "chunk_count"),
                    Scalar("size", np.int64),
                    *(Length("one"), Length("chunk_count")),
                ),
            ),
            PIECE_ALIGNMENTS,
            Array("order", np.int64, "count"),
            Array("taken", np.int32, "one"),
            Scalar("count", np.int32),
            Array("rings", np.uint32, "ring_words"),
            Scalar("ring_size", np.int32),
            *(Length("one"), Length("ring_words")),
        ),
    )


ALIGN_BY_WARPS: Final = _pair_kernel(1, WARP_TEAMS, WARP_RING, 5)
ALIGN_BY_BLOCKS: Final = _pair_kernel(BLOCK_WARPS, 1, BLOCK_RING, 3)
ALIGN_IN_GLOBAL_MEMORY: Final = _pair_kernel(GRID_WARPS, 1, 0, 1)

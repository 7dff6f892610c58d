"""Kernels that align pieces one by one (`cuda/longread/align/dp/pairs.cu`)."""

from __future__ import annotations

from typing import Final, NamedTuple

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
from hapgpu.runtime.gpu.work_queue import WARP


class PairClass(NamedTuple):
    """How a kernel aligns pairs.

    Attributes
    ----------
    kernel
        The kernel.
    warps
        Warps per pair.
    teams
        Pairs per thread block.
    """

    kernel: Kernel
    warps: int
    teams: int

    @property
    def threads(self) -> int:
        """Threads per pair."""
        return self.warps * WARP


# As in the source.
PLAN_THREADS: Final = 128
JOB_NUMBERS: Final = 6
RING_ARRAYS: Final = 4
RING_MARGIN: Final = 32
UNKNOWN_WIDTH: Final = -1

_ROWS: Final = Array("rows", np.int64, "count")
_WIDTHS: Final = Array("widths", np.int32, "count")
_JOBS: Final = Array("jobs", np.int32, "count", width=JOB_NUMBERS)

CLASSIFY_PIECES: Final = align_kernel(
    "dp/pairs.cu",
    "classify_pieces",
    (
        *(PIECES, Scalar("max_cells", np.int64), PIECE_ALIGNMENTS),
        Array("is_fill", np.int64, "pieces.count"),
        Array("is_other", np.int64, "pieces.count"),
    ),
)
PLAN_PAIRS: Final = align_kernel(
    "dp/pairs.cu",
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
        Struct("most", sizes("warp", "few_warps", "many_warps")),
        *sizes("count"),
    ),
)


def _pair_class(warps: int, teams: int, ring: int, blocks: int) -> PairClass:
    kernel = align_kernel(
        "dp/pairs.cu",
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
    return PairClass(kernel, warps, teams)


MOST_LANES: Final = (96, 256 - RING_MARGIN, 1024 - RING_MARGIN)
"""Most lanes per antidiagonal of the first classes; their rings are longer by `RING_MARGIN`."""
CLASSES: Final = (
    _pair_class(1, 4, 128, 4),
    _pair_class(8, 1, 256, 3),
    _pair_class(16, 1, 1024, 1),
    _pair_class(16, 1, 0, 1),
)
"""Classes of pairs by lanes per antidiagonal; the last one has its rings in global memory."""
ALIGN_BY_WARPS, ALIGN_BY_BLOCKS, ALIGN_BY_LARGE_BLOCKS, ALIGN_IN_GLOBAL_MEMORY = (
    pair_class.kernel for pair_class in CLASSES
)

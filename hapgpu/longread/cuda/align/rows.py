"""Declaration of the batches of base alignment for kernels (`cuda/longread/align/rows.cuh`).

Arrays of records, `MAPPING` and `PLAN`, are words on a GPU: int64 of shape [rows, words]. Batches
are the classes of `hapgpu.longread.align.batches`, with arrays of CuPy.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.batches import (
    MAPPING,
    PLAN,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    ReadCodes,
    TargetCodes,
)
from hapgpu.longread.align.parameters import AMBIGUOUS, AlignParameters, AlignScoring
from hapgpu.longread.kernels import OFFSETS, READS, Fields, X, Y, chaining_kernel, sizes
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct
from hapgpu.runtime.gpu_array import GpuArray

_WORD: Final = 8
MAPPING_WORDS: Final = MAPPING.itemsize // _WORD
PLAN_WORDS: Final = PLAN.itemsize // _WORD


def align_kernel(source: str, expression: str, parameters: tuple[Parameter, ...]) -> Kernel:
    """Declare a kernel of `cuda/longread/align`; `source` is its path there."""
    return chaining_kernel(f"align/{source}", expression, parameters)


def mapping_array(name: str, length: str) -> Array:
    """Declare an array of `MAPPING`."""
    return Array(name, np.int64, length, width=MAPPING_WORDS)


def plan_array(name: str, length: str) -> Array:
    """Declare an array of `PLAN`."""
    return Array(name, np.int64, length, width=PLAN_WORDS)


READ_CODES: Final = Struct(
    "reads",
    (
        Array("codes", np.uint8, "bytes"),
        Array("starts", np.int64, "reads"),
        Array("lengths", np.int32, "reads"),
        *(Length("bytes"), READS),
    ),
)
TARGET_CODES: Final = Struct(
    "targets",
    (
        Array("codes", np.uint8, "bytes"),
        Array("starts", np.int64, "sequences"),
        Array("lengths", np.int64, "sequences"),
        *(Length("bytes"), Scalar("sequences", np.int32)),
    ),
)
MAPPED_ANCHORS: Final = Struct("anchors", (X, Y, OFFSETS, Length("anchors"), READS))
PIECES: Final = Struct(
    "pieces",
    (
        Array("kinds", np.uint8, "count"),
        Array("query_starts", np.int64, "count"),
        Array("query_lengths", np.int32, "count"),
        Array("target_starts", np.int64, "count"),
        *(Array(name, np.int32, "count") for name in ("target_lengths", "bands", "drops")),
        *sizes("count"),
    ),
)
_NUMBERS = ("scores", "max_scores", "max_targets", "max_queries", "query_end_targets")
PIECE_ALIGNMENTS: Final = Struct(
    "alignments",
    (
        *(Array(name, np.int32, "count") for name in _NUMBERS),
        *(Array(name, np.uint8, "count") for name in ("reaches_end", "is_dropped")),
        Array("operations", np.uint32, "operation_count"),
        Array("offsets", np.int64, "count", 1),
        Length("operation_count"),
        *sizes("count"),
    ),
)
SCORING: Final = Struct(
    "scoring",
    sizes(
        *("match", "mismatch", "gap_open", "gap_extend", "gap_open2", "gap_extend2"),
        *("ambiguous", "dp_ambiguous", "transition"),
    ),
)
PARAMETERS: Final = Struct(
    "parameters",
    tuple(
        Scalar(name, np.int64 if name == "max_cells" else np.int32)
        for name in AlignParameters._fields
    ),
)


def uploaded_rows(rows: NDArray[np.void]) -> GpuArray:
    """Copy `rows`, `MAPPING`[r] or `PLAN`[r], to the current GPU: int64[r, words]."""
    words = rows.dtype.itemsize // _WORD
    return cupy.asarray(np.ascontiguousarray(rows).view(np.int64).reshape(rows.size, words))


def downloaded_rows(rows: GpuArray, dtype: np.dtype[Any]) -> NDArray[np.void]:
    """Copy `rows`, int64[r, words], to host memory: `MAPPING`[r] or `PLAN`[r], as `dtype` says."""
    words: NDArray[np.int64] = cupy.asnumpy(rows)
    return words.view(dtype).reshape(rows.shape[0])


def column_of(rows: GpuArray, dtype: np.dtype[Any], field: str) -> GpuArray:
    """Return a view of a field of `rows`, int64[r, words] of `MAPPING` or `PLAN`, as `dtype` says.

    The view has the dtype of the field, and shape [r].
    """
    kind, offset = dtype.fields[field][:2]  # type: ignore[index]
    return rows.view(kind)[:, offset // kind.itemsize]


def read_code_fields(reads: ReadCodes) -> Fields:
    """Return the fields of `READ_CODES`."""
    return (*reads, reads.codes.size, reads.lengths.size)


def target_code_fields(targets: TargetCodes) -> Fields:
    """Return the fields of `TARGET_CODES`."""
    return (*targets, targets.codes.size, targets.lengths.size)


def mapped_anchor_fields(anchors: MappedAnchors) -> Fields:
    """Return the fields of `MAPPED_ANCHORS`."""
    return (*anchors, anchors.x.size, anchors.offsets.size - 1)


def piece_fields(pieces: Pieces) -> Fields:
    """Return the fields of `PIECES`."""
    return (*pieces, pieces.kinds.size)


def piece_alignment_fields(alignments: PieceAlignments) -> Fields:
    """Return the fields of `PIECE_ALIGNMENTS`."""
    return (*alignments, alignments.operations.size, alignments.scores.size)


def scoring_fields(scoring: AlignScoring) -> Fields:
    """Return the fields of `SCORING`."""
    *numbers, transition = scoring[:8]
    return (*numbers, -int(scoring.dp_matrix[AMBIGUOUS, AMBIGUOUS]), transition)


def parameter_fields(parameters: AlignParameters) -> Fields:
    """Return the fields of `PARAMETERS`."""
    return tuple(parameters)

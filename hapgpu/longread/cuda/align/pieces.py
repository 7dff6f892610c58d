"""Chains to pieces on a GPU (`cuda/longread/align/pieces.cu`); same as `longread/align/pieces.py`.

One warp plans a mapping. Its lanes look for gaps and for cut points side by side.
"""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.align.batches import MappedAnchors, Pieces, PlannedPieces, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.align.piece_bounds import CUT_COLUMNS
from hapgpu.longread.cuda.align.rows import (
    MAPPED_ANCHORS,
    PARAMETERS,
    PIECES,
    PLAN_WORDS,
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
    mapped_anchor_fields,
    mapping_array,
    parameter_fields,
    piece_fields,
    plan_array,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Parameter
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source
_LIMITS: Final = 4

_MAPPINGS: Final[tuple[Parameter, ...]] = (
    mapping_array("mappings", "all_mappings"),
    Length("all_mappings"),
)
_SEQUENCES = (MAPPED_ANCHORS, READ_CODES, TARGET_CODES)
_CUTS = Array("cut_columns", np.int32, "anchors.anchors", width=CUT_COLUMNS)
_LIMIT_COLUMNS = Array("limit_columns", np.int32, "count", width=_LIMITS)
_OFFSETS = Array("offsets", np.int64, "count", 1)

PLAN_MAPPINGS: Final = align_kernel(
    "pieces.cu",
    "plan_mappings",
    (
        *_MAPPINGS,
        Array("rows", np.int64, "count"),
        *(*_SEQUENCES, SCORING, PARAMETERS),
        *(Array("gapped", np.int32, "anchors.anchors"), _CUTS, _LIMIT_COLUMNS),
        *(plan_array("plans", "count"), Array("counts", np.int64, "count", 1)),
        *sizes("count"),
    ),
)
FILL_PIECES: Final = align_kernel(
    "pieces.cu",
    "fill_pieces",
    (
        *_MAPPINGS,
        *(*_SEQUENCES, PARAMETERS),
        *(_CUTS, _LIMIT_COLUMNS, _OFFSETS),
        *(plan_array("plans", "count"), PIECES, Array("end_anchors", np.int32, "pieces.count")),
        *sizes("count"),
    ),
)


def plan_pieces(
    mappings: GpuArray,
    rows: GpuArray,
    anchors: MappedAnchors,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PlannedPieces:
    """Return the pieces to align of some mappings, on the current GPU.

    Works on the current stream, and waits for it once.

    Parameters
    ----------
    mappings
        `MAPPING`[r] as int64[r, MAPPING_WORDS].
    rows
        int64[m]: the mappings to plan, whose anchors are disjoint.
    anchors, sequences, scoring, parameters
        As in `align.pieces.plan_pieces`, with arrays on the GPU.

    Returns
    -------
    PlannedPieces
        `plans` are int64[m, PLAN_WORDS].
    """
    count, size = rows.size, anchors.x.size
    cuts = cupy.empty(CUT_COLUMNS * size, dtype=np.int32)
    limits = cupy.empty(_LIMITS * count, dtype=np.int32)
    plans = cupy.empty((count, PLAN_WORDS), dtype=np.int64)
    counts = cupy.empty(count + 1, dtype=np.int64)
    all_mappings = (mappings, mappings.shape[0])
    bases = (
        mapped_anchor_fields(anchors),
        read_code_fields(sequences.reads),
        target_code_fields(sequences.targets),
    )
    planning = (
        *(*all_mappings, rows, *bases, scoring_fields(scoring), parameter_fields(parameters)),
        *(cupy.empty(size, dtype=np.int32), cuts, limits, plans, counts, count),
    )
    launch_threads(PLAN_MAPPINGS, _THREADS, count * WARP, planning)
    offsets = cupy.cumsum(counts)
    (pieces,) = last_values(offsets)
    planned = _no_pieces(pieces, plans)
    filling = (
        *(*all_mappings, *bases, parameter_fields(parameters), cuts, limits, offsets, plans),
        *(piece_fields(planned.pieces), planned.end_anchors, count),
    )
    launch_threads(FILL_PIECES, _THREADS, count * WARP, filling)
    return planned


def _no_pieces(count: int, plans: GpuArray) -> PlannedPieces:
    """Return space for pieces."""
    starts, numbers = cupy.empty((2, count), dtype=np.int64), cupy.empty((5, count), dtype=np.int32)
    (query_starts, target_starts), (query_lengths, target_lengths, bands, drops, ends) = (
        starts,
        numbers,
    )
    kinds = cupy.empty(count, dtype=np.uint8)
    pieces = Pieces(kinds, query_starts, query_lengths, target_starts, target_lengths, bands, drops)
    return PlannedPieces(pieces, plans, ends)

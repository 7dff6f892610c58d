"""Inversions between two parts of split mappings, on a GPU.

The kernels are in `cuda/longread/align/inversions.cu`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import chosen_rows
from hapgpu.longread.align.batches import (
    INVERSION,
    PieceAlignments,
    Pieces,
    SequenceCodes,
)
from hapgpu.longread.align.inversions import Stretches
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.local import (
    PAIR_LIST,
    LocalPairs,
    align_pairs_locally,
    pair_array,
)
from hapgpu.longread.cuda.align.rows import (
    PIECE_ALIGNMENTS,
    READ_CODES,
    TARGET_CODES,
    align_kernel,
    mapping_array,
    piece_alignment_fields,
    read_code_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import Fields, sizes
from hapgpu.runtime.gpu.kernel import Array, Length, Scalar, Struct
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source

_STRETCHES: Final = Struct(
    "stretches",
    (
        Array("left", np.int64, "count"),
        Array("right", np.int64, "count"),
        Array("query_starts", np.int64, "count"),
        Array("target_starts", np.int64, "count"),
        *sizes("count"),
    ),
)
_TABLE: Final = Struct(
    "table",
    (
        Array("rows", np.int64, "count", width=2),
        Array("starts", np.int64, "count", width=2),
        Array("lengths", np.int32, "count", width=2),
    ),
)
LIST_STRETCHES: Final = align_kernel(
    "inversions.cu",
    "list_stretches",
    (
        mapping_array("mappings", "count"),
        *sizes("count"),
        READ_CODES,
        TARGET_CODES,
        *sizes("min_length", "max_length"),
        PAIR_LIST,
    ),
)
PLACE_STRETCHES: Final = align_kernel(
    "inversions.cu",
    "place_stretches",
    (
        mapping_array("mappings", "mapping_count"),
        pair_array("pair_count"),
        Array("target_ends", np.int32, "pair_count"),
        Array("query_ends", np.int32, "pair_count"),
        Array("order", np.int64, "count"),
        *sizes("count"),
        _TABLE,
        Length("mapping_count"),
        Length("pair_count"),
    ),
)
FIND_PREVIOUS: Final = align_kernel(
    "inversions.cu",
    "find_previous",
    (_STRETCHES, Array("previous", np.int32, "mapping_count"), Length("mapping_count")),
)
CHOOSE_INVERSIONS: Final = align_kernel(
    "inversions.cu",
    "choose_inversions",
    (
        _STRETCHES,
        Array("offsets", np.int64, "stretches.count", 1),
        Array("previous", np.int32, "mapping_count"),
        Array("is_inverted", np.int32, "stretches.count"),
        Length("mapping_count"),
    ),
)
INSERT_INVERSIONS: Final = align_kernel(
    "inversions.cu",
    "insert_inversions",
    (
        mapping_array("mappings", "count"),
        mapping_array("out", "total"),
        *sizes("count"),
        Length("total"),
        _STRETCHES,
        PIECE_ALIGNMENTS,
        READ_CODES,
        TARGET_CODES,
        Array("ranks", np.int32, "stretches.count"),
        Scalar("first_operation", np.int64),
    ),
)


class _Table(NamedTuple):
    """Table of p stretches: a row per pair of numbers.

    Attributes
    ----------
    rows
        int64[2, p]: rows of the mappings on the left and on the right.
    starts
        int64[2, p]: first codes in the read and in the reference.
    lengths
        int32[2, p]: bases there.
    """

    rows: GpuArray
    starts: GpuArray
    lengths: GpuArray

    @classmethod
    def empty(cls, count: int) -> _Table:
        """Allocate a table."""
        rows, starts = (cupy.empty((2, count), dtype=np.int64) for _ in range(2))
        return cls(rows, starts, cupy.empty((2, count), dtype=np.int32))

    def stretches(self, parameters: AlignParameters) -> Stretches:
        """Return the stretches with their pieces."""
        count = self.rows.shape[1]
        pieces = Pieces(
            kinds=cupy.full(count, INVERSION, dtype=np.uint8),
            query_starts=self.starts[0],
            query_lengths=self.lengths[0],
            target_starts=self.starts[1],
            target_lengths=self.lengths[1],
            bands=cupy.full(count, parameters.inversion_band, dtype=np.int32),
            drops=cupy.full(count, parameters.drop, dtype=np.int32),
        )
        return Stretches(self.rows[0], self.rows[1], pieces)


def find_stretches(
    mappings: GpuArray,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Stretches:
    """Find stretches between the parts of split mappings that align with the other strand.

    Waits for the GPU.

    Parameters
    ----------
    mappings
        int64[r, words] on the current GPU: `MAPPING`, aligned, with their final coordinates.
    sequences, scoring, parameters
        As in `align.inversions.find_stretches`, on the GPU.
    """
    count = mappings.shape[0]
    pairs = LocalPairs.empty(count)
    arguments = (
        *(mappings, count, read_code_fields(sequences.reads)),
        target_code_fields(sequences.targets),
        *(parameters.min_chain_score, parameters.max_gap, pairs.fields),
    )
    launch_threads(LIST_STRETCHES, _THREADS, count, arguments)
    listed, words = pairs.sizes()
    table = _Table.empty(0)
    if listed:
        found = align_pairs_locally(pairs, listed, words, sequences, scoring, is_backwards=True)
        order = cupy.argsort(pairs.numbers(listed))
        order = order[chosen_rows(found.scores[order] >= parameters.min_score)]
        table = _Table.empty(order.size)
        fields = (found.target_ends, found.query_ends, order, order.size, table, count, listed)
        launch_threads(PLACE_STRETCHES, _THREADS, order.size, (mappings, pairs.rows, *fields))
    return table.stretches(parameters)


def insert_inversions(
    mappings: GpuArray,
    stretches: Stretches,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
    first_operation: int,
) -> GpuArray:
    """Insert a mapping for each inversion, behind the parts that it lies between.

    Waits for the GPU.

    Parameters
    ----------
    mappings
        int64[r, words] on the current GPU: `MAPPING`; `next` is changed in place.
    stretches, alignments, sequences, first_operation
        As in `align.inversions.insert_inversions`, on the GPU.

    Returns
    -------
    int64[r + i, words]: `MAPPING`; the mappings, and behind them the i inversions.
    """
    count, stretch_count = mappings.shape[0], stretches.left.size
    fields = _stretch_fields(stretches)
    previous = cupy.full(count, -1, dtype=np.int32)
    launch_threads(FIND_PREVIOUS, _THREADS, stretch_count, (fields, previous, count))
    is_inverted = cupy.empty(stretch_count, dtype=np.int32)
    chosen = (fields, alignments.offsets, previous, is_inverted, count)
    launch_threads(CHOOSE_INVERSIONS, _THREADS, stretch_count, chosen)
    ranks = cupy.cumsum(is_inverted, dtype=np.int32)
    total = count + (last_values(ranks)[0] if stretch_count else 0)
    out = cupy.empty((total, mappings.shape[1]), dtype=np.int64)
    out[:count] = mappings
    arguments = (
        *(mappings, out, count, total, fields, piece_alignment_fields(alignments)),
        *(read_code_fields(sequences.reads), target_code_fields(sequences.targets)),
        *(ranks, first_operation),
    )
    launch_threads(INSERT_INVERSIONS, _THREADS, stretch_count, arguments)
    return out


def _stretch_fields(stretches: Stretches) -> Fields:
    """Return the fields of `_STRETCHES`."""
    pieces = stretches.pieces
    places = (pieces.query_starts, pieces.target_starts)
    return (stretches.left, stretches.right, *places, stretches.left.size)

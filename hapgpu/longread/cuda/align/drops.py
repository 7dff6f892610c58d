"""Test of fills for drops of the score on a GPU (`cuda/longread/align/drops.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.longread.align.batches import PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.cuda.align.local import (
    PAIR_LIST,
    LocalPairs,
    align_pairs_locally,
    pair_array,
)
from hapgpu.longread.cuda.align.rows import (
    PARAMETERS,
    PIECE_ALIGNMENTS,
    PIECES,
    READ_CODES,
    SCORING,
    TARGET_CODES,
    align_kernel,
    parameter_fields,
    piece_alignment_fields,
    piece_fields,
    read_code_fields,
    scoring_fields,
    target_code_fields,
)
from hapgpu.longread.kernels import sizes
from hapgpu.runtime.gpu.kernel import Array, Length
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128  # per block, as in the source

TEST_FILLS: Final = align_kernel(
    "drops.cu",
    "test_fills",
    (
        PIECES,
        PIECE_ALIGNMENTS,
        READ_CODES,
        TARGET_CODES,
        SCORING,
        PARAMETERS,
        Array("drops", np.uint8, "pieces.count"),
        PAIR_LIST,
    ),
)
MARK_INVERSIONS: Final = align_kernel(
    "drops.cu",
    "mark_inversions",
    (
        pair_array("count"),
        Array("scores", np.int32, "count"),
        *sizes("count"),
        PARAMETERS,
        *sizes("match"),
        Array("drops", np.uint8, "pieces"),
        Length("pieces"),
    ),
)


def find_drops(
    pieces: Pieces,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> GpuArray:
    """Test each fill for a drop of the score; waits for the GPU.

    Parameters
    ----------
    pieces, alignments, sequences, scoring, parameters
        As in `align.drops.find_drops`, on the current GPU.

    Returns
    -------
    uint8[p]: `NO_DROP`, `DROP` or `INVERSION_DROP`; `NO_DROP` for other pieces than fills.
    """
    count = pieces.kinds.size
    drops = cupy.empty(count, dtype=np.uint8)
    inverted = LocalPairs.empty(count)
    launch_threads(
        TEST_FILLS,
        _THREADS,
        count,
        (
            *(piece_fields(pieces), piece_alignment_fields(alignments)),
            *(read_code_fields(sequences.reads), target_code_fields(sequences.targets)),
            *(scoring_fields(scoring), parameter_fields(parameters), drops, inverted.fields),
        ),
    )
    listed, words = inverted.sizes()
    if listed:
        found = align_pairs_locally(inverted, listed, words, sequences, scoring, is_backwards=False)
        fields = (parameter_fields(parameters), scoring.match, drops, count)
        arguments = (inverted.rows, found.scores, listed, *fields)
        launch_threads(MARK_INVERSIONS, _THREADS, listed, arguments)
    return drops

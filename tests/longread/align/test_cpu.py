"""Alignment of pieces on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from hapgpu.longread.align.batches import (
    FILL,
    RIGHT,
    UNREACHED,
    PieceAlignments,
    Pieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.cpu import align_pieces
from hapgpu.longread.align.parameters import align_parameters, scoring_of
from hapgpu.longread.options import AlignOptions, LongReadOptions, SketchOptions

PARAMETERS = align_parameters(LongReadOptions(), SketchOptions())
BASES = 4


def aligned_piece(kind: int, max_cells: int) -> PieceAlignments:
    """Align four bases with the same ones."""
    codes, start = np.arange(BASES, dtype=np.uint8), np.zeros(1, np.int64)
    length = np.array([BASES], np.int32)
    limit = np.array([100], np.int32)
    return align_pieces(
        Pieces(np.array([kind], np.uint8), start, length, start, length, limit, limit),
        SequenceCodes.of(
            ReadCodes(codes, start, length), TargetCodes(codes, start, length.astype(np.int64))
        ),
        scoring_of(AlignOptions(match=2)),
        PARAMETERS._replace(max_cells=max_cells),
    )


@pytest.mark.parametrize("kind", [FILL, RIGHT])
@pytest.mark.parametrize("max_cells", [0, BASES**2])
def test_a_piece_within_the_limit_is_aligned(kind: int, max_cells: int) -> None:
    """A limit of 0 is none."""
    found = aligned_piece(kind, max_cells)
    assert found.scores.tolist() == [2 * BASES]
    assert found.operations.tolist() == [BASES << 4]
    assert found.is_dropped.tolist() == [0]


@pytest.mark.parametrize("kind", [FILL, RIGHT])
def test_a_piece_with_more_cells_is_dropped(kind: int) -> None:
    found = aligned_piece(kind, BASES**2 - 1)
    assert found.scores.tolist() == [UNREACHED]
    assert found.operations.size == 0
    assert found.is_dropped.tolist() == [1]

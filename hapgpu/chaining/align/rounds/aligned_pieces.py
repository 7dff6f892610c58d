"""Pieces with their alignments and tests, and the steps in which they are aligned."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.chaining.align.batches import UNREACHED, PieceAlignments, Pieces

_FIRST_FILLS: Final = 32
"""Fills of a mapping in its first step."""


class AlignedPieces(NamedTuple):
    """Pieces with their final alignments.

    Attributes
    ----------
    pieces
        Pieces.
    alignments
        Their alignments; the second ones of fills whose test found a drop.
    drops
        uint8[p]: results of the tests.
    """

    pieces: Pieces
    alignments: PieceAlignments
    drops: NDArray[np.uint8]


def take_pieces(pieces: Pieces, rows: NDArray[Any]) -> Pieces:
    """Return some pieces: a boolean mask, or row numbers in any order."""
    return Pieces(*(getattr(pieces, field.name)[rows] for field in fields(Pieces)))


def take_alignments(alignments: PieceAlignments, rows: NDArray[np.int64]) -> PieceAlignments:
    """Return the alignments of some pieces, in any order."""
    operations = Ragged(alignments.operations, alignments.offsets).take(rows)
    columns = {name: getattr(alignments, name)[rows] for name in _NUMBERS}
    return PieceAlignments(**columns, operations=operations.data, offsets=operations.offsets)


def join_alignments(parts: list[PieceAlignments]) -> PieceAlignments:
    """Return alignments of pieces, part by part."""
    operations = Ragged.concatenate([Ragged(each.operations, each.offsets) for each in parts])
    columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in _NUMBERS}
    return PieceAlignments(**columns, operations=operations.data, offsets=operations.offsets)


def no_alignment() -> PieceAlignments:
    """Return the alignments of one piece that is not aligned."""
    zero, missing = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
    return PieceAlignments(
        scores=np.full(1, UNREACHED, dtype=np.int32),
        max_scores=zero,
        max_targets=missing,
        max_queries=missing,
        query_end_targets=missing,
        reaches_end=zero.astype(np.uint8),
        is_dropped=zero.astype(np.uint8),
        operations=np.empty(0, dtype=np.uint32),
        offsets=np.zeros(2, dtype=np.int64),
    )


_NUMBERS = [
    field.name for field in fields(PieceAlignments) if field.name not in {"operations", "offsets"}
]
"""The columns with one number per piece."""


class PieceSteps(NamedTuple):
    """Steps in which the pieces of mappings are aligned.

    Attributes
    ----------
    steps
        int64[p]: step of each piece, from 0 on.
    plans
        int64[p]: row of the plan that each piece belongs to.
    """

    steps: NDArray[np.int64]
    plans: NDArray[np.int64]


def piece_steps(plans: NDArray[np.void], pieces: int) -> PieceSteps:
    """Return the steps of pieces: the first fills of each mapping, then twice as many, and so on.

    After a drop, the fills behind it are not needed. The left extension is aligned with the first
    fills, the right one with the last.

    Parameters
    ----------
    plans
        PLAN[m]: plans of the mappings.
    pieces
        Number of their pieces.
    """
    steps, owners = np.zeros((2, pieces), dtype=np.int64)
    numbers = np.arange(plans.size)
    fills = plans["fills"].astype(np.int64)
    positions = np.arange(fills.sum()) - np.repeat(np.cumsum(fills) - fills, fills)
    rows = np.repeat(plans["first_fill"], fills) + positions
    owners[rows] = np.repeat(numbers, fills)
    steps[rows] = _step_of(positions)
    for side in ("left", "right"):
        has_side = plans[side] >= 0
        owners[plans[side][has_side]] = numbers[has_side]
    has_right = plans["right"] >= 0
    steps[plans["right"][has_right]] = _step_of((fills - 1).clip(0))[has_right]
    return PieceSteps(steps, owners)


def _step_of(fills: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the steps of the fills with these numbers in their mappings."""
    return np.frexp(fills // _FIRST_FILLS + 1)[1].astype(np.int64) - 1

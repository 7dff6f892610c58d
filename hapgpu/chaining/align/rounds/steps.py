"""Steps in which the pieces of mappings are aligned: each of twice as many fills of a mapping.

minimap2's `mm_align1` aligns the fills of a mapping one by one and stops at the first dropped one:
the remaining fills belong to the second part of the mapping. Here the steps of all mappings are
aligned together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.align.batches import (
    FILL,
    UNREACHED,
    AlignedPieces,
    PieceAlignments,
    Pieces,
    PlannedPieces,
)

_FIRST_FILLS: Final = 32
"""Fills of a mapping in its first step."""


def align_in_steps(
    planned: PlannedPieces,
    align: Callable[[Pieces], tuple[PieceAlignments, NDArray[np.uint8]]],
) -> AlignedPieces:
    """Align and test pieces, except most of those after a mapping's first dropped fill.

    Parameters
    ----------
    planned
        Pieces of mappings.
    align
        Returns the alignments of some pieces, and the results of their tests.
    """
    pieces = planned.pieces
    steps, plans = piece_steps(planned.plans, pieces.kinds.size)
    is_open = np.ones(planned.plans.size, dtype=np.bool_)
    places = np.zeros(pieces.kinds.size, dtype=np.int64)  # 0: not aligned
    parts, drops = [no_alignment()], [np.zeros(1, dtype=np.uint8)]
    count = 1
    for step in range(int(steps.max(initial=-1)) + 1):
        rows = np.flatnonzero((steps == step) & is_open[plans])
        alignments, found = align(pieces.take(rows))
        is_dropped = (pieces.kinds[rows] == FILL) & (alignments.is_dropped == 1)
        is_open[plans[rows[is_dropped]]] = False
        places[rows] = count + np.arange(rows.size)
        count += rows.size
        parts.append(alignments)
        drops.append(found)
    alignments = PieceAlignments.joined(parts).take(places)
    return AlignedPieces(planned, alignments, np.concatenate(drops)[places])


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

    After a drop, the remaining fills are not needed. The left extension is aligned with the first
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

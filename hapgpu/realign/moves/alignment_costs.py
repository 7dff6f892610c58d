"""How well alignments explain reads: their score, and what differs or is clipped."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import (
    DELETION,
    HARD_CLIP,
    INSERTION,
    SOFT_CLIP,
    is_alignment,
    length_of,
    operation_of,
)
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.jit import njit

NO_REFERENCE: Final = -1

INCOMPARABLE: Final = -1
"""Cost of an alignment that skips, pads, lacks bases or leaves its reference."""


_LONGEST_GAP: Final = 12  # longer ones count as this: a long deletion is one event, too


class AlignmentCosts(NamedTuple):
    """n alignments weighed.

    Attributes
    ----------
    scores
        int64[n]: under the weights of the aligner, clipped bases not counted.
    costs
        int64[n]: mismatches, inserted, deleted and soft-clipped bases, of a gap 12 at most; or
        `INCOMPARABLE`.
    """

    scores: NDArray[np.int64]
    costs: NDArray[np.int64]


def alignment_costs(
    bases: Ragged,
    cigars: Ragged,
    positions: NDArray[np.int64],
    references: Ragged,
    reference_index: NDArray[np.int32],
    scoring: Scoring,
) -> AlignmentCosts:
    """Weigh alignments as they are; bytes are compared as the aligner compares them.

    Parameters
    ----------
    bases
        uint8 text, n rows: the reads, soft-clipped bases among them.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n], 0-based, on the reference of each.
    references
        uint8 text.
    reference_index
        int32[n], the reference of each read; an alignment with `NO_REFERENCE` is incomparable.
    scoring
        The weights.
    """
    costs = AlignmentCosts(
        np.zeros(len(bases), dtype=np.int64), np.zeros(len(bases), dtype=np.int64)
    )
    alignments = _Alignments(view_of(bases), view_of(cigars), positions, reference_index)
    _weigh_rows(alignments, view_of(references), scoring.weights, costs)
    return costs


class _Alignments(NamedTuple):
    """Alignments for compiled code."""

    bases: RaggedView
    cigars: RaggedView
    positions: NDArray[np.int64]
    reference_index: NDArray[np.int32]


@njit
def _weigh_rows(
    alignments: _Alignments,
    references: RaggedView,
    weights: tuple[int, int, int, int],
    out: AlignmentCosts,
) -> None:
    for row in range(alignments.positions.size):
        if alignments.reference_index[row] == NO_REFERENCE:
            out.costs[row] = INCOMPARABLE
            continue
        out.scores[row], out.costs[row] = _weigh(
            row_of(alignments.bases, row),
            row_of(alignments.cigars, row),
            alignments.positions[row],
            row_of(references, alignments.reference_index[row]),
            weights,
        )


@njit
def _weigh(
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    position: int,
    reference: NDArray[np.uint8],
    weights: tuple[int, int, int, int],
) -> tuple[int, int]:
    match, mismatch, gap_open, gap_extend = weights
    score, cost, on_read, on_reference = 0, 0, 0, position
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        if is_alignment(operation):
            if (
                on_reference < 0
                or on_reference + length > reference.size
                or on_read + length > read.size
            ):
                return 0, INCOMPARABLE
            equal = 0
            for k in range(length):
                equal += read[on_read + k] == reference[on_reference + k]
            score += match * equal + mismatch * (length - equal)
            cost += length - equal
            on_read += length
            on_reference += length
        elif operation in (INSERTION, DELETION):
            score += gap_open + (length - 1) * gap_extend
            cost += min(length, _LONGEST_GAP)
            on_read += length if operation == INSERTION else 0
            on_reference += length if operation == DELETION else 0
        elif operation == SOFT_CLIP:
            cost += length
            on_read += length
        elif operation != HARD_CLIP:
            return 0, INCOMPARABLE
    return (score, cost) if on_read == read.size else (0, INCOMPARABLE)

"""Costs of alignments: their score, and the numbers of different and clipped bases."""

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
"""Cost of an alignment with skips or pads, without bases, or beyond the ends of its reference."""


_LONGEST_GAP: Final = 12  # longer gaps cost the same: a long deletion is one event


class AlignmentCosts(NamedTuple):
    """Scores and costs of n alignments.

    Attributes
    ----------
    scores
        int64[n]: by the weights of the aligner, without clipped bases.
    costs
        int64[n]: mismatches, inserted, deleted and soft-clipped bases, at most 12 per gap; or
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
    """Return the scores and costs of alignments; bytes are compared as in the aligner.

    Parameters
    ----------
    bases
        uint8 text, n rows: the reads, with soft-clipped bases.
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n], 0-based, on the reference of each read.
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
    _set_costs(alignments, view_of(references), scoring.weights, costs)
    return costs


class _Alignments(NamedTuple):
    """Alignments as an argument of compiled functions."""

    bases: RaggedView
    cigars: RaggedView
    positions: NDArray[np.int64]
    reference_index: NDArray[np.int32]


@njit
def _set_costs(
    alignments: _Alignments,
    references: RaggedView,
    weights: tuple[int, int, int, int],
    out: AlignmentCosts,
) -> None:
    for row in range(alignments.positions.size):
        if alignments.reference_index[row] == NO_REFERENCE:
            out.costs[row] = INCOMPARABLE
            continue
        out.scores[row], out.costs[row] = _score_and_cost(
            row_of(alignments.bases, row),
            row_of(alignments.cigars, row),
            alignments.positions[row],
            row_of(references, alignments.reference_index[row]),
            weights,
        )


@njit
def _score_and_cost(
    read: NDArray[np.uint8],
    cigar: NDArray[np.uint32],
    position: int,
    reference: NDArray[np.uint8],
    weights: tuple[int, int, int, int],
) -> tuple[int, int]:
    """Return the score of an alignment, and its cost: mismatches, gap bases and clips."""
    match, mismatch, gap_open, gap_extend = weights
    score, cost, read_offset, reference_offset = 0, 0, 0, position
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        if is_alignment(operation):
            if (
                reference_offset < 0
                or reference_offset + length > reference.size
                or read_offset + length > read.size
            ):
                return 0, INCOMPARABLE
            equal = 0
            for k in range(length):
                equal += read[read_offset + k] == reference[reference_offset + k]
            score += match * equal + mismatch * (length - equal)
            cost += length - equal
            read_offset += length
            reference_offset += length
        elif operation in (INSERTION, DELETION):
            score += gap_open + (length - 1) * gap_extend
            cost += min(length, _LONGEST_GAP)
            read_offset += length if operation == INSERTION else 0
            reference_offset += length if operation == DELETION else 0
        elif operation == SOFT_CLIP:
            cost += length
            read_offset += length
        elif operation != HARD_CLIP:
            return 0, INCOMPARABLE
    return (score, cost) if read_offset == read.size else (0, INCOMPARABLE)

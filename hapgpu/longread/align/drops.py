"""Test of fills for drops of the score, after their alignment without a limit on drops.

A fill whose score drops far crosses the end of a homology, or an inversion (Li 2018,
Bioinformatics 34:3094). minimap2 2.30 measures drops with the cost of short gaps only
(`mm_test_zdrop`).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import columns_of
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, length_of, operation_of
from hapgpu.longread.align.batches import FILL, PieceAlignments, Pieces, SequenceCodes
from hapgpu.longread.align.dp.local import align_locally
from hapgpu.longread.align.parameters import AMBIGUOUS, AlignParameters, AlignScoring, gap_cost
from hapgpu.runtime.jit import njit

NO_DROP: Final = 0
"""The fill is good as it is."""
DROP: Final = 1
"""The score drops too far: align again, with `AlignParameters.drop`."""
INVERSION_DROP: Final = 2
"""There may be an inversion: align again, with `AlignParameters.inversion_drop`."""

_LOWEST: Final = -(2**31)


class _Fill(NamedTuple):
    """Pair of sequences of a fill."""

    query: NDArray[np.uint8]
    target: NDArray[np.uint8]


class _Drop(NamedTuple):
    """Largest drop of the score along an alignment, and the bases between its two ends."""

    size: Integer
    query_start: Integer
    query_end: Integer
    target_start: Integer
    target_end: Integer


@njit
def _has_no_drop(
    operations: NDArray[np.uint32], score: Integer, limit: Integer, scoring: AlignScoring
) -> bool:
    """Return whether no drop can exceed `limit`, from the score and the gaps.

    A column of bases that costs c >= 0 takes match + c from the score of matches only. The lost
    score thus bounds the sum of all costs: c / (match + c) is largest for the largest c.
    """
    columns, gap_costs, short_gap_costs = 0, 0, 0
    for k in range(operations.size):
        length = length_of(operations[k])
        if operation_of(operations[k]) == MATCH:
            columns += length
        else:
            gap_costs += gap_cost(length, scoring)
            short_gap_costs += scoring.gap_open + scoring.gap_extend * length
    worst = max(scoring.mismatch, scoring.transition, scoring.ambiguous, scoring.gap_extend2)
    lost = scoring.match * columns - (score + gap_costs)
    return 0 <= lost * worst <= (limit - short_gap_costs) * (scoring.match + worst)


@njit
def _largest_drop(operations: NDArray[np.uint32], fill: _Fill, scoring: AlignScoring) -> _Drop:
    """Return the largest drop, less the cost to extend a gap per base of diagonals between."""
    target, query, score = np.int64(0), np.int64(0), np.int64(0)
    best, best_target, best_query = np.int64(_LOWEST), np.int64(-1), np.int64(-1)
    largest = _Drop(0, -1, -1, -1, -1)
    for k in range(operations.size):
        length = length_of(operations[k])
        code = operation_of(operations[k])
        steps = length if code == MATCH else 1
        for _ in range(steps):
            if code == MATCH:
                score += np.int64(scoring.matrix[fill.target[target], fill.query[query]])
            else:
                score -= scoring.gap_open + scoring.gap_extend * length
                target += length if code == DELETION else 0
                query += length if code == INSERTION else 0
            if score < best:
                diagonals = abs((target - best_target) - (query - best_query))
                size = best - score - scoring.gap_extend * diagonals
                if size > largest.size:
                    largest = _Drop(size, best_query, query, best_target, target)
            else:
                best, best_target, best_query = score, target, query
            if code == MATCH:
                target += 1
                query += 1
    return largest


@njit
def _reverse_complement(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    out = np.empty(codes.size, dtype=np.uint8)
    for k in range(codes.size):
        code = codes[codes.size - 1 - k]
        out[k] = code if code == AMBIGUOUS else 3 - code
    return out


@njit
def _is_inverted(
    fill: _Fill, drop: _Drop, scoring: AlignScoring, parameters: AlignParameters
) -> bool:
    """Return whether the bases of the drop align well with the other strand of the read."""
    score, _, _ = align_locally(
        _reverse_complement(fill.query[drop.query_start : drop.query_end]),
        fill.target[drop.target_start : drop.target_end],
        0,
        scoring,
    )
    return bool(
        score >= parameters.min_chain_score * scoring.match and score >= parameters.min_score
    )


@njit
def _drop_of(
    operations: NDArray[np.uint32],
    fill: _Fill,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> Integer:
    """Return the result of the test of one fill."""
    drop = _largest_drop(operations, fill, scoring)
    if (
        drop.size > parameters.inversion_drop
        and drop.query_end - drop.query_start < parameters.max_gap
        and drop.target_end - drop.target_start < parameters.max_gap
        and _is_inverted(fill, drop, scoring, parameters)
    ):
        return INVERSION_DROP
    return DROP if drop.size > parameters.drop else NO_DROP


@njit
def _find_drops(
    pieces: Pieces,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
    drops: NDArray[np.uint8],
) -> None:
    """Test all fills."""
    limit = min(parameters.drop, parameters.inversion_drop)
    operations, offsets = alignments.operations, alignments.offsets
    for piece in range(pieces.kinds.size):
        drops[piece] = NO_DROP
        own = operations[offsets[piece] : offsets[piece + 1]]
        if pieces.kinds[piece] != FILL:
            continue
        # A band that cuts the matrix may make scores that the path does not have.
        query_length, target_length = pieces.query_lengths[piece], pieces.target_lengths[piece]
        is_whole = max(query_length, target_length) <= pieces.bands[piece]
        if is_whole and _has_no_drop(own, alignments.scores[piece], limit, scoring):
            continue
        query, target = pieces.query_starts[piece], pieces.target_starts[piece]
        fill = _Fill(
            sequences.reads.codes[query : query + query_length],
            sequences.targets.codes[target : target + target_length],
        )
        drops[piece] = _drop_of(own, fill, scoring, parameters)


def find_drops(
    pieces: Pieces,
    alignments: PieceAlignments,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> NDArray[np.uint8]:
    """Test each fill for a drop of the score.

    Parameters
    ----------
    pieces
        Pieces of mappings.
    alignments
        Their alignments, those of the fills without a limit on drops.
    sequences
        Bases.
    scoring, parameters
        Scores and other parameters.

    Returns
    -------
    uint8[p]: `NO_DROP`, `DROP` or `INVERSION_DROP`; `NO_DROP` for other pieces than fills.
    """
    drops = np.empty(pieces.kinds.size, dtype=np.uint8)
    _find_drops(
        columns_of(Pieces, pieces),
        columns_of(PieceAlignments, alignments),
        sequences,
        scoring,
        parameters,
        drops,
    )
    return drops

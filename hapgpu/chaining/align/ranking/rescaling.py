"""Scores of alignments made comparable if a read maps nearly as well to several places.

Mismatches and gaps cost less the more a read differs from its best mapping (minimap2 2.30; Li 2021,
Bioinformatics 37:4572).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.cigars.counts import identity_of
from hapgpu.chaining.align.cigars.logarithm import logarithm
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.cigar.encoding import MATCH, length_of, operation_of
from hapgpu.runtime.jit import njit, njit_inlined

MIN_LENGTH: Final = 500
"""Shortest read whose scores are rescaled."""
MIN_FRACTION: Final = float(np.float32(0.9))
"""Fraction of the read that the best mapping must cover, and of its score that another has."""
MIN_DIVERGENCE: Final = 0.02
_ROUNDING: Final = 0.499


@njit
def rescale(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    operations: NDArray[np.uint32],
    lengths: NDArray[np.int32],
    scoring: AlignScoring,
) -> None:
    """Set `dp_max` of the mappings of reads with two or more good mappings."""
    for read in range(lengths.size):
        start, end = offsets[read], offsets[read + 1]
        length = np.float64(lengths[read])
        if length < MIN_LENGTH or end - start < 2:
            continue
        best, second_score = _best_and_second_score(mappings, start, end)
        if mappings[best].query_end - mappings[best].query_start < length * MIN_FRACTION:
            continue
        if second_score < np.float64(mappings[best].dp_max) * MIN_FRACTION:
            continue
        divergence = max(1.0 - identity_of(mappings[best]), MIN_DIVERGENCE)
        cost = 0.5 / divergence
        if cost * scoring.match < scoring.mismatch:
            cost = scoring.match / scoring.mismatch
        for row in range(start, end):
            mappings[row].dp_max = _rescaled(mappings[row], operations, cost, scoring.match)


@njit_inlined
def _best_and_second_score(mappings: NDArray[np.void], start: Integer, end: Integer) -> Any:
    """Return the row of the highest `dp_max`, the first of equals, and the second highest one."""
    best, second_score = start, np.int64(-1)
    for row in range(start + 1, end):
        score = np.int64(mappings[row].dp_max)
        if score > mappings[best].dp_max:
            second_score = np.int64(mappings[best].dp_max)
            best = row
        elif score > second_score:
            second_score = score
    return best, second_score


@njit_inlined
def _rescaled(
    mapping: Any, operations: NDArray[np.uint32], cost: np.float64, match: Integer
) -> Any:
    """Return the score of an alignment with this cost of a mismatch and of opening a gap."""
    gap_costs = np.float64(0)
    for k in range(mapping.first_operation, mapping.first_operation + mapping.operations):
        if operation_of(operations[k]) != MATCH:
            gap_costs += cost + np.float64(logarithm(length_of(operations[k]) + 1))
    mismatches = mapping.length + mapping.ambiguous - mapping.matches - mapping.gap_bases
    score = mapping.matches - cost * mismatches - gap_costs
    return max(np.int64(match * score + _ROUNDING), np.int64(0))

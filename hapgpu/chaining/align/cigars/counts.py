"""Counts of an alignment's bases, and the score of its best part.

The score is minimap2's (Li 2018, Bioinformatics 34:3094; Li 2021, Bioinformatics 37:4572): a gap
costs the logarithm of its length.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.cigars.logarithm import logarithm
from hapgpu.chaining.align.scoring import AMBIGUOUS, AlignScoring
from hapgpu.cigar.encoding import INSERTION, MATCH, length_of, operation_of
from hapgpu.runtime.jit import njit, njit_inlined

_ROUNDING: Final = 0.499
_ZERO: Final = np.float64(0)


class Counts(NamedTuple):
    """Counts of an alignment.

    Attributes
    ----------
    matches
        Pairs of equal bases.
    length
        Bases of pairs and of gaps, without ambiguous ones.
    ambiguous
        Pairs with an ambiguous base, and ambiguous bases in gaps.
    gaps, gap_bases
        Gaps, and their bases.
    max_score
        Score of the part that scores most.
    """

    matches: Integer
    length: Integer
    ambiguous: Integer
    gaps: Integer
    gap_bases: Integer
    max_score: Integer


@njit
def count_bases(
    cigar: NDArray[np.uint32],
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: AlignScoring,
) -> Counts:
    """Count the bases of an alignment.

    Parameters
    ----------
    cigar
        Operations M, I and D.
    query, target
        Codes of the aligned bases.
    """
    scores = scoring.matrix
    matches = aligned = ambiguous = gaps = gap_bases = np.int64(0)
    query_at = target_at = np.uint64(0)
    score = max_score = _ZERO
    for element in cigar:
        operation, length = operation_of(element), np.uint64(length_of(element))
        if operation == MATCH:
            for k in range(length):
                a, b = target[target_at + k], query[query_at + k]
                is_ambiguous = (a == AMBIGUOUS) | (b == AMBIGUOUS)
                ambiguous += is_ambiguous
                matches += (a == b) & (not is_ambiguous)
                score = max(score + scores[np.uint64(a), np.uint64(b)], _ZERO)
                max_score = max(max_score, score)
            query_at += length
            target_at += length
            aligned += np.int64(length)
            continue
        if operation == INSERTION:
            bases = query[query_at : query_at + length]
            query_at += length
        else:
            bases = target[target_at : target_at + length]
            target_at += length
        for base in bases:
            ambiguous += base == AMBIGUOUS
        gaps += 1
        gap_bases += np.int64(length)
        cost = scoring.gap_open + scoring.gap_extend * np.float64(logarithm(np.int64(length) + 1))
        score = max(score - cost, _ZERO)
    return Counts(
        matches,
        aligned + gap_bases - ambiguous,
        ambiguous,
        gaps,
        gap_bases,
        np.int64(max_score + _ROUNDING),
    )


@njit_inlined
def identity_of(mapping: Any) -> Any:
    """Return the share of matching bases in a MAPPING, a gap counted once, as float64."""
    columns = mapping.length + mapping.ambiguous - mapping.gap_bases + mapping.gaps
    return np.float64(mapping.matches) / np.float64(columns)

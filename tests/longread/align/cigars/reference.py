"""Reference implementation of final CIGARs, their counts and scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np

from hapgpu.longread.parameters import approximate_log2

AMBIGUOUS: Final = 4


class Operation(NamedTuple):
    """One operation of a CIGAR: its letter, M, I or D, and its length."""

    letter: str
    length: int


class Alignment(NamedTuple):
    """A CIGAR and the codes of the bases that it aligns."""

    cigar: list[Operation]
    query: list[int]
    target: list[int]


class Counts(NamedTuple):
    """Counts of an alignment: as in `MAPPING`."""

    matches: int
    length: int
    ambiguous: int
    gaps: int
    gap_bases: int


def finished(alignment: Alignment) -> Alignment:
    """Return an alignment with a clean CIGAR and without a gap at its start (`mm_fix_cigar`)."""
    if len(alignment.cigar) <= 1:
        return alignment
    cigar = _with_gaps_moved_left(alignment)
    cigar = _with_merged_gaps(cigar)
    if any(operation.length == 0 for operation in cigar):
        cigar = _without_empty(cigar)
    return _without_first_gap(Alignment(cigar, alignment.query, alignment.target))


def _with_gaps_moved_left(alignment: Alignment) -> list[Operation]:
    """Move each gap between two M to the left through equal bases."""
    cigar, query, target = list(alignment.cigar), alignment.query, alignment.target
    for k in range(1, len(cigar) - 1):
        gap = cigar[k]
        if gap.letter == "M" or cigar[k - 1].letter != "M" or cigar[k + 1].letter != "M":
            continue
        query_before, target_before = _bases_of(cigar[:k])
        bases, at = (query, query_before) if gap.letter == "I" else (target, target_before)
        steps = 0
        while (
            steps < cigar[k - 1].length
            and bases[at - 1 - steps] == bases[at + gap.length - 1 - steps]
        ):
            steps += 1
        cigar[k - 1] = Operation("M", cigar[k - 1].length - steps)
        cigar[k + 1] = Operation("M", cigar[k + 1].length + steps)
    return cigar


def _bases_of(cigar: Sequence[Operation]) -> tuple[int, int]:
    """Return the bases of the query and of the target that operations consume."""
    query = sum(each.length for each in cigar if each.letter != "D")
    target = sum(each.length for each in cigar if each.letter != "I")
    return query, target


def _with_merged_gaps(cigar: list[Operation]) -> list[Operation]:
    """Replace three or more adjacent gaps of both kinds by one I, one D and empty operations."""
    merged = list(cigar)
    k = 0
    while k < len(merged) - 2:
        if {merged[k].letter, merged[k + 1].letter} == {"I", "D"}:
            end = k
            while end < len(merged) and (merged[end].letter != "M" or merged[end].length == 0):
                end += 1
            inserted, deleted = (
                sum(each.length for each in merged[k:end] if each.letter == letter)
                for letter in "ID"
            )
            if end - k > 2 and inserted and deleted:
                both = [Operation("I", inserted), Operation("D", deleted)]
                merged[k:end] = both + [Operation("M", 0)] * (end - k - 2)
            k = end
        k += 1
    return merged


def _without_empty(cigar: list[Operation]) -> list[Operation]:
    """Drop empty operations, then merge neighbours with the same letter."""
    kept = [operation for operation in cigar if operation.length > 0]
    groups = groupby(kept, key=lambda operation: operation.letter)
    return [Operation(letter, sum(each.length for each in group)) for letter, group in groups]


def _without_first_gap(alignment: Alignment) -> Alignment:
    first, *rest = alignment.cigar
    if first.letter == "M":
        return alignment
    query, target = _bases_of([first])
    return Alignment(rest, alignment.query[query:], alignment.target[target:])


def counts_of(alignment: Alignment) -> Counts:
    """Count the bases of an alignment."""
    query, target = iter(alignment.query), iter(alignment.target)
    matches = length = ambiguous = gaps = gap_bases = 0
    for letter, bases in alignment.cigar:
        if letter == "M":
            pairs = [(next(query), next(target)) for _ in range(bases)]
            unclear = sum(AMBIGUOUS in pair for pair in pairs)
            matches += sum(a == b != AMBIGUOUS for a, b in pairs)
        else:
            of_gap = query if letter == "I" else target
            unclear = [next(of_gap) for _ in range(bases)].count(AMBIGUOUS)
            gaps += 1
            gap_bases += bases
        ambiguous += unclear
        length += bases - unclear
    return Counts(matches, length, ambiguous, gaps, gap_bases)


def max_score(
    alignment: Alignment, matrix: Sequence[Sequence[int]], gap_open: int, gap_extend: int
) -> int:
    """Return the score of the best part; a gap costs the logarithm of its length.

    Parameters
    ----------
    matrix
        Scores of pairs of a target's and a query's code.
    """
    query, target = iter(alignment.query), iter(alignment.target)
    score = best = 0.0
    for letter, bases in alignment.cigar:
        if letter == "M":
            for _ in range(bases):
                score = max(score + matrix[next(target)][next(query)], 0.0)
                best = max(best, score)
        else:
            for _ in range(bases):
                next(query if letter == "I" else target)
            score = max(score - (gap_open + gap_extend * float(logarithm(1 + bases))), 0.0)
    return int(best + 0.499)


def logarithm(value: int) -> np.float32:
    """Return the approximate binary logarithm (`mg_log2`)."""
    return np.float32(approximate_log2(np.array([value], dtype=np.float32))[0])

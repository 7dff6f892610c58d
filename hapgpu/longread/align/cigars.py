"""Final CIGARs of mappings, their counts of bases and their scores for ranking.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094): gaps as far left as
possible, adjacent gaps merged, nothing empty (`mm_fix_cigar`); the score of the best part, in which
a gap costs the logarithm of its length (`mm_update_extra`; Li 2021, Bioinformatics 37:4572).
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, length_of, operation_of
from hapgpu.longread.align.batches import Row, SequenceCodes
from hapgpu.longread.align.parameters import AMBIGUOUS, AlignScoring
from hapgpu.runtime.jit import njit, njit_inlined


def finish_alignments(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    operations: NDArray[np.uint32],
    sequences: SequenceCodes,
    scoring: AlignScoring,
) -> None:
    """Clean the CIGARs of mappings in place, and count their bases.

    A gap at the start of a CIGAR is removed, and the mapping starts behind it. A shorter CIGAR
    leaves the rest of its rows in `operations` unused. Mappings without alignment stay as they are.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: gets `operations`, the coordinates, `matches`, `length`, `ambiguous`, `gaps`,
        `gap_bases`, `dp_max` and `first_dp_max`.
    rows
        int64[m]: the mappings to finish.
    operations
        uint32[c]: CIGAR operations of the mappings.
    sequences
        Bases.
    scoring
        Scores.
    """
    _finish(mappings, read_only(rows), operations, sequences, scoring)


@njit
def _finish(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    operations: NDArray[np.uint32],
    sequences: SequenceCodes,
    scoring: AlignScoring,
) -> None:
    """Clean the CIGARs of some mappings and set their counts: minimap2's `mm_update_extra`."""
    for row in rows:
        mapping = mappings[row]
        if mapping.operations == 0:
            continue
        query_start = sequences.reads.starts[mapping.read] + _start_on_strands(mapping, sequences)
        query_end = query_start + mapping.query_end - mapping.query_start
        query = sequences.reads.codes[query_start:query_end]
        sequence_start = sequences.targets.starts[mapping.sequence]
        target_start = sequence_start + mapping.target_start
        target = sequences.targets.codes[target_start : sequence_start + mapping.target_end]
        cigar = operations[mapping.first_operation : mapping.first_operation + mapping.operations]
        if cigar.size > 1:
            cigar = cigar[: clean(cigar, query, target)]
            if operation_of(cigar[0]) != MATCH:
                query, target = _drop_first_gap(mapping, cigar, query, target)
                cigar = cigar[:-1]
        mapping.operations = cigar.size
        counts = count_bases(cigar, query, target, scoring)
        mapping.matches = counts.matches
        mapping.length = counts.length
        mapping.ambiguous = counts.ambiguous
        mapping.gaps = counts.gaps
        mapping.gap_bases = counts.gap_bases
        mapping.dp_max = mapping.first_dp_max = counts.max_score


@njit_inlined
def _start_on_strands(mapping: Row, sequences: SequenceCodes) -> np.int64:
    """Return the start of a mapping in the forward strand followed by its reverse complement."""
    if mapping.is_reverse:
        start: np.int64 = 2 * np.int64(sequences.reads.lengths[mapping.read]) - mapping.query_end
        return start
    return np.int64(mapping.query_start)


@njit_inlined
def _drop_first_gap(
    mapping: Row,
    cigar: NDArray[np.uint32],
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Move all operations over the first, and return the bases aligned by them."""
    length = length_of(cigar[0])
    is_insertion = operation_of(cigar[0]) == INSERTION
    for k in range(cigar.size - 1):
        cigar[k] = cigar[k + 1]
    if not is_insertion:
        mapping.target_start += length
        return query, target[length:]
    if mapping.is_reverse:
        mapping.query_end -= length
    else:
        mapping.query_start += length
    return query[length:], target


_SMALLEST_MERGED = 3


@njit
def clean(
    cigar: NDArray[np.uint32], query: NDArray[np.uint8], target: NDArray[np.uint8]
) -> Integer:
    """Clean a CIGAR in place, and return how many operations are left.

    Parameters
    ----------
    cigar
        uint32[c]: two or more operations M, I and D.
    query, target
        uint8: codes of the aligned bases.
    """
    has_empty = _move_gaps_left(cigar, query, target)
    has_empty |= _merge_gaps(cigar)
    return _without_empty(cigar) if has_empty else cigar.size


@njit_inlined
def _move_gaps_left(
    cigar: NDArray[np.uint32], query: NDArray[np.uint8], target: NDArray[np.uint8]
) -> bool:
    """Move bases from the M before to the M after a gap; return True if an operation is empty."""
    has_empty = False
    query_at = target_at = np.int64(0)
    for k in range(cigar.size):
        operation, length = operation_of(cigar[k]), length_of(cigar[k])
        has_empty |= length == 0
        if (
            operation != MATCH
            and 0 < k < cigar.size - 1
            and operation_of(cigar[k - 1]) == MATCH
            and operation_of(cigar[k + 1]) == MATCH
        ):
            room = length_of(cigar[k - 1])
            if operation == INSERTION:
                steps = _steps_left(query, query_at, length, room)
            else:
                steps = _steps_left(target, target_at, length, room)
            cigar[k - 1] = (room - steps) << 4 | MATCH
            cigar[k + 1] = (length_of(cigar[k + 1]) + steps) << 4 | MATCH
            query_at -= steps
            target_at -= steps
            has_empty |= steps == room
        if operation != DELETION:
            query_at += length
        if operation != INSERTION:
            target_at += length
    return has_empty


@njit_inlined
def _steps_left(
    bases: NDArray[np.uint8], at: Integer, length: Integer, max_steps: Integer
) -> Integer:
    """Return how many bases a gap from `at` on can move left with the same bases around it."""
    steps = np.int64(0)
    while steps < max_steps and bases[at - 1 - steps] == bases[at + length - 1 - steps]:
        steps += 1
    return steps


@njit_inlined
def _merge_gaps(cigar: NDArray[np.uint32]) -> bool:
    """Merge runs as I D I to one I and one D; return True if operations became empty."""
    merges = False
    k = 0
    while k < cigar.size - 2:
        if operation_of(cigar[k]) + operation_of(cigar[k + 1]) == INSERTION + DELETION and (
            operation_of(cigar[k]) != MATCH and operation_of(cigar[k + 1]) != MATCH
        ):
            end, inserted, deleted = _gap_run(cigar, k)
            if end - k >= _SMALLEST_MERGED and inserted > 0 and deleted > 0:
                cigar[k] = inserted << 4 | INSERTION
                cigar[k + 1] = deleted << 4 | DELETION
                for empty in range(k + 2, end):
                    cigar[empty] = operation_of(cigar[empty])
                merges = True
            k = int(end)
        k += 1
    return merges


@njit_inlined
def _gap_run(cigar: NDArray[np.uint32], start: Integer) -> tuple[Integer, Integer, Integer]:
    """Return the end of a run of gaps and empty operations, and its inserted and deleted bases."""
    end = np.int64(start)
    inserted = deleted = np.int64(0)
    while end < cigar.size:
        operation, length = operation_of(cigar[end]), length_of(cigar[end])
        if operation == INSERTION:
            inserted += length
        elif operation == DELETION:
            deleted += length
        elif length > 0:
            break
        end += 1
    return end, inserted, deleted


@njit_inlined
def _without_empty(cigar: NDArray[np.uint32]) -> Integer:
    """Drop empty operations, merge equal neighbours, and return how many operations are left."""
    kept = np.int64(0)
    for k in range(cigar.size):
        operation, length = operation_of(cigar[k]), length_of(cigar[k])
        if length == 0:
            continue
        if kept > 0 and operation_of(cigar[kept - 1]) == operation:
            cigar[kept - 1] = (length_of(cigar[kept - 1]) + length) << 4 | operation
        else:
            cigar[kept] = length << 4 | operation
            kept += 1
    return kept


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
        uint32[c]: operations M, I and D.
    query, target
        uint8: codes of the aligned bases.
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
def identity_of(mapping: Row) -> np.float64:
    """Return the share of matching bases in a MAPPING, a gap counted once, as float64."""
    columns = mapping.length + mapping.ambiguous - mapping.gap_bases + mapping.gaps
    return np.float64(mapping.matches) / np.float64(columns)


_SQUARE: Final = np.float32(-0.34484843)
_LINEAR: Final = np.float32(2.02466578)
_CONSTANT: Final = np.float32(0.67487759)


@njit
def logarithm(value: Integer) -> np.float32:
    """Return the approximate binary logarithm of an integer above 0, as float32.

    A parabola in the mantissa, each operation rounded (`mg_log2`).
    """
    fraction, exponent = math.frexp(np.float32(value))
    mantissa = np.float32(fraction + fraction)
    parabola = np.float32(np.float32(_SQUARE * mantissa) + _LINEAR)
    parabola = np.float32(np.float32(parabola * mantissa) - _CONSTANT)
    return np.float32(np.float32(exponent - 2) + parabola)

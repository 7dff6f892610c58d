"""Final CIGARs of mappings, their counts of bases and their scores for ranking."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import ReadCodes, TargetCodes
from hapgpu.chaining.align.cigars.cleaning import clean
from hapgpu.chaining.align.cigars.counts import count_bases
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.cigar.encoding import INSERTION, MATCH, length_of, operation_of
from hapgpu.runtime.jit import njit, njit_inlined


class _Bases(NamedTuple):
    """`ReadCodes` and `TargetCodes` for compiled code."""

    read_codes: NDArray[np.uint8]
    read_starts: NDArray[np.int64]
    read_lengths: NDArray[np.int32]
    target_codes: NDArray[np.uint8]
    target_starts: NDArray[np.int64]


def finish_alignments(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    operations: NDArray[np.uint32],
    reads: ReadCodes,
    targets: TargetCodes,
    scoring: AlignScoring,
) -> None:
    """Clean the CIGARs of mappings in place, and count their bases.

    A gap at the start of a CIGAR is removed, and the mapping starts behind it. A shorter CIGAR
    leaves the rest of its rows in `operations` unused. Mappings without alignment stay as they are.

    Parameters
    ----------
    mappings
        MAPPING[r]: gets `operations`, the coordinates, `matches`, `length`, `ambiguous`, `gaps`,
        `gap_bases`, `dp_max` and `first_dp_max`.
    rows
        int64[m]: the mappings to finish.
    operations
        uint32[c]: CIGAR operations of the mappings.
    reads, targets
        Bases.
    scoring
        Scores.
    """
    bases = _Bases(
        read_only(reads.codes),
        read_only(reads.starts),
        read_only(reads.lengths),
        read_only(targets.codes),
        read_only(targets.starts),
    )
    _finish(mappings, read_only(rows), operations, bases, scoring)


@njit
def _finish(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    operations: NDArray[np.uint32],
    bases: _Bases,
    scoring: AlignScoring,
) -> None:
    for row in rows:
        mapping = mappings[row]
        if mapping.operations == 0:
            continue
        query_start = bases.read_starts[mapping.read] + _start_on_strands(mapping, bases)
        query_end = query_start + mapping.query_end - mapping.query_start
        query = bases.read_codes[query_start:query_end]
        sequence_start = bases.target_starts[mapping.sequence]
        target_start = sequence_start + mapping.target_start
        target = bases.target_codes[target_start : sequence_start + mapping.target_end]
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
def _start_on_strands(mapping: Any, bases: _Bases) -> Any:
    """Return the start of a mapping in the forward strand followed by its reverse complement."""
    if mapping.is_reverse:
        return 2 * np.int64(bases.read_lengths[mapping.read]) - mapping.query_end
    return np.int64(mapping.query_start)


@njit_inlined
def _drop_first_gap(
    mapping: Any,
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

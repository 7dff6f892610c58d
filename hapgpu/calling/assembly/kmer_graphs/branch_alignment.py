"""Alignment of a dangling branch to the reference path, as GATK's SmithWatermanJavaAligner.

The sequences are tiny and few: this is the plain form, compiled, with the strategy LEADING_INDEL,
whose recurrences `hapgpu.realign.align.reference` explains.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH
from hapgpu.runtime.jit import njit, njit_inlined

_EQUAL: Final = 25
_DIFFERENT: Final = -50
_GAP_OPEN: Final = -110
_GAP_EXTEND: Final = -6
_UNREACHABLE: Final = -(2**30)


class AlignedBranch(NamedTuple):
    """A dangling branch, aligned to the path of the reference beside it.

    Both paths begin at the vertex that they share.

    Attributes
    ----------
    path, reference_path
        int32: vertices; of `path` the first `length` count. All empty if there is no branch.
    bases, reference
        uint8: bases of both.
    cigar
        uint32 in BAM encoding.
    """

    path: NDArray[np.int32]
    length: Integer
    reference_path: NDArray[np.int32]
    bases: NDArray[np.uint8]
    reference: NDArray[np.uint8]
    cigar: NDArray[np.uint32]


@njit
def no_branch(path: NDArray[np.int32]) -> AlignedBranch:
    """Return a branch without vertices."""
    no_bases = np.empty(0, np.uint8)
    return AlignedBranch(path, 0, path[:0], no_bases, no_bases, np.empty(0, np.uint32))


@njit
def bases_of(cigar: NDArray[np.uint32], excluded: Integer) -> Integer:
    """Return the summed length of the elements except those of one operation."""
    total = np.int64(0)
    for element in cigar:
        if (element & 15) != excluded:
            total += np.int64(element >> 4)
    return total


@njit
def branch_cigar(reference: NDArray[np.uint8], query: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Align the query from end to end to a prefix of the reference, neither of them empty.

    Returns
    -------
    uint32 in BAM encoding: operations M, I and D, without a D at the end.
    """
    width = query.size + 1
    steps = np.zeros((reference.size + 1) * width, np.int32)
    row = _fill(reference, query, steps)
    runs = np.empty(reference.size + query.size, np.uint32)
    count: Integer = 0
    column = np.int64(query.size)
    while row > 0 and column > 0:
        step = np.int64(steps[row * width + column])
        if step > 0:
            count = _lengthen(runs, count, step, DELETION)
            row -= step
        elif step < 0:
            count = _lengthen(runs, count, -step, INSERTION)
            column += step
        else:
            count = _lengthen(runs, count, 1, MATCH)
            row -= 1
            column -= 1
    if row > 0:
        count = _lengthen(runs, count, row, DELETION)
    elif column > 0:
        count = _lengthen(runs, count, column, INSERTION)
    first = 1 if (runs[0] & 15) == DELETION else 0
    cigar = np.empty(count - first, np.uint32)
    for k in range(first, count):
        cigar[count - 1 - k] = runs[k]
    return cigar


@njit
def _fill(
    reference: NDArray[np.uint8], query: NDArray[np.uint8], steps: NDArray[np.int32]
) -> Integer:
    """Fill the steps: 0 diagonal, k a deletion, -k an insertion of k bases; return the end row."""
    width = query.size + 1
    scores = np.empty(width, np.int32)
    deletions = np.full(width, _UNREACHABLE, np.int32)
    deletion_lengths = np.zeros(width, np.int32)
    for j in range(width):
        scores[j] = _border(j)
    best, best_row = np.int64(_UNREACHABLE), np.int64(0)
    for i in range(1, reference.size + 1):
        diagonal = np.int64(scores[0])
        scores[0] = _border(i)
        insertion, insertion_length = np.int64(_UNREACHABLE), 0
        for j in range(1, width):
            matched = _EQUAL if reference[i - 1] == query[j - 1] else _DIFFERENT
            score, step = diagonal + matched, 0
            diagonal = np.int64(scores[j])
            deletion, length = np.int64(deletions[j]) + _GAP_EXTEND, deletion_lengths[j] + 1
            if diagonal + _GAP_OPEN > deletion:
                deletion, length = diagonal + _GAP_OPEN, 1
            deletions[j], deletion_lengths[j] = deletion, length
            insertion, insertion_length = insertion + _GAP_EXTEND, insertion_length + 1
            if scores[j - 1] + _GAP_OPEN > insertion:
                insertion, insertion_length = scores[j - 1] + _GAP_OPEN, 1
            if score < deletion or score < insertion:
                if insertion >= deletion:
                    score, step = insertion, -insertion_length
                else:
                    score, step = deletion, length
            scores[j] = score
            steps[i * width + j] = step
        if scores[query.size] >= best:
            best, best_row = np.int64(scores[query.size]), np.int64(i)
    return best_row


@njit_inlined
def _border(length: Integer) -> Integer:
    return 0 if length == 0 else _GAP_OPEN + (length - 1) * _GAP_EXTEND


@njit_inlined
def _lengthen(
    runs: NDArray[np.uint32], count: Integer, length: Integer, operation: Integer
) -> Integer:
    """Add a run, or lengthen the last one; return the number of runs."""
    if count > 0 and (runs[count - 1] & 15) == operation:
        runs[count - 1] += np.uint32(length << 4)
        return count
    runs[count] = (length << 4) | operation
    return count + 1

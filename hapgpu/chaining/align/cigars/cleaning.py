"""Clean CIGARs: gaps as far left as possible, adjacent gaps merged, nothing empty.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.cigar.encoding import DELETION, INSERTION, MATCH, length_of, operation_of
from hapgpu.runtime.jit import njit, njit_inlined

_SMALLEST_MERGED = 3


@njit
def clean(cigar: NDArray[np.uint32], query: NDArray[np.uint8], target: NDArray[np.uint8]) -> Any:
    """Clean a CIGAR in place, and return how many operations are left.

    Parameters
    ----------
    cigar
        Two or more operations M, I and D.
    query, target
        Codes of the aligned bases.
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
def _steps_left(bases: NDArray[np.uint8], at: Integer, length: Integer, max_steps: Integer) -> Any:
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
            k = end
        k += 1
    return merges


@njit_inlined
def _gap_run(cigar: NDArray[np.uint32], start: Integer) -> Any:
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
def _without_empty(cigar: NDArray[np.uint32]) -> Any:
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

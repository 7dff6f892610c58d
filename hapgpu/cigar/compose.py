"""Trimming of CIGARs to a part of their query, and composition of CIGARs."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hapgpu.cigar.builder import CigarBuilder, add_element, finish_cigar, start_cigar
from hapgpu.cigar.encoding import (
    DELETION,
    INSERTION,
    MATCH,
    SOFT_CLIP,
    consumes_query,
    is_alignment,
    length_of,
    operation_of,
)
from hapgpu.runtime.jit import njit

_NONE = -1


@njit
def trim_cigar(builder: CigarBuilder, cigar: NDArray[Any], first: int, last: int) -> bool:
    """Trim a CIGAR to the bases `first` to `last` of its query; adds no elements.

    `cigar` is uint32 or int64 in BAM encoding. Return whether the query has these bases and the
    result is valid.
    """
    start_cigar(builder)
    if first < 0 or last < first:
        return False
    end = 0
    for element in cigar:
        operation, length = operation_of(element), length_of(element)
        start = end
        if consumes_query(operation):
            end += length
        if end < first or (end == first and start < first):
            continue
        if start > last and end > last + 1:
            break
        if start < end:
            length = min(last + 1, end) - max(first, start)
        add_element(builder, length, operation)
    return end > last and finish_cigar(builder)


@njit
def compose_cigars(builder: CigarBuilder, first: NDArray[Any], second: NDArray[Any]) -> bool:
    """Compose CIGARs a to b and b to c into a to c; makes at most as many elements as both have.

    `first` and `second` are uint32 or int64 in BAM encoding. Return whether the CIGARs match and
    the result is valid.
    """
    start_cigar(builder)
    i, j, first_done, second_done = 0, 0, 0, 0
    while i < first.size and j < second.size:
        left = length_of(first[i]) - first_done
        right = length_of(second[j]) - second_done
        operation, uses_first, uses_second = _compose(
            operation_of(first[i]), operation_of(second[j])
        )
        if not uses_first and not uses_second:
            return False
        if uses_first and uses_second:
            left = right = min(left, right)
        if operation != _NONE:
            add_element(builder, left if uses_first else right, operation)
        if uses_first:
            first_done += left
        if uses_second:
            second_done += right
        if first_done == length_of(first[i]):
            i, first_done = i + 1, 0
        if second_done == length_of(second[j]):
            j, second_done = j + 1, 0
    return finish_cigar(builder)


@njit
def _compose(first: int, second: int) -> tuple[int, bool, bool]:
    """Return the composition of two operations (-1: none), and which of them it consumes."""
    if first in (INSERTION, SOFT_CLIP):
        is_known = is_alignment(second) or second in (INSERTION, SOFT_CLIP, DELETION)
        return INSERTION, is_known, False
    if first != DELETION and not is_alignment(first):
        return _NONE, False, False
    if second == DELETION:
        return DELETION, False, True
    if is_alignment(second):
        return (DELETION if first == DELETION else MATCH), True, True
    if second in (INSERTION, SOFT_CLIP):
        return (_NONE if first == DELETION else INSERTION), True, True
    return _NONE, False, False

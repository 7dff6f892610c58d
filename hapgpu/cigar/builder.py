"""Construction of CIGARs element by element, by the rules of GATK's CigarBuilder."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.cigar.encoding import (
    DELETION,
    HARD_CLIP,
    INSERTION,
    SOFT_CLIP,
    consumes_query,
    is_clip,
    length_of,
    operation_of,
)
from hapgpu.runtime.jit import njit


class CigarBuilder(NamedTuple):
    """CIGAR under construction by the rules of GATK's CigarBuilder.

    Neighbours of the same operation merge, a deletion goes before an adjacent insertion, and
    deletions at the ends of the aligned part are dropped and counted, unless the ends are pinned.

    Attributes
    ----------
    elements
        int64 (sums of lengths may exceed the limit of BAM), with room for all elements added.
    state
        int64[7], indexed by the constants below.
    """

    elements: NDArray[np.int64]
    state: NDArray[np.int64]


COUNT, _LAST, _SECTION, _KEEPS_ENDS, LEADING_REMOVED, TRAILING_REMOVED, _BROKEN = range(7)
_NONE = -1
_LEFT_HARD, _LEFT_SOFT, _MIDDLE, _RIGHT_SOFT, _RIGHT_HARD = range(5)


@njit
def new_builder(capacity: int) -> CigarBuilder:
    """Allocate a builder for `capacity` elements; `start_cigar` must follow."""
    return CigarBuilder(np.empty(capacity, dtype=np.int64), np.empty(7, dtype=np.int64))


@njit
def start_cigar(builder: CigarBuilder) -> None:
    """Start the CIGAR of a read; deletions at its ends are dropped."""
    builder.state[:] = 0
    builder.state[_LAST] = _NONE


@njit
def start_pinned_cigar(builder: CigarBuilder) -> None:
    """Start the CIGAR of a haplotype, whose ends are pinned: deletions at its ends are kept."""
    start_cigar(builder)
    builder.state[_KEEPS_ENDS] = 1


@njit
def add_element(builder: CigarBuilder, length: int, operation: int) -> None:
    """Append an element, which may merge with the last element or move before it."""
    state = builder.state
    if length == 0:
        return
    if operation == DELETION and not state[_KEEPS_ENDS] and _is_at_start(builder):
        state[LEADING_REMOVED] += length
        return
    _enter_section(state, operation)
    last = state[_LAST]
    if operation == last:
        builder.elements[state[COUNT] - 1] += length << 4
    elif is_clip(operation) and last != _NONE:
        _add_clip(builder, length, operation)
    elif operation == DELETION and last == INSERTION:
        _add_deletion_before_insertion(builder, length)
    else:
        _append(builder, length, operation)


@njit
def add_elements(builder: CigarBuilder, elements: NDArray[Any]) -> None:
    """Append all `elements`, uint32 or int64 in BAM encoding."""
    for element in elements:
        add_element(builder, length_of(element), operation_of(element))


@njit
def finish_cigar(builder: CigarBuilder) -> bool:
    """Drop deletions at the end; return whether the CIGAR is valid and not empty."""
    state, elements = builder.state, builder.elements
    if state[_SECTION] == _LEFT_SOFT and operation_of(elements[0]) == SOFT_CLIP:
        return False  # all bases are clipped
    if not state[_KEEPS_ENDS]:
        count = state[COUNT]
        if state[_LAST] == DELETION:
            state[TRAILING_REMOVED] += length_of(elements[count - 1])
            state[COUNT] -= 1
        elif _ends_in_deletion_and_insertion(builder):
            state[TRAILING_REMOVED] += length_of(elements[count - 2])
            elements[count - 2] = elements[count - 1]
            state[COUNT] -= 1
    return bool(state[COUNT] > 0 and not state[_BROKEN])


@njit
def built(builder: CigarBuilder) -> NDArray[np.int64]:
    """Return int64[e]: the elements added so far, a view of the memory of the builder."""
    return builder.elements[: builder.state[COUNT]]


@njit
def _append(builder: CigarBuilder, length: int, operation: int) -> None:
    builder.elements[builder.state[COUNT]] = length << 4 | operation
    builder.state[COUNT] += 1
    builder.state[_LAST] = operation


@njit
def _is_at_start(builder: CigarBuilder) -> bool:
    """Tell whether only clips, or clips and one insertion, were added."""
    last, count = builder.state[_LAST], builder.state[COUNT]
    if last == _NONE or is_clip(last):
        return True
    return last == INSERTION and (count == 1 or is_clip(operation_of(builder.elements[count - 2])))


@njit
def _ends_in_deletion_and_insertion(builder: CigarBuilder) -> bool:
    count = builder.state[COUNT]
    if builder.state[_LAST] != INSERTION or count < 2:
        return False
    return bool(operation_of(builder.elements[count - 2]) == DELETION)


@njit
def _add_clip(builder: CigarBuilder, length: int, operation: int) -> None:
    state, elements = builder.state, builder.elements
    last, count = state[_LAST], state[COUNT]
    removes_ends = not state[_KEEPS_ENDS]
    if removes_ends and not consumes_query(last) and not is_clip(last):
        state[TRAILING_REMOVED] += length_of(elements[count - 1])
        elements[count - 1] = length << 4 | operation
        state[_LAST] = operation
    elif removes_ends and _ends_in_deletion_and_insertion(builder):
        state[TRAILING_REMOVED] += length_of(elements[count - 2])
        elements[count - 2] = elements[count - 1]
        # As in GATK, the insertion stays the last operation of the state.
        elements[count - 1] = length << 4 | operation
    else:
        _append(builder, length, operation)


@njit
def _add_deletion_before_insertion(builder: CigarBuilder, length: int) -> None:
    elements, count = builder.elements, builder.state[COUNT]
    if count > 1 and operation_of(elements[count - 2]) == DELETION:
        elements[count - 2] += length << 4
        return
    elements[count] = elements[count - 1]
    elements[count - 1] = length << 4 | DELETION
    builder.state[COUNT] += 1


@njit
def _enter_section(state: NDArray[np.int64], operation: int) -> None:
    """Advance through hard clip, soft clip, aligned part, soft clip, hard clip, or break."""
    section = state[_SECTION]
    if operation == HARD_CLIP:
        if section != _LEFT_HARD:
            state[_SECTION] = _RIGHT_HARD
    elif operation == SOFT_CLIP:
        if section == _RIGHT_HARD:
            state[_BROKEN] = 1
        elif section == _LEFT_HARD:
            state[_SECTION] = _LEFT_SOFT
        elif section == _MIDDLE:
            state[_SECTION] = _RIGHT_SOFT
    elif section in (_RIGHT_SOFT, _RIGHT_HARD):
        state[_BROKEN] = 1
    else:
        state[_SECTION] = _MIDDLE

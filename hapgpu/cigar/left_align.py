"""Left-alignment of indels, as in GATK's leftAlignIndels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.cigar.builder import (
    CigarBuilder,
    add_element,
    add_elements,
    finish_cigar,
    new_builder,
    start_cigar,
)
from hapgpu.cigar.encoding import (
    DELETION,
    INSERTION,
    MATCH,
    consumes_query,
    consumes_reference,
    is_alignment,
    length_of,
    operation_of,
    query_length,
    reference_length,
)
from hapgpu.runtime.jit import njit


class LeftAligner(NamedTuple):
    """Memory to left-align a CIGAR.

    Attributes
    ----------
    result
        The left-aligned CIGAR.
    reversed_elements
        int64: elements of the new CIGAR, from the last to the first.
    """

    result: CigarBuilder
    reversed_elements: NDArray[np.int64]


class _Indel(NamedTuple):
    """Ranges of reference and query that an indel replaces; both empty for no indel."""

    reference_start: int
    reference_end: int
    query_start: int
    query_end: int


@njit
def new_left_aligner(elements: int) -> LeftAligner:
    """Allocate the memory for CIGARs of at most `elements` elements."""
    capacity = 5 * (elements + 1) + 2
    return LeftAligner(new_builder(capacity), np.empty(capacity, dtype=np.int64))


@njit
def left_align(
    aligner: LeftAligner,
    cigar: NDArray[np.int64],
    start: int,
    reference: NDArray[np.uint8],
    query: NDArray[np.uint8],
) -> bool:
    """Move indels as far left as repeats allow, and merge indels that touch.

    Goes through the CIGAR from its end, and moves each indel until aligned bases stop it.

    Parameters
    ----------
    aligner
        Gets the result; has room for its elements.
    cigar
        int64 in BAM encoding.
    start
        Offset of the first aligned base in the reference.
    reference, query
        uint8 text.

    Returns
    -------
    bool
        Whether the CIGAR matches the sequences and the result is valid.
    """
    builder, elements = aligner
    count = 0
    start_cigar(builder)
    last_indel = _last_indel(cigar)
    if query_length(cigar) != query.size:
        return False
    if last_indel < 0:
        add_elements(builder, cigar)
        return True
    if start + reference_length(cigar[: last_indel + 1]) > reference.size:
        return False
    end = start + reference_length(cigar)
    indel = _Indel(end, end, query.size, query.size)
    for k in range(cigar.size - 1, -1, -1):
        if operation_of(cigar[k]) in (INSERTION, DELETION):
            indel = _extended(indel, cigar[k])
        elif _size(indel) == 0:
            elements[count] = cigar[k]
            count += 1
            indel = _emptied(_extended(indel, cigar[k]))
        else:
            indel, count = _shift(indel, cigar[k], reference, query, (elements, count))
    count = _put_indel(indel, elements, count)
    for k in range(count - 1, -1, -1):
        add_element(builder, length_of(elements[k]), operation_of(elements[k]))
    return finish_cigar(builder)


@njit
def _last_indel(cigar: NDArray[np.int64]) -> int:
    for k in range(cigar.size - 1, -1, -1):
        if operation_of(cigar[k]) in (INSERTION, DELETION):
            return k
    return -1


@njit
def _size(indel: _Indel) -> int:
    return indel.reference_end - indel.reference_start + indel.query_end - indel.query_start


@njit
def _extended(indel: _Indel, element: int) -> _Indel:
    """Extend an indel to its left by the bases of an element."""
    operation, length = operation_of(element), length_of(element)
    return _Indel(
        indel.reference_start - (length if consumes_reference(operation) else 0),
        indel.reference_end,
        indel.query_start - (length if consumes_query(operation) else 0),
        indel.query_end,
    )


@njit
def _emptied(indel: _Indel) -> _Indel:
    """Return the empty indel at the start of an indel."""
    return _Indel(
        indel.reference_start, indel.reference_start, indel.query_start, indel.query_start
    )


@njit
def _put_indel(indel: _Indel, elements: NDArray[np.int64], count: int) -> int:
    elements[count] = (indel.reference_end - indel.reference_start) << 4 | DELETION
    elements[count + 1] = (indel.query_end - indel.query_start) << 4 | INSERTION
    return count + 2


@njit
def _shift(
    indel: _Indel,
    element: int,
    reference: NDArray[np.uint8],
    query: NDArray[np.uint8],
    output: tuple[NDArray[np.int64], int],
) -> tuple[_Indel, int]:
    """Move an indel left into an element; write it unless it reaches the next element."""
    elements, count = output
    operation, length = operation_of(element), length_of(element)
    max_shift = length if is_alignment(operation) else 0
    start_shift, end_shift = _shifts(indel, reference, query, max_shift)
    indel = _Indel(
        indel.reference_start - start_shift,
        indel.reference_end - end_shift,
        indel.query_start - start_shift,
        indel.query_end - end_shift,
    )
    elements[count] = end_shift << 4 | MATCH
    count += 1
    before = max(0, -start_shift) << 4 | MATCH
    remaining = (length - max(0, start_shift)) << 4 | operation
    if start_shift < max_shift or not is_alignment(operation):
        count = _put_indel(indel, elements, count)
        indel = _emptied(_extended(_extended(indel, before), remaining))
    elements[count], elements[count + 1] = before, remaining
    return indel, count + 2


@njit
def _shifts(
    indel: _Indel, reference: NDArray[np.uint8], query: NDArray[np.uint8], max_shift: int
) -> tuple[int, int]:
    """Return how far left the start and the end of an indel move, at most `max_shift`.

    Bases that both ranges share at their ends are removed first, so the start may also move right
    (a shift below 0).
    """
    reference_start, reference_end, query_start, query_end = indel
    smaller = min(reference_end - reference_start, query_end - query_start)
    start_shift = 0
    end_shift = 0
    while smaller > 0 and reference[reference_end - 1] == query[query_end - 1]:
        reference_end, query_end = reference_end - 1, query_end - 1
        smaller, end_shift = smaller - 1, end_shift + 1
    while smaller > 0 and reference[reference_start] == query[query_start]:
        reference_start, query_start = reference_start + 1, query_start + 1
        smaller, start_shift = smaller - 1, start_shift - 1
    while (
        start_shift < max_shift
        and reference[reference_start - 1] == query[query_start - 1]
        and reference[reference_end - 1] == query[query_end - 1]
    ):
        reference_start, query_start = reference_start - 1, query_start - 1
        reference_end, query_end = reference_end - 1, query_end - 1
        start_shift, end_shift = start_shift + 1, end_shift + 1
    return start_shift, end_shift

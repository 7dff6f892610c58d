"""Indels of an alignment moved as far left as repeats allow, as GATK's leftAlignIndels does."""

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
    """Room for a CIGAR to be left-aligned.

    Attributes
    ----------
    result
        The CIGAR, left-aligned.
    runs
        int64, the elements of the CIGAR in the making, last one first.
    """

    result: CigarBuilder
    runs: NDArray[np.int64]


class _Indel(NamedTuple):
    """Bases of reference and query that an indel, or none if empty, puts against each other."""

    reference_begin: int
    reference_end: int
    query_begin: int
    query_end: int


@njit
def new_left_aligner(elements: int) -> LeftAligner:
    """Make room for CIGARs of so many elements at most."""
    most = 5 * (elements + 1) + 2
    return LeftAligner(new_builder(most), np.empty(most, dtype=np.int64))


@njit
def left_align(
    aligner: LeftAligner,
    cigar: NDArray[np.int64],
    start: int,
    reference: NDArray[np.uint8],
    query: NDArray[np.uint8],
) -> bool:
    """Move indels as far left as repeats allow, merging those that meet.

    Goes through the CIGAR from its end and carries each indel along until an alignment stops it.
    """
    builder, runs = aligner
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
            runs[count] = cigar[k]
            count += 1
            indel = _emptied(_extended(indel, cigar[k]))
        else:
            indel, count = _shift(indel, cigar[k], reference, query, (runs, count))
    count = _put_indel(indel, runs, count)
    for k in range(count - 1, -1, -1):
        add_element(builder, length_of(runs[k]), operation_of(runs[k]))
    return finish_cigar(builder)


@njit
def _last_indel(cigar: NDArray[np.int64]) -> int:
    for k in range(cigar.size - 1, -1, -1):
        if operation_of(cigar[k]) in (INSERTION, DELETION):
            return k
    return -1


@njit
def _size(indel: _Indel) -> int:
    return indel.reference_end - indel.reference_begin + indel.query_end - indel.query_begin


@njit
def _extended(indel: _Indel, element: int) -> _Indel:
    """Take the bases of an element into the indel, to its left."""
    operation, length = operation_of(element), length_of(element)
    return _Indel(
        indel.reference_begin - (length if consumes_reference(operation) else 0),
        indel.reference_end,
        indel.query_begin - (length if consumes_query(operation) else 0),
        indel.query_end,
    )


@njit
def _emptied(indel: _Indel) -> _Indel:
    """Return the empty indel at the begin of this one."""
    return _Indel(
        indel.reference_begin, indel.reference_begin, indel.query_begin, indel.query_begin
    )


@njit
def _put_indel(indel: _Indel, runs: NDArray[np.int64], count: int) -> int:
    runs[count] = (indel.reference_end - indel.reference_begin) << 4 | DELETION
    runs[count + 1] = (indel.query_end - indel.query_begin) << 4 | INSERTION
    return count + 2


@njit
def _shift(
    indel: _Indel,
    element: int,
    reference: NDArray[np.uint8],
    query: NDArray[np.uint8],
    output: tuple[NDArray[np.int64], int],
) -> tuple[_Indel, int]:
    """Move an indel left into an element, and put it out unless it got through to the next."""
    runs, count = output
    operation, length = operation_of(element), length_of(element)
    most = length if is_alignment(operation) else 0
    begin_shift, end_shift = _shifts(indel, reference, query, most)
    indel = _Indel(
        indel.reference_begin - begin_shift,
        indel.reference_end - end_shift,
        indel.query_begin - begin_shift,
        indel.query_end - end_shift,
    )
    runs[count] = end_shift << 4 | MATCH
    count += 1
    regained = max(0, -begin_shift) << 4 | MATCH
    left_over = (length - max(0, begin_shift)) << 4 | operation
    if begin_shift < most or not is_alignment(operation):
        count = _put_indel(indel, runs, count)
        indel = _emptied(_extended(_extended(indel, regained), left_over))
    runs[count], runs[count + 1] = regained, left_over
    return indel, count + 2


@njit
def _shifts(
    indel: _Indel, reference: NDArray[np.uint8], query: NDArray[np.uint8], most: int
) -> tuple[int, int]:
    """How far left the begin and the end of an indel may move, by `most` at most.

    Bases that both sides share at their ends are given up first, so the begin may also move
    right (a shift below 0).
    """
    reference_begin, reference_end, query_begin, query_end = indel
    smaller = min(reference_end - reference_begin, query_end - query_begin)
    begin_shift = 0
    end_shift = 0
    while smaller > 0 and reference[reference_end - 1] == query[query_end - 1]:
        reference_end, query_end = reference_end - 1, query_end - 1
        smaller, end_shift = smaller - 1, end_shift + 1
    while smaller > 0 and reference[reference_begin] == query[query_begin]:
        reference_begin, query_begin = reference_begin + 1, query_begin + 1
        smaller, begin_shift = smaller - 1, begin_shift - 1
    while (
        begin_shift < most
        and reference[reference_begin - 1] == query[query_begin - 1]
        and reference[reference_end - 1] == query[query_end - 1]
    ):
        reference_begin, query_begin = reference_begin - 1, query_begin - 1
        reference_end, query_end = reference_end - 1, query_end - 1
        begin_shift, end_shift = begin_shift + 1, end_shift + 1
    return begin_shift, end_shift

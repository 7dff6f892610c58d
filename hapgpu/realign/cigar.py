"""CIGARs in BAM encoding (`length << 4 | operation`), and GATK's rules for tidy ones."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import Ragged, offsets_of
from hapgpu.errors import InputError
from hapgpu.jit import njit

OPERATIONS = "MIDNSHP=X"
"""Letters of the operations, in the order of their codes."""

MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP, HARD_CLIP, PADDING, EQUAL, DIFFERENT = range(9)

LARGEST_LENGTH = 2**28 - 1
"""Longest element that BAM can hold."""

_LETTERS = np.frombuffer(OPERATIONS.ljust(16, "?").encode(), dtype=np.uint8)
_TEXT = re.compile(rf"([0-9]+[{OPERATIONS}])+")
_ELEMENT = re.compile(rf"([0-9]+)([{OPERATIONS}])")
_STAR, _ZERO = b"*0"


class Rows(NamedTuple):
    """A Ragged for compiled code."""

    data: NDArray[Any]
    offsets: NDArray[np.int64]


def rows_of(ragged: Ragged) -> Rows:
    """Hand a Ragged to compiled code."""
    return Rows(ragged.data, ragged.offsets)


@njit
def row_of(rows: Rows, row: int) -> NDArray[Any]:
    """Return one row, sharing memory."""
    return rows.data[rows.offsets[row] : rows.offsets[row + 1]]


@njit
def with_room(out: NDArray[Any], needed: int) -> NDArray[Any]:
    """Return `out`, or a copy with spare room if it is smaller than needed."""
    if needed <= out.size:
        return out
    larger = np.empty(max(needed, 2 * out.size), dtype=out.dtype)
    larger[: out.size] = out
    return larger


def parse_cigar(text: str | bytes) -> NDArray[np.uint32]:
    """Turn CIGAR text into BAM encoding; `*` has no elements.

    Raises
    ------
    InputError
        If the text is no CIGAR, or has an element too long for BAM.
    """
    if isinstance(text, bytes):
        text = text.decode("ascii", errors="replace")
    if text == "*":
        return np.empty(0, dtype=np.uint32)
    if not _TEXT.fullmatch(text):
        message = f"'{text}' is not a CIGAR: expected lengths, each with one of {OPERATIONS}, or *"
        raise InputError(message)
    elements = [(int(length), letter) for length, letter in _ELEMENT.findall(text)]
    if max(elements)[0] > LARGEST_LENGTH:
        message = f"CIGAR '{text}': an element is longer than the {LARGEST_LENGTH:,} of BAM"
        raise InputError(message)
    return np.array(
        [length << 4 | OPERATIONS.index(letter) for length, letter in elements], dtype=np.uint32
    )


def cigar_strings(cigars: Ragged) -> list[str]:
    """CIGARs as text; `*` for those without elements."""
    text = cigar_text(cigars)
    letters = text.data.tobytes().decode("ascii")
    bounds = text.offsets.tolist()
    return [letters[begin:end] for begin, end in pairwise(bounds)]


def cigar_text(cigars: Ragged) -> Ragged:
    """CIGARs as rows of uint8 text; `*` for those without elements."""
    offsets = offsets_of(_text_lengths(rows_of(cigars)))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    _write_texts(rows_of(cigars), data, offsets)
    return Ragged(data, offsets)


def query_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the query that each CIGAR accounts for, soft-clipped ones too."""
    return _query_lengths(rows_of(cigars))


def reference_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the reference that each CIGAR spans."""
    return _reference_lengths(rows_of(cigars))


@njit
def length_of(element: int) -> int:
    """Length of a CIGAR element."""
    return int(np.int64(element) >> 4)  # widened: Numba takes uint32 and int64 for a float


@njit
def operation_of(element: int) -> int:
    """Operation of a CIGAR element."""
    return int(np.int64(element) & 15)


@njit
def consumes_query(operation: int) -> bool:
    """Whether the operation accounts for bases of the query."""
    return operation in (MATCH, INSERTION, SOFT_CLIP, EQUAL, DIFFERENT)


@njit
def consumes_reference(operation: int) -> bool:
    """Whether the operation spans bases of the reference."""
    return operation in (MATCH, DELETION, SKIP, EQUAL, DIFFERENT)


@njit
def is_alignment(operation: int) -> bool:
    """Whether the operation puts bases of the query on bases of the reference."""
    return operation in (MATCH, EQUAL, DIFFERENT)


@njit
def is_clip(operation: int) -> bool:
    """Whether the operation is a soft or hard clip."""
    return operation in (SOFT_CLIP, HARD_CLIP)


@njit
def query_length(elements: NDArray[Any]) -> int:
    """Bases of the query that the elements of one CIGAR account for."""
    length = 0
    for element in elements:
        if consumes_query(operation_of(element)):
            length += length_of(element)
    return length


@njit
def reference_length(elements: NDArray[Any]) -> int:
    """Bases of the reference that the elements of one CIGAR span."""
    length = 0
    for element in elements:
        if consumes_reference(operation_of(element)):
            length += length_of(element)
    return length


@njit
def count_digits(number: int) -> int:
    """Decimal digits of a number that is not negative."""
    digits = 1
    while number >= 10:
        number //= 10
        digits += 1
    return digits


@njit
def write_number(number: int, out: NDArray[np.uint8], at: int) -> int:
    """Write a number that is not negative as text; return where it ends."""
    end = at + count_digits(number)
    for k in range(end - 1, at - 1, -1):
        out[k] = _ZERO + number % 10
        number //= 10
    return end


@njit
def _query_lengths(cigars: Rows) -> NDArray[np.int64]:
    lengths = np.empty(cigars.offsets.size - 1, dtype=np.int64)
    for row in range(lengths.size):
        lengths[row] = query_length(row_of(cigars, row))
    return lengths


@njit
def _reference_lengths(cigars: Rows) -> NDArray[np.int64]:
    lengths = np.empty(cigars.offsets.size - 1, dtype=np.int64)
    for row in range(lengths.size):
        lengths[row] = reference_length(row_of(cigars, row))
    return lengths


@njit
def _text_lengths(cigars: Rows) -> NDArray[np.int64]:
    lengths = np.empty(cigars.offsets.size - 1, dtype=np.int64)
    for row in range(lengths.size):
        cigar = row_of(cigars, row)
        length = 1 if cigar.size == 0 else 0
        for element in cigar:
            length += count_digits(length_of(element)) + 1
        lengths[row] = length
    return lengths


@njit
def _write_texts(cigars: Rows, out: NDArray[np.uint8], out_offsets: NDArray[np.int64]) -> None:
    for row in range(cigars.offsets.size - 1):
        at = out_offsets[row]
        cigar = row_of(cigars, row)
        if cigar.size == 0:
            out[at] = _STAR
        for element in cigar:
            at = write_number(length_of(element), out, at)
            out[at] = _LETTERS[operation_of(element)]
            at += 1


class CigarBuilder(NamedTuple):
    """A CIGAR under construction by GATK's rules (its CigarBuilder).

    Equal neighbours merge, deletions go before the insertions they touch, and deletions at the
    ends of the aligned part are dropped and counted, unless they are to be kept.

    Attributes
    ----------
    elements
        int64 (lengths may outgrow BAM while they add up), as large as elements will be added.
    state
        int64[7], see the names below.
    """

    elements: NDArray[np.int64]
    state: NDArray[np.int64]


COUNT, _LAST, _SECTION, _KEEPS_ENDS, LEADING_REMOVED, TRAILING_REMOVED, _BROKEN = range(7)
_NONE = -1
_LEFT_HARD, _LEFT_SOFT, _MIDDLE, _RIGHT_SOFT, _RIGHT_HARD = range(5)


@njit
def new_builder(capacity: int) -> CigarBuilder:
    """Make room for a CIGAR of so many elements; to be started before use."""
    return CigarBuilder(np.empty(capacity, dtype=np.int64), np.empty(7, dtype=np.int64))


@njit
def start_cigar(builder: CigarBuilder) -> None:
    """Begin the CIGAR of a read, without deletions at its ends."""
    builder.state[:] = 0
    builder.state[_LAST] = _NONE


@njit
def start_pinned_cigar(builder: CigarBuilder) -> None:
    """Begin the CIGAR of a haplotype, whose ends are pinned: deletions there are kept."""
    start_cigar(builder)
    builder.state[_KEEPS_ENDS] = 1


@njit
def add_element(builder: CigarBuilder, length: int, operation: int) -> None:
    """Append an operation, which may merge with or move before those already there."""
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
    """Append all elements of a CIGAR."""
    for element in elements:
        add_element(builder, length_of(element), operation_of(element))


@njit
def finish_cigar(builder: CigarBuilder) -> bool:
    """Drop deletions at the end; return whether the CIGAR is in order and not empty."""
    state, elements = builder.state, builder.elements
    if state[_SECTION] == _LEFT_SOFT and operation_of(elements[0]) == SOFT_CLIP:
        return False  # clipped altogether
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
    """Return the elements so far, sharing memory with the builder."""
    return builder.elements[: builder.state[COUNT]]


@njit
def _append(builder: CigarBuilder, length: int, operation: int) -> None:
    builder.elements[builder.state[COUNT]] = length << 4 | operation
    builder.state[COUNT] += 1
    builder.state[_LAST] = operation


@njit
def _is_at_start(builder: CigarBuilder) -> bool:
    """Whether nothing but clips, or clips and one insertion, was added yet."""
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
        elements[count - 1] = length << 4 | operation  # GATK still takes the insertion as last
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
    """Move on along hard clip, soft clip, aligned part, soft clip, hard clip, or break."""
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

"""CIGARs in BAM encoding (`length << 4 | operation`)."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.errors import InputError
from hapgpu.io.text.numbers import put_integer
from hapgpu.runtime.jit import njit

OPERATIONS = "MIDNSHP=X"
"""Letters of the operations, in the order of their codes."""

MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP, HARD_CLIP, PADDING, EQUAL, DIFFERENT = range(9)

LARGEST_LENGTH = 2**28 - 1
"""Longest element that BAM can hold."""


def _set_of(*operations: int) -> int:
    """Bit k stands for operation k: quicker to look up, and to compile, than a tuple."""
    return sum(1 << operation for operation in operations)


_QUERY_CONSUMING = _set_of(MATCH, INSERTION, SOFT_CLIP, EQUAL, DIFFERENT)
_REFERENCE_CONSUMING = _set_of(MATCH, DELETION, SKIP, EQUAL, DIFFERENT)
_ALIGNING = _set_of(MATCH, EQUAL, DIFFERENT)
_CLIPPING = _set_of(SOFT_CLIP, HARD_CLIP)

_LETTERS = np.frombuffer(OPERATIONS.ljust(16, "?").encode(), dtype=np.uint8)
_TEXT = re.compile(rf"([0-9]+[{OPERATIONS}])+")
_ELEMENT = re.compile(rf"([0-9]+)([{OPERATIONS}])")
_LONGEST_TEXT = len(f"{LARGEST_LENGTH}M")
_STAR = ord("*")


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
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    data = np.empty(_LONGEST_TEXT * cigars.data.size + len(cigars), dtype=np.uint8)
    _write_texts(view_of(cigars), data, offsets)
    return Ragged(data[: offsets[-1]], offsets)


def query_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the query that each CIGAR accounts for, soft-clipped ones too."""
    return _sums(cigars, _QUERY_CONSUMING)


def reference_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the reference that each CIGAR spans."""
    return _sums(cigars, _REFERENCE_CONSUMING)


def deletion_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the reference that each CIGAR deletes."""
    return _sums(cigars, _set_of(DELETION))


def skipped_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """int64[n]: the bases of the reference that each CIGAR skips, as over introns."""
    return _sums(cigars, _set_of(SKIP))


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
    return _QUERY_CONSUMING >> operation & 1 != 0


@njit
def consumes_reference(operation: int) -> bool:
    """Whether the operation spans bases of the reference."""
    return _REFERENCE_CONSUMING >> operation & 1 != 0


@njit
def is_alignment(operation: int) -> bool:
    """Whether the operation puts bases of the query on bases of the reference."""
    return _ALIGNING >> operation & 1 != 0


@njit
def is_clip(operation: int) -> bool:
    """Whether the operation is a soft or hard clip."""
    return _CLIPPING >> operation & 1 != 0


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


def _sums(cigars: Ragged, operations: int) -> NDArray[np.int64]:
    """Sum up the lengths of the elements with operations of a set."""
    counted = operations >> (cigars.data & 15) & 1
    sums = np.zeros(cigars.data.size + 1, dtype=np.int64)
    np.cumsum((cigars.data >> 4) * counted, dtype=np.int64, out=sums[1:])
    return np.diff(sums[cigars.offsets])


@njit
def _write_texts(
    cigars: RaggedView, out: NDArray[np.uint8], out_offsets: NDArray[np.int64]
) -> None:
    at = out_offsets[0]
    for row in range(cigars.offsets.size - 1):
        cigar = row_of(cigars, row)
        if cigar.size == 0:
            out[at] = _STAR
            at += 1
        for element in cigar:
            at = put_integer(out, at, length_of(element))
            out[at] = _LETTERS[operation_of(element)]
            at += 1
        out_offsets[row + 1] = at


@njit
def write_cigar(
    out: NDArray[np.uint32],
    at: int,
    leading: int,
    middle: NDArray[np.int64],
    trailing: int,
    operation: int,
) -> int:
    """Write a CIGAR with an operation around it; return its end, or `at` if BAM cannot hold it."""
    end = at
    if leading > 0:
        out[end] = leading << 4 | operation
        end += 1
    longest = max(leading, trailing)
    for element in middle:
        longest = max(longest, length_of(element))
        out[end] = element
        end += 1
    if trailing > 0:
        out[end] = trailing << 4 | operation
        end += 1
    return end if longest <= LARGEST_LENGTH else at

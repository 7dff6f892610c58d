"""CIGARs in BAM encoding (`length << 4 | operation`)."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of
from hapgpu.arrays.ragged import Ragged, row_texts
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import MAX_OPERATION_BASES, QUERY_OPERATIONS, REFERENCE_OPERATIONS
from hapgpu.io.text.builder import built_text, put_byte, put_count
from hapgpu.runtime.jit import njit

OPERATIONS = "MIDNSHP=X"
"""Letters of the operations, by code."""

MATCH, INSERTION, DELETION, SKIP, SOFT_CLIP, HARD_CLIP, PADDING, EQUAL, DIFFERENT = range(9)


def _set_of(*operations: int) -> int:
    """Return a mask of operations: bit k is operation k; faster, also to compile, than a tuple."""
    return sum(1 << operation for operation in operations)


_ALIGNING = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_CLIPPING = _set_of(SOFT_CLIP, HARD_CLIP)

_LETTERS = np.frombuffer(OPERATIONS.ljust(16, "?").encode(), dtype=np.uint8)
_TEXT = re.compile(rf"([0-9]{{1,18}}[{OPERATIONS}])+")
_ELEMENT = re.compile(rf"([0-9]+)([{OPERATIONS}])")
_ELEMENT_TEXT = 4
"""Characters of an element, expected."""
_STAR = ord("*")


def parse_cigar(text: str | bytes) -> NDArray[np.uint32]:
    """Convert CIGAR text to BAM encoding, uint32[e]; `*` has no elements.

    Raises
    ------
    InputError
        The text is not a CIGAR, or has an element too long for BAM.
    """
    if isinstance(text, bytes):
        text = text.decode("ascii", errors="replace")
    if text == "*":
        return np.empty(0, dtype=np.uint32)
    if not _TEXT.fullmatch(text):
        message = (
            f"CIGAR '{text}': expected lengths, each with one of {OPERATIONS}, or *; correct it"
        )
        raise InputError(message)
    elements = [(int(length), letter) for length, letter in _ELEMENT.findall(text)]
    if max(elements)[0] > MAX_OPERATION_BASES:
        message = f"CIGAR '{text}': an element is longer than {MAX_OPERATION_BASES:,}; split it"
        raise InputError(message)
    return np.array(
        [length << 4 | OPERATIONS.index(letter) for length, letter in elements], dtype=np.uint32
    )


def match_cigars(lengths: NDArray[np.int64]) -> Ragged:
    """Return uint32 CIGARs in BAM encoding, one M each, of `lengths`, int64[n], all above 0."""
    return Ragged((lengths << 4 | MATCH).astype(np.uint32), np.arange(lengths.size + 1))


def cigar_strings(cigars: Ragged) -> list[str]:
    """Return `cigars`, uint32 in BAM encoding, as strings; `*` for a CIGAR without elements."""
    return row_texts(cigar_text(cigars))


def cigar_text(cigars: Ragged) -> Ragged:
    """Return `cigars`, uint32 in BAM encoding, as rows of uint8 text; `*` without elements."""
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    write = partial(_write_texts, view_of(cigars), offsets)
    return Ragged(built_text(write, _ELEMENT_TEXT * cigars.data.size + len(cigars)), offsets)


def query_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: bases of the query that each CIGAR consumes, soft-clipped bases included.

    `cigars` are uint32 in BAM encoding, n rows.
    """
    return _sums(cigars, QUERY_OPERATIONS)


def reference_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: bases of the reference that each CIGAR spans.

    `cigars` are uint32 in BAM encoding, n rows.
    """
    return _sums(cigars, REFERENCE_OPERATIONS)


def skipped_lengths(cigars: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: bases of the reference that each CIGAR skips, as for introns.

    `cigars` are uint32 in BAM encoding, n rows.
    """
    return _sums(cigars, _set_of(SKIP))


@njit
def length_of(element: int) -> int:
    """Return the length of a CIGAR element."""
    return int(np.int64(element) >> 4)  # widened: Numba treats uint32 with int64 as float


@njit
def operation_of(element: int) -> int:
    """Return the operation of a CIGAR element."""
    return int(np.int64(element) & 15)


@njit
def consumes_query(operation: int) -> bool:
    """Tell whether an operation consumes bases of the query."""
    return QUERY_OPERATIONS >> operation & 1 != 0


@njit
def consumes_reference(operation: int) -> bool:
    """Tell whether an operation consumes bases of the reference."""
    return REFERENCE_OPERATIONS >> operation & 1 != 0


@njit
def is_alignment(operation: int) -> bool:
    """Tell whether an operation aligns bases of the query to bases of the reference."""
    return _ALIGNING >> operation & 1 != 0


@njit
def is_clip(operation: int) -> bool:
    """Tell whether an operation is a soft or hard clip."""
    return _CLIPPING >> operation & 1 != 0


@njit
def query_length(elements: NDArray[Any]) -> int:
    """Return the bases of the query that `elements`, uint32 or int64 in BAM encoding, consume."""
    length = 0
    for element in elements:
        if consumes_query(operation_of(element)):
            length += length_of(element)
    return length


@njit
def reference_length(elements: NDArray[Any]) -> int:
    """Return the bases of the reference that `elements`, uint32 or int64 in BAM encoding, span."""
    length = 0
    for element in elements:
        if consumes_reference(operation_of(element)):
            length += length_of(element)
    return length


def _sums(cigars: Ragged, operations: int) -> NDArray[np.int64]:
    """Return int64[n]: the sum of the lengths of elements with operations of a mask."""
    counted = operations >> (cigars.data & 15) & 1
    sums = np.zeros(cigars.data.size + 1, dtype=np.int64)
    np.cumsum((cigars.data >> 4) * counted, dtype=np.int64, out=sums[1:])
    return np.diff(sums[cigars.offsets])


@njit
def _write_texts(cigars: RaggedView, offsets: NDArray[np.int64], out: NDArray[np.uint8]) -> Integer:
    """Write the text of each CIGAR and where it ends; return the end of all."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    for row in range(offsets.size - 1):
        cigar = row_of(cigars, row)
        if cigar.size == 0:
            at = put_byte(text, at, _STAR)
        for element in cigar:
            at = put_count(text, at, length_of(element))
            at = put_byte(text, at, _LETTERS[operation_of(element)])
        offsets[row + 1] = at
    return at


@njit
def write_cigar(
    out: NDArray[np.uint32],
    at: int,
    leading: int,
    middle: NDArray[np.int64],
    trailing: int,
    operation: int,
) -> int:
    """Write a CIGAR with an operation around it; return its end, or `at` if it is beyond BAM.

    Parameters
    ----------
    out
        uint32 in BAM encoding; must have room for `middle` and two elements from `at` on.
    at
        Offset of the first element written.
    leading, trailing
        Lengths of the operation before and after the CIGAR; 0 for none.
    middle
        int64 in BAM encoding: the CIGAR.
    operation
        The operation around it.
    """
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
    return end if longest <= MAX_OPERATION_BASES else at

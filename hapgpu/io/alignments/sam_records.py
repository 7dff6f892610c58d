"""Conversion of columns to lines of SAM text."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer, copy_bytes, load_i32, load_u16, load_u32
from hapgpu.arrays.memory import memory_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import view_of
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.encode import check_writable
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.tags import VALUE_WIDTHS
from hapgpu.io.text import builder
from hapgpu.io.text.builder import SLACK
from hapgpu.io.text.numbers import put_float
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

_COLON, _COMMA = b":,"
_INT8, _UINT8, _INT16, _UINT16, _UINT32 = b"cCsSI"
_CHARACTER, _FLOAT, _TEXT, _HEX, _ARRAY = b"AfZHB"
# SAM has one integer type.
_SAM_TYPES = np.full(256, ord("i"), dtype=np.uint8)
_SAM_TYPES[list(b"AfZHB")] = list(b"AfZHB")

_TAB: Final = ord("\t")
_STAR: Final = ord("*")
_EQUALS: Final = ord("=")
_NEWLINE: Final = ord("\n")
_FIRST_QUALITY: Final = 33
_LAST_QUALITY: Final = 126 - 33
_OPERATIONS: Final = np.frombuffer(b"MIDNSHP=X", dtype=np.uint8)
_NUMBERS_TEXT: Final = 100
"""Maximum of the characters for numbers, tabs and stars of a line."""
_OPERATION_TEXT: Final = 10
_TEXT_PER_TAG_BYTE: Final = 5


@njit
def put_integer(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write an integer from an offset of an array on; return its end."""
    return builder.put_integer(memory_of(out), at, value)


@njit
def _load_integer(tags: NDArray[np.uint8], at: Integer, kind: Integer) -> Integer:
    if kind == _UINT8:
        return np.int64(tags[at])
    if kind == _INT8:
        return np.int64(np.int8(tags[at]))
    if kind == _UINT16:
        return load_u16(tags, at)
    if kind == _INT16:
        return np.int64(np.int16(load_u16(tags, at)))
    return load_u32(tags, at) if kind == _UINT32 else load_i32(tags, at)


@njit
def _put_number(
    tags: NDArray[np.uint8], at: Integer, kind: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write the number at `at` to `out[to]`; return its end in `out`."""
    if kind == _FLOAT:
        return put_float(memory_of(out), to, np.int32(load_i32(tags, at)).view(np.float32))
    return put_integer(out, to, _load_integer(tags, at, kind))


@njit
def _put_array(
    tags: NDArray[np.uint8], at: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    kind = np.int64(tags[at])
    out[to] = tags[at]
    to += 1
    count = load_i32(tags, at + 1)
    at += 5
    for _ in range(count):
        out[to] = _COMMA
        to = _put_number(tags, at, kind, out, to + 1)
        at += VALUE_WIDTHS[kind]
    return at, to


@njit
def _put_text(
    tags: NDArray[np.uint8], at: Integer, out: NDArray[np.uint8], to: Integer
) -> tuple[Integer, Integer]:
    close = at
    while tags[close]:
        close += 1
    copy_bytes(tags, at, out, to, close - at)
    return close + 1, to + close - at


@njit
def put_tags(
    tags: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], to: Integer
) -> Integer:
    """Write well-formed fields in BAM encoding as SAM text, each after a tab.

    Parameters
    ----------
    tags
        uint8: fields of reads.
    start, end
        Range of the fields of one read.
    out, to
        uint8, with room for five times the size of the fields, and the offset to write to.

    Returns
    -------
    int
        The end of the text.
    """
    at = start
    while at < end:
        kind = np.int64(tags[at + 2])
        out[to] = _TAB
        out[to + 1] = tags[at]
        out[to + 2] = tags[at + 1]
        out[to + 3] = _COLON
        out[to + 4] = _SAM_TYPES[kind]
        out[to + 5] = _COLON
        at += 3
        to += 6
        if kind == _CHARACTER:
            out[to] = tags[at]
            at += 1
            to += 1
        elif kind in (_TEXT, _HEX):
            at, to = _put_text(tags, at, out, to)
        elif kind == _ARRAY:
            at, to = _put_array(tags, at, out, to)
        else:
            to = _put_number(tags, at, kind, out, to)
            at += VALUE_WIDTHS[kind]
    return to


class _Texts(NamedTuple):
    """Texts that occur in many lines.

    Attributes
    ----------
    references, reference_offsets
        uint8: contig names, end to end, and int64[n + 1].
    operations
        uint8[9]: the letters of the CIGAR operations.
    """

    references: NDArray[np.uint8]
    reference_offsets: NDArray[np.int64]
    operations: NDArray[np.uint8]


@njit
def _put_row_text(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    row: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    """Write a row of ragged text, or `*` if it is empty."""
    length = offsets[row + 1] - offsets[row]
    if length == 0:
        out[at] = _STAR
        return at + 1
    copy_bytes(data, offsets[row], out, at, length)
    return at + np.int64(length)


@njit
def _put_reference(
    names: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
    reference: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    if reference < 0:
        out[at] = _STAR
        return at + 1
    return _put_row_text(names, name_offsets, reference, out, at)


@njit
def _put_cigar(
    cigars: NDArray[np.uint32],
    start: Integer,
    end: Integer,
    letters: NDArray[np.uint8],
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    if start == end:
        out[at] = _STAR
        return at + 1
    for k in range(start, end):
        at = put_integer(out, at, np.int64(cigars[k] >> np.uint32(4)))
        out[at] = letters[cigars[k] & np.uint32(15)]
        at += 1
    return at


@njit
def _put_qualities(
    qualities: NDArray[np.uint8],
    start: Integer,
    end: Integer,
    out: NDArray[np.uint8],
    at: Integer,
) -> Integer:
    if start == end or qualities[start] == MISSING_QUALITY:
        out[at] = _STAR
        return at + 1
    source, to = np.uint64(start), np.uint64(at)
    for k in range(np.uint64(end - start)):
        quality = min(qualities[source + k], np.uint8(_LAST_QUALITY))
        out[to + k] = quality + np.uint8(_FIRST_QUALITY)
    return at + (end - start)


@njit
def _put_separated(out: NDArray[np.uint8], at: Integer, value: Integer) -> Integer:
    """Write a number between tabs."""
    out[at] = _TAB
    at = put_integer(out, at + 1, value)
    out[at] = _TAB
    return at + 1


@njit
def _put_lines(
    columns: ReadColumns, start: int, end: int, texts: _Texts, out: NDArray[np.uint8]
) -> Integer:
    """Write the lines of rows `start` to `end`; return the number of characters."""
    names, name_offsets = texts.references, texts.reference_offsets
    at: Integer = np.int64(0)
    for row in range(start, end):
        at = _put_row_text(columns.names, columns.name_offsets, row, out, at)
        at = _put_separated(out, at, np.int64(columns.flags[row]))
        reference = np.int64(columns.reference_ids[row])
        at = _put_reference(names, name_offsets, reference, out, at)
        at = _put_separated(out, at, np.int64(columns.positions[row]) + 1)
        at = put_integer(out, at, np.int64(columns.mapping_qualities[row]))
        out[at] = _TAB
        first, last = columns.cigar_offsets[row], columns.cigar_offsets[row + 1]
        at = _put_cigar(columns.cigars, first, last, texts.operations, out, at + 1)
        out[at] = _TAB
        mate = np.int64(columns.mate_reference_ids[row])
        if mate >= 0 and mate == reference:
            out[at + 1] = _EQUALS
            at += 2
        else:
            at = _put_reference(names, name_offsets, mate, out, at + 1)
        at = _put_separated(out, at, np.int64(columns.mate_positions[row]) + 1)
        at = put_integer(out, at, np.int64(columns.template_lengths[row]))
        out[at] = _TAB
        at = _put_row_text(columns.bases, columns.base_offsets, row, out, at + 1)
        out[at] = _TAB
        first, last = columns.base_offsets[row], columns.base_offsets[row + 1]
        at = _put_qualities(columns.qualities, first, last, out, at + 1)
        first, last = columns.tag_offsets[row], columns.tag_offsets[row + 1]
        at = put_tags(columns.tags, first, last, out, at)
        out[at] = _NEWLINE
        at += 1
    return at


def format_records(batch: ReadBatch, header: SamHeader, pool: Pool) -> list[NDArray[np.uint8]]:
    """Write reads as lines of SAM.

    Returns
    -------
    list of numpy.ndarray
        uint8 text of consecutive slices of the batch.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """
    columns = ReadColumns.from_batch(batch)
    check_writable(columns, header)
    references = Ragged.from_names(header.reference_names)
    texts = _Texts(*view_of(references), _OPERATIONS)
    room = offsets_of(_max_text(columns, references))

    def put(start: int, end: int) -> NDArray[np.uint8]:
        out = np.empty(int(room[end] - room[start]) + SLACK, dtype=np.uint8)
        size = _put_lines(columns, start, end, texts, out)
        return out[:size]

    return pool.over_rows(put, len(batch))


def _max_text(columns: ReadColumns, references: Ragged) -> NDArray[np.int64]:
    """Return int64[n]: the maximum of characters in the line of each read."""
    text = np.diff(columns.name_offsets)
    text += _OPERATION_TEXT * np.diff(columns.cigar_offsets)
    text += 2 * np.diff(columns.base_offsets)
    text += _TEXT_PER_TAG_BYTE * np.diff(columns.tag_offsets)
    longest = int(references.lengths.max(initial=1))
    return text + (_NUMBERS_TEXT + 2 * longest)

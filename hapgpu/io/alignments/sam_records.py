"""Conversion of columns to lines of SAM text."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    read_i32,
    read_u8,
    read_u16,
    read_u32,
    write_8,
)
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.arrays.read_columns import ReadColumns, read_memory_of
from hapgpu.io.bam.cigar_texts import put_cigar_text
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.bam.encode import check_writable
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.tags import HEAD_BYTES, VALUE_WIDTHS, text_end
from hapgpu.io.text.builder import (
    TAG_HEAD_BYTES,
    TextBuilder,
    has_room,
    put_all,
    put_byte,
    put_bytes,
    put_integer,
    put_word,
    tag_head,
)
from hapgpu.io.text.numbers import put_float
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.runtime.pool import Pool

_COMMA: Final = ord(",")
_INT8, _UINT8, _INT16, _UINT16, _UINT32 = b"cCsSI"
_CHARACTER, _FLOAT, _TEXT, _HEX, _ARRAY = b"AfZHB"
# SAM has one integer type.
_SAM_TYPES = np.full(256, ord("i"), dtype=np.uint8)
_SAM_TYPES[list(b"AfZHB")] = list(b"AfZHB")

_TAB: Final = ord("\t")
_STAR: Final = ord("*")
_EQUALS: Final = ord("=")
_NEWLINE: Final = ord("\n")
_HEAD: Final = tag_head("\0\0", "\0")
_FIRST_QUALITY, _LAST_QUALITY = np.int64(33), np.int64(126 - 33)
# Characters that are expected.
_NUMBERS_TEXT: Final = 60
_TEXT_PER_OPERATION: Final = 4
_TEXT_PER_TAG_BYTE: Final = 2


@njit_inlined
def _integer_of(tags: Memory, at: Integer, kind: Integer) -> Integer:
    if kind == _UINT8:
        return read_u8(tags, at)
    if kind == _INT8:
        return np.int64(np.int8(read_u8(tags, at)))
    if kind == _UINT16:
        return read_u16(tags, at)
    if kind == _INT16:
        return np.int64(np.int16(read_u16(tags, at)))
    return read_u32(tags, at) if kind == _UINT32 else read_i32(tags, at)


@njit
def _put_number(text: Memory, at: Integer, tags: Memory, here: Integer, kind: Integer) -> Integer:
    """Write the number at an offset of tags."""
    if kind == _FLOAT:
        return put_float(text, at, np.int32(read_i32(tags, here)).view(np.float32))
    return put_integer(text, at, _integer_of(tags, here, kind))


@njit
def _put_array(text: Memory, at: Integer, tags: Memory, here: Integer) -> tuple[Integer, Integer]:
    """Write an array; return the end of the text, and of the array."""
    kind = read_u8(tags, here)
    at = put_byte(text, at, kind)
    count = read_i32(tags, here + 1)
    here += 5
    for _ in range(count):
        at = _put_number(text, put_byte(text, at, _COMMA), tags, here, kind)
        here += VALUE_WIDTHS[kind]
    return at, here


@njit
def put_tags(text: Memory, at: Integer, tags: Memory) -> Integer:
    """Write well-formed fields in BAM encoding as SAM text, each after a tab.

    Parameters
    ----------
    text, at
        Where to write; see `hapgpu.io.text.builder`.
    tags
        The fields of a read.

    Returns
    -------
    int
        The end of the text.
    """
    here: Integer = np.int64(0)
    while here < tags.size:
        kind = read_u8(tags, here + 2)
        head = _HEAD | read_u16(tags, here) << 8 | np.int64(_SAM_TYPES[kind]) << 32
        at = put_word(text, at, head, TAG_HEAD_BYTES)
        here += HEAD_BYTES
        if kind == _CHARACTER:
            at = put_byte(text, at, read_u8(tags, here))
            here += 1
        elif kind in (_TEXT, _HEX):
            end = text_end(tags, here, tags.size)
            at = put_bytes(text, at, tags, here, end - here)
            here = end + 1
        elif kind == _ARRAY:
            at, here = _put_array(text, at, tags, here)
        else:
            at = _put_number(text, at, tags, here, kind)
            here += VALUE_WIDTHS[kind]
    return at


@njit_inlined
def _put_text(text: Memory, at: Integer, source: Memory) -> Integer:
    """Write text, or `*` if it is empty."""
    return put_all(text, at, source) if source.size else put_byte(text, at, _STAR)


@njit_inlined
def _put_reference(text: Memory, at: Integer, names: RaggedMemory, reference: Integer) -> Integer:
    if reference < 0:
        return put_byte(text, at, _STAR)
    return _put_text(text, at, row_memory(names, reference, 1))


@njit_inlined
def _put_qualities(text: Memory, at: Integer, qualities: Memory) -> Integer:
    if qualities.size == 0 or read_u8(qualities, 0) == MISSING_QUALITY:
        return put_byte(text, at, _STAR)
    end = at + qualities.size
    if has_room(text, end):
        for k in range(qualities.size):
            write_8(text, at + k, min(read_u8(qualities, k), _LAST_QUALITY) + _FIRST_QUALITY)
    return end


@njit_inlined
def _put_separated(text: Memory, at: Integer, value: Integer) -> Integer:
    """Write a number between tabs."""
    return put_byte(text, put_integer(text, put_byte(text, at, _TAB), value), _TAB)


@njit
def _put_lines(
    columns: ReadColumns, start: int, end: int, references: RaggedView, out: NDArray[np.uint8]
) -> Integer:
    """Write the lines of rows `start` to `end`; return the end of the text."""
    text, contigs = memory_of(out), ragged_memory_of(references)
    reads = read_memory_of(columns)
    at: Integer = np.int64(0)
    for row in range(start, end):
        at = _put_text(text, at, row_memory(reads.names, row, 1))
        at = _put_separated(text, at, np.int64(columns.flags[row]))
        reference = np.int64(columns.reference_ids[row])
        at = _put_reference(text, at, contigs, reference)
        at = _put_separated(text, at, np.int64(columns.positions[row]) + 1)
        at = put_integer(text, at, np.int64(columns.mapping_qualities[row]))
        at = put_byte(text, at, _TAB)
        at = put_cigar_text(text, at, row_memory(reads.cigars, row, 4))
        at = put_byte(text, at, _TAB)
        mate = np.int64(columns.mate_reference_ids[row])
        if mate >= 0 and mate == reference:
            at = put_byte(text, at, _EQUALS)
        else:
            at = _put_reference(text, at, contigs, mate)
        at = _put_separated(text, at, np.int64(columns.mate_positions[row]) + 1)
        at = put_integer(text, at, np.int64(columns.template_lengths[row]))
        at = put_byte(text, at, _TAB)
        at = _put_text(text, at, row_memory(reads.bases, row, 1))
        at = put_byte(text, at, _TAB)
        at = _put_qualities(text, at, row_memory(reads.qualities, row, 1))
        at = put_tags(text, at, row_memory(reads.tags, row, 1))
        at = put_byte(text, at, _NEWLINE)
    return at


def format_records(
    batch: ReadBatch, header: SamHeader, contig_names: RaggedView, pool: Pool
) -> list[NDArray[np.uint8]]:
    """Write reads as lines of SAM.

    Parameters
    ----------
    batch
        The reads.
    header
        Header of the output.
    contig_names
        uint8 text, one row per contig of the header.
    pool
        Threads that write.

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
    build = TextBuilder(_expected_bytes(columns))

    def put(start: int, end: int) -> NDArray[np.uint8]:
        return build(
            end - start, lambda out: int(_put_lines(columns, start, end, contig_names, out))
        )

    return pool.over_rows(put, len(batch))


def _expected_bytes(columns: ReadColumns) -> int:
    """Return the bytes that a line is expected to have on average."""
    text = columns.names.size + columns.bases.size + columns.qualities.size
    text += _TEXT_PER_OPERATION * columns.cigars.size + _TEXT_PER_TAG_BYTE * columns.tags.size
    return _NUMBERS_TEXT + text // max(columns.flags.size, 1)

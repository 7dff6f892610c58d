"""Conversion of columns to BAM records."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    copy_memory,
    memory_of,
    part_of,
    read_u8,
    read_u16,
    read_u32,
    write_8,
    write_16,
    write_32,
)
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_memory import row_memory
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns, read_memory_of
from hapgpu.errors import OutputError
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LONG_CIGAR_TAG,
    MAX_CIGAR_OPERATIONS,
    MAX_NAME_BYTES,
    MAX_OPERATION_BASES,
    NUCLEOTIDES,
    REFERENCE_OPERATIONS,
    SKIP,
    SOFT_CLIP,
    UNMAPPED,
)
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.text.values import excerpt
from hapgpu.runtime.jit import njit, njit_inlined

_NAMELESS: Final = ord("*")
_LONG_CIGAR_HEADER: Final = 8
_ANY_BASE: Final = NUCLEOTIDES.index(b"N")
_MAX_REMADE: Final = 1 << 22
"""Bytes of a record that may be made for each range of bytes that has a part of it."""


def _nibbles() -> NDArray[np.uint8]:
    """Return uint8[256]: the code of each letter, in either case; N if it is not a nucleotide."""
    table = np.full(256, _ANY_BASE, dtype=np.uint8)
    for code, letter in enumerate(NUCLEOTIDES):
        table[[letter, ord(chr(letter).lower())]] = code
    return table


_NIBBLES = read_only(_nibbles())


@njit_inlined
def reference_span(cigar: Memory) -> Integer:
    """Return the reference bases of a CIGAR."""
    span: Integer = 0
    for k in range(cigar.size // 4):
        element = read_u32(cigar, 4 * k)
        if REFERENCE_OPERATIONS >> (element & 15) & 1:
            span += element >> 4
    return span


@njit
def bin_of(start: Integer, end: Integer) -> Integer:
    """Return the smallest bin of the BAI tree that contains an interval."""
    last = end - 1
    if start >> 14 == last >> 14:
        return 4681 + (start >> 14)
    if start >> 17 == last >> 17:
        return 585 + (start >> 17)
    if start >> 20 == last >> 20:
        return 73 + (start >> 20)
    if start >> 23 == last >> 23:
        return 9 + (start >> 23)
    if start >> 26 == last >> 26:
        return 1 + (start >> 26)
    return 0


@njit_inlined
def _pack_bases(letters: Memory, nibbles: Memory, record: Memory, at: Integer) -> None:
    half = letters.size // 2
    for k in range(half):
        two = read_u16(letters, 2 * k)
        high, low = read_u8(nibbles, two & 255), read_u8(nibbles, two >> 8)
        write_8(record, at + k, high << 4 | low)
    if letters.size % 2:
        last = read_u8(nibbles, read_u8(letters, 2 * half))
        write_8(record, at + half, last << 4)


@njit_inlined
def _store_name(name: Memory, record: Memory) -> Integer:
    """Write a name (`*` if it is empty) and its NUL; return the length, the NUL included."""
    if name.size == 0:
        write_16(record, FIXED_BYTES, _NAMELESS)
        return 2
    copy_memory(record, FIXED_BYTES, name, 0, name.size)
    write_8(record, FIXED_BYTES + name.size, 0)
    return name.size + 1


@njit
def _store_records(
    columns: ReadColumns,
    start: int,
    end: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
    nibbles: NDArray[np.uint8],
) -> None:
    """Write rows start to end into `out`, whose first byte is the first of row `start`."""
    reads, codes, records = read_memory_of(columns), memory_of(nibbles), memory_of(out)
    for row in range(start, end):
        record = part_of(records, offsets[row] - offsets[start], offsets[row + 1] - offsets[row])
        name_bytes = _store_name(row_memory(reads.names, row, 1), record)
        at = FIXED_BYTES + name_bytes
        cigar = row_memory(reads.cigars, row, 4)
        span = reference_span(cigar)
        letters, qualities = row_memory(reads.bases, row, 1), row_memory(reads.qualities, row, 1)
        bases = letters.size
        operations = cigar.size // 4
        is_long = operations > MAX_CIGAR_OPERATIONS
        if is_long:
            operations = 2
            write_32(record, at, bases << 4 | SOFT_CLIP)
            write_32(record, at + 4, span << 4 | SKIP)
        else:
            copy_memory(record, at, cigar, 0, cigar.size)
        at += 4 * operations
        _pack_bases(letters, codes, record, at)
        at += (bases + 1) // 2
        copy_memory(record, at, qualities, 0, bases)
        at += bases
        tags = row_memory(reads.tags, row, 1)
        copy_memory(record, at, tags, 0, tags.size)
        if is_long:
            at += tags.size
            write_32(record, at, LONG_CIGAR_TAG)
            write_32(record, at + 4, cigar.size // 4)
            copy_memory(record, at + _LONG_CIGAR_HEADER, cigar, 0, cigar.size)
        flag = np.int64(columns.flags[row])
        position = np.int64(columns.positions[row])
        covered = 0 if flag & UNMAPPED else span
        number = bin_of(position, position + max(covered, 1)) & 0xFFFF
        quality = np.int64(columns.mapping_qualities[row])
        write_32(record, 0, record.size - 4)
        write_32(record, 4, columns.reference_ids[row])
        write_32(record, 8, position)
        write_32(record, 12, name_bytes | quality << 8 | number << 16)
        write_32(record, 16, operations | flag << 16)
        write_32(record, 20, bases)
        write_32(record, 24, columns.mate_reference_ids[row])
        write_32(record, 28, columns.mate_positions[row])
        write_32(record, 32, columns.template_lengths[row])


class EncodedRecords:
    """Reads as BAM records, end to end, made when their bytes are needed.

    With a record of many megabytes all are made at once: each range of bytes would make it again.

    Parameters
    ----------
    batch
        The reads; its arrays must not change later.
    header
        Header of the output.

    Attributes
    ----------
    size
        Bytes of all records.
    offsets
        int64[n + 1]: where each record starts, and the end of the last.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, the header lacks a contig, or BAM cannot hold a long
        CIGAR.
    """

    def __init__(self, batch: ReadBatch, header: SamHeader) -> None:
        self._columns = ReadColumns.from_batch(batch)
        check_writable(self._columns, header)
        _check_long_cigars(self._columns)
        sizes = _record_sizes(self._columns)
        self.offsets = offsets_of(sizes)
        self.size = int(self.offsets[-1])
        self._whole = None
        if sizes.size and sizes.max() > _MAX_REMADE:
            self._whole = self._stored(0, sizes.size)

    def made(self, start: int, end: int) -> NDArray[np.uint8]:
        """Make bytes start to end, uint8; safe to call in several threads."""
        if start >= end:
            return np.empty(0, dtype=np.uint8)
        if self._whole is not None:
            return self._whole[start:end]
        offsets = self.offsets
        first = int(np.searchsorted(offsets, start, side="right")) - 1
        last = int(np.searchsorted(offsets, end))
        base = int(offsets[first])
        return self._stored(first, last)[start - base : end - base]

    def _stored(self, first: int, last: int) -> NDArray[np.uint8]:
        """Make the records of rows first to last."""
        out = np.empty(int(self.offsets[last] - self.offsets[first]), dtype=np.uint8)
        _store_records(self._columns, first, last, self.offsets, out, _NIBBLES)
        return out


def check_writable(columns: ReadColumns, header: SamHeader) -> None:
    """Raise an error for reads that SAM and BAM cannot represent.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """
    name_lengths = np.diff(columns.name_offsets)
    if (name_lengths > MAX_NAME_BYTES).any():
        name = _text_of(_name_of(columns, int(np.argmax(name_lengths))))
        raise OutputError(
            f"read '{name}': name longer than {MAX_NAME_BYTES} characters; shorten it"
        )
    references = len(header.reference_names)
    for ids in (columns.reference_ids, columns.mate_reference_ids):
        if ids.size and not -1 <= ids.min() <= ids.max() < references:
            raise missing_contig(
                _name_of(columns, int(np.argmax((ids < -1) | (ids >= references))))
            )


def _check_long_cigars(columns: ReadColumns) -> None:
    """Raise an error for a CIGAR that neither its field in BAM nor the tag CG can hold.

    Raises
    ------
    OutputError
        The CIGAR has more than 65,535 operations, and the read or its reference span 2**28 bases:
        `<bases>S<reference bases>N` cannot be stored.
    """
    starts, bases = columns.cigar_offsets, np.diff(columns.base_offsets)
    for row in np.flatnonzero(np.diff(starts) > MAX_CIGAR_OPERATIONS).tolist():
        cigar = columns.cigars[starts[row] : starts[row + 1]]
        is_counted = (REFERENCE_OPERATIONS >> (cigar & 15)) & 1
        span = int((is_counted * (cigar >> 4)).sum(dtype=np.int64))
        longer = max(span, int(bases[row]))
        if longer > MAX_OPERATION_BASES:
            raise OutputError(
                f"read '{_text_of(_name_of(columns, row))}': {cigar.size:,} CIGAR operations over"
                f" {longer:,} bases cannot be stored in BAM; write SAM"
            )


def missing_contig(name: NDArray[np.uint8]) -> OutputError:
    """Return the error for a read, by its `name`, uint8, whose contig the output header lacks."""
    return OutputError(
        f"read '{_text_of(name)}': contig missing from the output header; add its @SQ line"
    )


def _name_of(columns: ReadColumns, row: int) -> NDArray[np.uint8]:
    return columns.names[columns.name_offsets[row] : columns.name_offsets[row + 1]]


def _text_of(name: NDArray[np.uint8]) -> str:
    """Return an excerpt of the name of a read, for messages."""
    return excerpt(name.tobytes().decode("ascii", "replace"))


def _record_sizes(columns: ReadColumns) -> NDArray[np.int64]:
    names = np.maximum(np.diff(columns.name_offsets), 1) + 1
    operations = np.diff(columns.cigar_offsets)
    bases = np.diff(columns.base_offsets)
    sizes = FIXED_BYTES + names + 4 * operations + (bases + 1) // 2 + bases
    sizes += np.diff(columns.tag_offsets)
    sizes[operations > MAX_CIGAR_OPERATIONS] += 2 * 4 + _LONG_CIGAR_HEADER
    return np.asarray(sizes, dtype=np.int64)

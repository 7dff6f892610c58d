"""Conversion of columns to BAM records."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer, copy_bytes, store_32
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.errors import OutputError
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LONG_CIGAR_TAG,
    MAX_CIGAR_OPERATIONS,
    MAX_NAME_BYTES,
    NUCLEOTIDES,
    REFERENCE_OPERATIONS,
    SKIP,
    SOFT_CLIP,
    UNMAPPED,
)
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.text.excerpt import excerpt
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

_NAMELESS: Final = ord("*")
_LONG_CIGAR_HEADER: Final = 8
_ANY_BASE: Final = NUCLEOTIDES.index(b"N")
_1 = np.uint64(1)
_2 = np.uint64(2)


def _nibbles() -> NDArray[np.uint8]:
    """Return uint8[256]: the code of each letter, in either case; N if it is not a nucleotide."""
    table = np.full(256, _ANY_BASE, dtype=np.uint8)
    for code, letter in enumerate(NUCLEOTIDES):
        table[[letter, ord(chr(letter).lower())]] = code
    return table


_NIBBLES = _nibbles()


@njit
def reference_span(cigars: NDArray[np.uint32], start: Integer, end: Integer) -> Integer:
    span: Integer = 0
    for k in range(start, end):
        element = np.int64(cigars[k])
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


@njit
def _pack_bases(
    bases: NDArray[np.uint8],
    start: Integer,
    length: Integer,
    nibbles: NDArray[np.uint8],
    out: NDArray[np.uint8],
    at: Integer,
) -> None:
    source = np.uint64(start)
    to = np.uint64(at)
    for k in range(np.uint64(length // 2)):
        high = nibbles[bases[source]]
        low = nibbles[bases[source + _1]]
        out[to + k] = high << np.uint8(4) | low
        source += _2
    if length % 2:
        out[to + np.uint64(length // 2)] = nibbles[bases[source]] << np.uint8(4)


@njit
def _store_cigar(
    cigars: NDArray[np.uint32], start: Integer, end: Integer, out: NDArray[np.uint8], at: Integer
) -> None:
    for k in range(start, end):
        store_32(out, at + 4 * (k - start), cigars[k])


@njit
def _store_name(
    names: NDArray[np.uint8], start: Integer, end: Integer, out: NDArray[np.uint8], at: Integer
) -> Integer:
    """Write a name (`*` if it is empty) and its NUL; return the length, the NUL included."""
    length = end - start
    if length == 0:
        out[at] = _NAMELESS
        length = 1
    else:
        copy_bytes(names, start, out, at, length)
    out[at + length] = 0
    return length + 1


# Helpers get single arrays: passing them a whole tuple of arrays costs more than their work.
@njit
def _store_records(
    columns: ReadColumns,
    start: int,
    end: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
    base: int,
) -> None:
    """Write rows start to end; `out` starts with byte `base` of all records."""
    for row in range(start, end):
        record = offsets[row] - base
        first, last = columns.name_offsets[row], columns.name_offsets[row + 1]
        name_bytes = _store_name(columns.names, first, last, out, record + FIXED_BYTES)
        at = record + FIXED_BYTES + name_bytes
        first, last = columns.cigar_offsets[row], columns.cigar_offsets[row + 1]
        span = reference_span(columns.cigars, first, last)
        first_base = columns.base_offsets[row]
        bases = columns.base_offsets[row + 1] - first_base
        operations = last - first
        is_long = operations > MAX_CIGAR_OPERATIONS
        if is_long:
            operations = 2
            store_32(out, at, bases << 4 | SOFT_CLIP)
            store_32(out, at + 4, span << 4 | SKIP)
        else:
            _store_cigar(columns.cigars, first, last, out, at)
        at += 4 * operations
        _pack_bases(columns.bases, first_base, bases, _NIBBLES, out, at)
        at += (bases + 1) // 2
        copy_bytes(columns.qualities, first_base, out, at, bases)
        at += bases
        tag = columns.tag_offsets[row]
        tag_bytes = columns.tag_offsets[row + 1] - tag
        copy_bytes(columns.tags, tag, out, at, tag_bytes)
        if is_long:
            at += tag_bytes
            store_32(out, at, LONG_CIGAR_TAG)
            store_32(out, at + 4, last - first)
            _store_cigar(columns.cigars, first, last, out, at + _LONG_CIGAR_HEADER)
        flag = np.int64(columns.flags[row])
        position = np.int64(columns.positions[row])
        covered = 0 if flag & UNMAPPED else span
        number = bin_of(position, position + max(covered, 1)) & 0xFFFF
        quality = np.int64(columns.mapping_qualities[row])
        store_32(out, record, offsets[row + 1] - offsets[row] - 4)
        store_32(out, record + 4, columns.reference_ids[row])
        store_32(out, record + 8, position)
        store_32(out, record + 12, name_bytes | quality << 8 | number << 16)
        store_32(out, record + 16, operations | flag << 16)
        store_32(out, record + 20, bases)
        store_32(out, record + 24, columns.mate_reference_ids[row])
        store_32(out, record + 28, columns.mate_positions[row])
        store_32(out, record + 32, columns.template_lengths[row])


class EncodedRecords:
    """Reads as BAM records, end to end, made when their bytes are needed.

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

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """

    def __init__(self, batch: ReadBatch, header: SamHeader) -> None:
        self._columns = ReadColumns.from_batch(batch)
        check_writable(self._columns, header)
        self._offsets = offsets_of(_record_sizes(self._columns))
        self.size = int(self._offsets[-1])

    def made(self, start: int, end: int) -> NDArray[np.uint8]:
        """Make bytes start to end, uint8; safe to call in several threads."""
        if start >= end:
            return np.empty(0, dtype=np.uint8)
        offsets = self._offsets
        first = int(np.searchsorted(offsets, start, side="right")) - 1
        last = int(np.searchsorted(offsets, end))
        base = int(offsets[first])
        out = np.empty(int(offsets[last]) - base, dtype=np.uint8)
        _store_records(self._columns, first, last, offsets, out, base)
        return out[start - base : end - base]


def encode_records(batch: ReadBatch, header: SamHeader, pool: Pool) -> NDArray[np.uint8]:
    """Write reads as BAM records, end to end.

    Returns
    -------
    numpy.ndarray
        uint8: the records.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """
    records = EncodedRecords(batch, header)
    parts = pool.over_rows(records.made, records.size)
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


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


def missing_contig(name: NDArray[np.uint8]) -> OutputError:
    """Return the error for a read, by its name, whose contig the output header lacks."""
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

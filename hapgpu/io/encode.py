"""Columns turned into BAM records."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import ReadBatch, offsets_of
from hapgpu.errors import OutputError
from hapgpu.io.bam import (
    FIXED_BYTES,
    MAX_CIGAR_OPERATIONS,
    MAX_NAME_BYTES,
    NUCLEOTIDES,
    REFERENCE_OPERATIONS,
    SKIP,
    SOFT_CLIP,
    UNMAPPED,
)
from hapgpu.io.byte_access import Integer, copy_bytes, store_32
from hapgpu.io.columns import ReadColumns
from hapgpu.io.header import SamHeader
from hapgpu.io.pool import Pool
from hapgpu.jit import njit

_NAMELESS: Final = ord("*")
_LONG_CIGAR_HEADER: Final = 8
_ANY_BASE: Final = NUCLEOTIDES.index(b"N")
_1 = np.uint64(1)
_2 = np.uint64(2)


def _nibbles() -> NDArray[np.uint8]:
    """uint8[256]: the code of each letter, of either case; N for what is no nucleotide."""
    table = np.full(256, _ANY_BASE, dtype=np.uint8)
    for code, letter in enumerate(NUCLEOTIDES):
        table[[letter, ord(chr(letter).lower())]] = code
    return table


_NIBBLES = _nibbles()


@njit
def _reference_span(columns: ReadColumns, row: Integer) -> Integer:
    span: Integer = 0
    for k in range(columns.cigar_offsets[row], columns.cigar_offsets[row + 1]):
        element = np.int64(columns.cigars[k])
        if REFERENCE_OPERATIONS >> (element & 15) & 1:
            span += element >> 4
    return span


@njit
def _bin(start: Integer, end: Integer) -> Integer:
    """Return the smallest bin of the BAI tree that holds an interval."""
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
    columns: ReadColumns,
    row: Integer,
    out: NDArray[np.uint8],
    at: Integer,
    nibbles: NDArray[np.uint8],
) -> None:
    source = np.uint64(columns.base_offsets[row])
    length = columns.base_offsets[row + 1] - columns.base_offsets[row]
    to = np.uint64(at)
    for k in range(np.uint64(length // 2)):
        high = nibbles[columns.bases[source]]
        low = nibbles[columns.bases[source + _1]]
        out[to + k] = high << np.uint8(4) | low
        source += _2
    if length % 2:
        out[to + np.uint64(length // 2)] = nibbles[columns.bases[source]] << np.uint8(4)


@njit
def _store_cigar(columns: ReadColumns, row: Integer, out: NDArray[np.uint8], at: Integer) -> None:
    begin = columns.cigar_offsets[row]
    for k in range(columns.cigar_offsets[row + 1] - begin):
        store_32(out, at + 4 * k, columns.cigars[begin + k])


@njit
def _store_long_cigar(
    columns: ReadColumns, row: Integer, out: NDArray[np.uint8], at: Integer
) -> None:
    out[at] = ord("C")
    out[at + 1] = ord("G")
    out[at + 2] = ord("B")
    out[at + 3] = ord("I")
    operations = columns.cigar_offsets[row + 1] - columns.cigar_offsets[row]
    store_32(out, at + 4, operations)
    _store_cigar(columns, row, out, at + _LONG_CIGAR_HEADER)


@njit
def _store_fixed(
    columns: ReadColumns, row: Integer, out: NDArray[np.uint8], at: Integer, size: Integer
) -> None:
    position = np.int64(columns.positions[row])
    span: Integer = 0 if columns.flags[row] & UNMAPPED else _reference_span(columns, row)
    operations = columns.cigar_offsets[row + 1] - columns.cigar_offsets[row]
    stored = 2 if operations > MAX_CIGAR_OPERATIONS else operations
    name = max(columns.name_offsets[row + 1] - columns.name_offsets[row], 1)
    number = _bin(position, position + max(span, 1)) & 0xFFFF
    store_32(out, at, size - 4)
    store_32(out, at + 4, columns.reference_ids[row])
    store_32(out, at + 8, position)
    mapping_quality = np.int64(columns.mapping_qualities[row])
    store_32(out, at + 12, (name + 1) | mapping_quality << 8 | number << 16)
    store_32(out, at + 16, stored | np.int64(columns.flags[row]) << 16)
    bases = columns.base_offsets[row + 1] - columns.base_offsets[row]
    store_32(out, at + 20, bases)
    store_32(out, at + 24, columns.mate_reference_ids[row])
    store_32(out, at + 28, columns.mate_positions[row])
    store_32(out, at + 32, columns.template_lengths[row])


@njit
def _store_records(
    columns: ReadColumns,
    start: int,
    stop: int,
    offsets: NDArray[np.int64],
    out: NDArray[np.uint8],
    nibbles: NDArray[np.uint8],
) -> None:
    for row in range(start, stop):
        begin = offsets[row]
        _store_fixed(columns, row, out, begin, offsets[row + 1] - begin)
        at = begin + FIXED_BYTES
        name = columns.name_offsets[row]
        name_length = columns.name_offsets[row + 1] - name
        if name_length:
            copy_bytes(columns.names, name, out, at, name_length)
        else:
            out[at] = _NAMELESS
            name_length = 1
        at += name_length
        out[at] = 0
        at += 1
        bases = columns.base_offsets[row + 1] - columns.base_offsets[row]
        operations = columns.cigar_offsets[row + 1] - columns.cigar_offsets[row]
        if operations > MAX_CIGAR_OPERATIONS:
            store_32(out, at, bases << 4 | SOFT_CLIP)
            store_32(out, at + 4, _reference_span(columns, row) << 4 | SKIP)
            at += 8
        else:
            _store_cigar(columns, row, out, at)
            at += 4 * operations
        _pack_bases(columns, row, out, at, nibbles)
        at += (bases + 1) // 2
        copy_bytes(columns.qualities, columns.base_offsets[row], out, at, bases)
        at += bases
        tags = columns.tag_offsets[row]
        copy_bytes(columns.tags, tags, out, at, columns.tag_offsets[row + 1] - tags)
        if operations > MAX_CIGAR_OPERATIONS:
            _store_long_cigar(columns, row, out, at + columns.tag_offsets[row + 1] - tags)


def encode_records(batch: ReadBatch, header: SamHeader, pool: Pool) -> NDArray[np.uint8]:
    """Write reads as BAM records, one after the other.

    Returns
    -------
    numpy.ndarray
        uint8.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a reference.
    """
    columns = ReadColumns.from_batch(batch)
    check_writable(columns, header)
    sizes = _record_sizes(columns)
    offsets = offsets_of(sizes)
    out = np.empty(int(offsets[-1]), dtype=np.uint8)

    def store(start: int, stop: int) -> None:
        _store_records(columns, start, stop, offsets, out, _NIBBLES)

    pool.over_rows(store, len(batch))
    return out


def check_writable(columns: ReadColumns, header: SamHeader) -> None:
    """Refuse what SAM and BAM cannot say.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a reference.
    """
    name_lengths = np.diff(columns.name_offsets)
    if (name_lengths > MAX_NAME_BYTES).any():
        row = int(np.argmax(name_lengths))
        start = columns.name_offsets[row]
        name = columns.names[start : start + 40].tobytes().decode("ascii", "replace")
        raise OutputError(f"the read name {name}... is longer than {MAX_NAME_BYTES} characters")
    references = len(header.reference_names)
    for ids in (columns.reference_ids, columns.mate_reference_ids):
        if ids.size and not -1 <= ids.min() <= ids.max() < references:
            raise OutputError("a read lies on a reference that the output header does not have")


def _record_sizes(columns: ReadColumns) -> NDArray[np.int64]:
    names = np.maximum(np.diff(columns.name_offsets), 1) + 1
    operations = np.diff(columns.cigar_offsets)
    bases = np.diff(columns.base_offsets)
    sizes = FIXED_BYTES + names + 4 * operations + (bases + 1) // 2 + bases
    sizes += np.diff(columns.tag_offsets)
    sizes[operations > MAX_CIGAR_OPERATIONS] += 2 * 4 + _LONG_CIGAR_HEADER
    return np.asarray(sizes, dtype=np.int64)

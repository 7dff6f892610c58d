"""Numbers of BAM records as columns: fixed fields, operations of CIGARs, integer tags."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_i32,
    read_u8,
    read_u16,
    read_u32,
)
from hapgpu.io.bam.record_layout import RecordBlock, RecordLayout
from hapgpu.io.bam.tags import HEAD_BYTES, field_bytes_in, name_number
from hapgpu.report.line_blocks import name_digest
from hapgpu.runtime.jit import njit, njit_inlined

MISSING: Final = -(2**62)
"""The value of a tag that a record lacks, or that is no integer."""


class ReadColumn(IntEnum):
    """Columns; those from `NM` on are tags, the `OLD` ones out of OC and OA.

    `OLD_CONTIG` is the digest of a name; see `name_digest`.
    """

    CONTIG = 0
    POSITION = auto()
    MAPPING_QUALITY = auto()
    FLAGS = auto()
    BASES = auto()
    INSERTED = auto()
    DELETED = auto()
    CLIPPED = auto()
    ALIGNED = auto()
    OLD_INSERTED = auto()
    OLD_DELETED = auto()
    OLD_CLIPPED = auto()
    OLD_NM = auto()
    OLD_CONTIG = auto()
    NM = auto()
    AS = auto()
    XS = auto()
    NH = auto()
    X0 = auto()
    X1 = auto()
    OP = auto()


_TAGS: Final = np.array([name_number(tag.name) for tag in ReadColumn if tag >= ReadColumn.NM])
_FIRST_TAG: Final = int(ReadColumn.NM)
_OLD_NM: Final = int(ReadColumn.OLD_NM)
_NEW_OPERATIONS: Final = int(ReadColumn.INSERTED)
_OLD_OPERATIONS: Final = int(ReadColumn.OLD_INSERTED)
_OC: Final = name_number("OC")
_OA: Final = name_number("OA")
_TEXT, _ZERO, _NINE, _COMMA, _SEMICOLON = b"Z09,;"
_OLD_CONTIG: Final = int(ReadColumn.OLD_CONTIG)
_OPERATIONS: Final = np.full(256, -1, dtype=np.int64)
_OPERATIONS[[1, 2, 4]] = _OPERATIONS[list(b"IDS")] = 0, 1, 2  # as numbers, and as letters
_OPERATIONS[[0, 7, 8]] = 3  # M, =, X: only as numbers, of new alignments


def columns_of(block: RecordBlock) -> NDArray[np.int64]:
    """Return int64[columns, n], a row per `ReadColumn`."""
    out = np.empty((len(ReadColumn), len(block)), dtype=np.int64)
    _read_columns(block.data, block.layout, _TAGS, out)
    return out


@njit
def _read_columns(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    tags: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Write the fields, operations and tags of each record to its column of `out`, int64[c, n]."""
    records = memory_of(data)
    for row in range(layout.starts.size):
        start = layout.starts[row]
        end = start + 4 + read_i32(records, start)
        record = part_of(records, start, end - start)
        out[0, row] = read_i32(record, 4)
        out[1, row] = read_i32(record, 8)
        out[2, row] = read_u8(record, 13)
        out[3, row] = read_u16(record, 18)
        out[4, row] = layout.base_counts[row]
        out[_NEW_OPERATIONS:_OLD_OPERATIONS, row] = 0
        out[_OLD_OPERATIONS:, row] = MISSING
        for k in range(layout.cigar_lengths[row]):
            element = read_u32(records, layout.cigar_starts[row] + 4 * k)
            which = _OPERATIONS[element & 15]
            if which >= 0:
                out[_NEW_OPERATIONS + which, row] += element >> 4
        at = np.int64(layout.tag_starts[row])
        while at < end:
            size = field_bytes_in(records, at, end)
            if size == 0:
                break
            field = part_of(records, at, size)
            name, kind = read_u16(field, 0), read_u8(field, 2)
            if kind == _TEXT and name in (_OC, _OA):
                value = part_of(field, HEAD_BYTES, size - HEAD_BYTES - 1)
                if name == _OC:
                    _read_operations(value, out[_OLD_OPERATIONS:_OLD_NM, row])
                else:
                    out[_OLD_NM, row] = _last_distance(value)
                    out[_OLD_CONTIG, row] = _last_contig(value)
            else:
                for k in range(tags.size):
                    if tags[k] == name:
                        out[_FIRST_TAG + k, row] = _integer(field, kind)
            at += size


@njit_inlined
def _integer(field: Memory, kind: Integer) -> Integer:
    """Return the value of a tag of one of the types cCsSiI."""
    value: Integer = np.int64(MISSING)
    if kind == 67:  # C
        value = read_u8(field, HEAD_BYTES)
    elif kind == 99:  # c
        value = np.int64(np.int8(read_u8(field, HEAD_BYTES)))
    elif kind == 83:  # S
        value = read_u16(field, HEAD_BYTES)
    elif kind == 115:  # s
        value = np.int64(np.int16(read_u16(field, HEAD_BYTES)))
    elif kind == 73:  # I
        value = read_u32(field, HEAD_BYTES)
    elif kind == 105:  # i
        value = read_i32(field, HEAD_BYTES)
    return value


@njit
def _read_operations(text: Memory, out: NDArray[np.int64]) -> None:
    """Write the inserted, deleted and clipped bases of the text of a CIGAR."""
    out[:] = 0
    length = np.int64(0)
    for k in range(text.size):
        letter = read_u8(text, k)
        if _ZERO <= letter <= _NINE:
            length = min(10 * length + letter - _ZERO, np.int64(2**40))
        else:
            which = _OPERATIONS[letter]
            if which >= 0:
                out[which] += length
            length = np.int64(0)


@njit
def _last_distance(text: Memory) -> Integer:
    """Return NM of the last alignment of a tag OA; it is empty if that had none."""
    value = np.int64(0)
    power = np.int64(1)
    for k in range(text.size - 2, -1, -1):  # without the last semicolon
        letter = read_u8(text, k)
        if letter == _COMMA and power > 1:
            return value
        if not _ZERO <= letter <= _NINE or power > 10**9:
            break
        value += power * (letter - _ZERO)
        power *= 10
    return np.int64(MISSING)


@njit
def _last_contig(text: Memory) -> Integer:
    """Return the digest of the contig of the last alignment of a tag OA."""
    start = text.size - 1
    while start > 0 and read_u8(text, start - 1) != _SEMICOLON:
        start -= 1
    end = start
    while end < text.size and read_u8(text, end) != _COMMA:
        end += 1
    return name_digest(text, start, end - start)

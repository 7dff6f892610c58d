"""Blocks of BAM records: their bytes, and the layout of their parts, with every length checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

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
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import (
    FIXED_BYTES,
    LAST_OPERATION,
    LONG_CIGAR_TAG,
    QUERY_OPERATIONS,
    SKIP,
    SOFT_CLIP,
)
from hapgpu.io.bam.tags import field_bytes_in
from hapgpu.io.files.record_limit import too_long
from hapgpu.runtime.jit import njit, njit_inlined

(
    SOUND,
    TOO_LONG,
    BAD_SIZE,
    BAD_NAME,
    BAD_LENGTHS,
    BAD_REFERENCE,
    BAD_POSITION,
    BAD_CIGAR,
    UNEQUAL_CIGAR,
    BAD_TAG,
) = range(10)

INCOMPLETE: Final = -1
"""Fault of a record that does not end within the stretch, or the pieces, in which it starts."""

FAULTS: Final = {
    BAD_SIZE: "its size is impossible",
    BAD_NAME: "its name has no closing NUL",
    BAD_LENGTHS: "its parts are longer than the record",
    BAD_REFERENCE: "its contig is missing from the header",
    BAD_POSITION: "its position is negative",
    BAD_CIGAR: "its CIGAR has an unknown operation",
    UNEQUAL_CIGAR: "its CIGAR and its sequence differ in length",
    BAD_TAG: "a tag has an unknown type or ends after the record",
}


def record_fault(name: str, record: int, fault: int) -> InputError:
    """Return the error for a faulty record, numbered from 0, of the file `name`."""
    return InputError(
        f"{name}, record {record + 1}: damaged ({FAULTS[fault]}); correct or remove the record"
    )


def truncated(name: str, record: int) -> InputError:
    """Return the error for a file that ends within a record; records count from 1."""
    return InputError(f"{name}: truncated (it ends within record {record}); copy it again")


def reading_fault(name: str, done: int, fault: int, max_record: int) -> InputError:
    """Return the error for the record after `done` others of a file.

    `fault` is a code, or `INCOMPLETE`; `max_record` is the limit of the size of records.
    """
    if fault == INCOMPLETE:
        return truncated(name, done + 1)
    if fault == TOO_LONG:
        return too_long(f"{name}, record {done + 1}", max_record)
    return record_fault(name, done, fault)


class RecordLayout(NamedTuple):
    """Offsets and lengths of the parts of n records in one buffer.

    Attributes
    ----------
    starts
        int64[n]: offset of each record's `block_size`.
    name_lengths, cigar_lengths, base_counts, tag_lengths
        int32[n], without the NUL of the name and the tag that holds a long CIGAR.
    cigar_starts, tag_starts
        int64[n]: offsets of the CIGAR, in its field or in the tag CG, and of the first tag.
    long_cigars
        int64[n]: offset of the tag that holds a long CIGAR, or -1.
    """

    starts: NDArray[np.int64]
    name_lengths: NDArray[np.int32]
    cigar_lengths: NDArray[np.int32]
    base_counts: NDArray[np.int32]
    tag_lengths: NDArray[np.int32]
    cigar_starts: NDArray[np.int64]
    tag_starts: NDArray[np.int64]
    long_cigars: NDArray[np.int64]

    @classmethod
    def empty(cls, starts: NDArray[np.int64]) -> RecordLayout:
        """Allocate the layout of the records that start at `starts`, int64[n]."""
        rows = starts.size
        return cls(
            starts,
            name_lengths=np.empty(rows, dtype=np.int32),
            cigar_lengths=np.empty(rows, dtype=np.int32),
            base_counts=np.empty(rows, dtype=np.int32),
            tag_lengths=np.empty(rows, dtype=np.int32),
            cigar_starts=np.empty(rows, dtype=np.int64),
            tag_starts=np.empty(rows, dtype=np.int64),
            long_cigars=np.empty(rows, dtype=np.int64),
        )

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RecordLayout:
        """Select `rows`, bool[n] as a mask, or int64[r]."""
        return RecordLayout._make(column[rows] for column in self)

    def shifted(self, by: NDArray[np.int64]) -> RecordLayout:
        """Return the layout after each record was moved by `by`, int64[n], bytes."""
        return self._replace(
            starts=self.starts + by,
            cigar_starts=self.cigar_starts + by,
            tag_starts=self.tag_starts + by,
            long_cigars=np.where(self.long_cigars < 0, -1, self.long_cigars + by),
        )


@njit
def walk_records(
    data: NDArray[np.uint8],
    start: Integer,
    max_record: Integer,
    starts: NDArray[np.int64],
) -> tuple[Integer, Integer, Integer, Integer]:
    """Find records until `data`, uint8, ends or `starts`, int64, is full.

    Returns
    -------
    tuple of int
        Records found, their bases, the end of the last record, and a fault code for the next.
    """
    count = 0
    bases = 0
    at = start
    memory = memory_of(data)
    while at + FIXED_BYTES <= data.size and count < starts.size:
        size = read_i32(memory, at)
        base_count = read_i32(memory, at + 20)
        if size < FIXED_BYTES - 4 or base_count > size:
            return count, bases, at, BAD_SIZE
        if size > max_record:
            return count, bases, at, TOO_LONG
        if at + 4 + size > data.size:
            break
        starts[count] = at
        count += 1
        bases += max(base_count, 0)
        at += 4 + size
    return count, bases, at, SOUND


@njit_inlined
def _find_long_cigar(memory: Memory, start: Integer, end: Integer) -> tuple[Integer, Integer]:
    """Check all tags; return the offset of CG:B,I or -1, and a fault code."""
    found: Integer = -1
    at = start
    while at < end:
        size = field_bytes_in(memory, at, end)
        if size == 0:
            return -1, BAD_TAG
        if read_u32(memory, at) == LONG_CIGAR_TAG:
            found = at
        at += size
    return found, SOUND


@njit_inlined
def _cigar_fault(cigar: Memory, bases: Integer) -> Integer:
    """Check that a CIGAR consumes as many bases as the read has."""
    total = 0
    for k in range(cigar.size // 4):
        element = read_u32(cigar, 4 * k)
        operation = element & 15
        if operation > LAST_OPERATION:
            return BAD_CIGAR
        if QUERY_OPERATIONS >> operation & 1:
            total += element >> 4
    if cigar.size and bases and total != bases:
        return UNEQUAL_CIGAR
    return SOUND


@njit_inlined
def _is_placeholder(cigar: Memory, bases: Integer) -> bool:
    """Tell whether a CIGAR is `<bases>S<reference bases>N`, the placeholder for a CG tag."""
    if cigar.size != 2 * 4:
        return False
    is_clip = read_u32(cigar, 0) == (bases << 4 | SOFT_CLIP)
    return bool(is_clip and read_u32(cigar, 4) & 15 == SKIP)


@njit_inlined
def _fixed_fault(record: Memory, references: Integer) -> Integer:
    """Check the fields of fixed size of a record."""
    for field in (4, 24):
        reference = read_i32(record, field)
        if reference < -1 or reference >= references:
            return BAD_REFERENCE
        if read_i32(record, field + 4) < -1:
            return BAD_POSITION
    return SOUND


@njit
def measure_records(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    first_row: Integer,
    end_row: Integer,
    references: Integer,
) -> tuple[Integer, Integer]:
    """Find and check the parts of records; fill their rows of the layout.

    Parameters
    ----------
    data
        uint8: the buffer.
    layout
        Its `starts` are set; the rows of the records are filled.
    first_row, end_row
        Rows of the records, half-open.
    references
        Number of contigs in the header.

    Returns
    -------
    tuple of int
        The row of the first faulty record and its fault code; -1 and `SOUND` without one.
    """
    memory = memory_of(data)
    for row in range(first_row, end_row):
        at = layout.starts[row]
        record = part_of(memory, at, 4 + read_i32(memory, at))
        end = at + record.size
        name_bytes = read_u8(record, 12)
        operations = read_u16(record, 16)
        bases = read_i32(record, 20)
        cigar = at + FIXED_BYTES + name_bytes
        tags = cigar + 4 * operations + (bases + 1) // 2 + bases
        if bases < 0 or tags > end:
            return row, BAD_LENGTHS
        if name_bytes == 0 or read_u8(memory, cigar - 1) != 0:
            return row, BAD_NAME
        fault = _fixed_fault(record, references)
        if fault != SOUND:
            return row, fault
        long_cigar, fault = _find_long_cigar(memory, tags, end)
        if fault != SOUND:
            return row, fault
        tag_length = end - tags
        tag_start = tags
        if long_cigar >= 0 and _is_placeholder(part_of(memory, cigar, 4 * operations), bases):
            operations = read_i32(memory, long_cigar + 4)
            cigar = long_cigar + 8
            tag_length -= 8 + 4 * operations
        else:
            long_cigar = -1
        fault = _cigar_fault(part_of(memory, cigar, 4 * operations), bases)
        if fault != SOUND:
            return row, fault
        layout.name_lengths[row] = name_bytes - 1
        layout.cigar_lengths[row] = operations
        layout.base_counts[row] = bases
        layout.tag_lengths[row] = tag_length
        layout.cigar_starts[row] = cigar
        layout.tag_starts[row] = tag_start
        layout.long_cigars[row] = long_cigar
    return -1, SOUND


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """n checked records anywhere in an array of bytes.

    Attributes
    ----------
    data
        uint8, read-only.
    layout
        Offsets of the records and their parts.
    """

    data: NDArray[np.uint8]
    layout: RecordLayout

    def __len__(self) -> int:
        return self.layout.starts.size

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[n]: bytes of each record, the `block_size` field included."""
        sizes = np.empty(len(self), dtype=np.int64)
        _read_sizes(self.data, self.layout.starts, sizes)
        return sizes

    @property
    def flags(self) -> NDArray[np.uint16]:
        """uint16[n]: flags of the records."""
        flags = np.empty(len(self), dtype=np.uint16)
        _read_flags(self.data, self.layout.starts, flags)
        return flags

    @property
    def sort_keys(self) -> NDArray[np.int64]:
        """int64[n]: keys that sort by contig and position; records without a contig come last."""
        sort_keys = np.empty(len(self), dtype=np.int64)
        _read_sort_keys(self.data, self.layout.starts, sort_keys)
        return sort_keys

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RecordBlock:
        """Select `rows`, bool[n] as a mask, or int64[r]; the bytes are shared."""
        return RecordBlock(self.data, self.layout.take(rows))

    def packed(self) -> RecordBlock:
        """Return a block whose bytes are its records end to end; itself if it is such a block."""
        sizes = self.sizes
        if sizes.sum() == self.data.size and (np.diff(self.layout.starts) == sizes[:-1]).all():
            return self
        return self.copied()

    def copied(self) -> RecordBlock:
        """Return a block with a copy of the records, end to end, and of their layout."""
        records = Ragged.gather(self.data, self.layout.starts, self.sizes)
        layout = RecordLayout._make(column.copy() for column in self.layout)
        shifts = records.offsets[:-1] - layout.starts
        return RecordBlock(read_only(records.data), layout.shifted(shifts))


@njit
def _read_sizes(data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    memory = memory_of(data)
    for row in range(out.size):
        out[row] = 4 + read_i32(memory, starts[row])


@njit
def _read_flags(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.uint16]
) -> None:
    memory = memory_of(data)
    for row in range(out.size):
        out[row] = read_u16(memory, starts[row] + 18)


@njit
def _read_sort_keys(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    memory = memory_of(data)
    for row in range(out.size):
        record = part_of(memory, starts[row], FIXED_BYTES)
        contig = read_i32(record, 4) & 0xFFFFFFFF  # -1 becomes the largest
        out[row] = contig << 31 | (read_i32(record, 8) + 1) & 0x7FFFFFFF

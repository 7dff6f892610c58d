"""Conversion of BAM records to columns, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer, copy_bytes, load_i32, load_u16, load_u32
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.errors import InputError
from hapgpu.io.bam.constants import FIXED_BYTES, MISSING_QUALITY, NUCLEOTIDES
from hapgpu.io.bam.encode import encode_records
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_buffer import RecordBuffer
from hapgpu.io.bam.record_layout import (
    FAULTS,
    SOUND,
    TOO_LONG,
    RecordLayout,
    measure_records,
    walk_records,
)
from hapgpu.io.files.record_limit import too_long
from hapgpu.runtime.jit import njit
from hapgpu.runtime.pool import Pool

_BYTES_PER_BASE: Final = 8
_NO_LIMIT: Final = 1 << 62
_LETTERS = np.frombuffer(NUCLEOTIDES, dtype=np.uint8).astype(np.uint16)
_BASE_PAIRS = (_LETTERS[:, None] | _LETTERS[None, :] << np.uint16(8)).ravel()
_1 = np.uint64(1)


@njit
def _unpack_bases(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    length: Integer,
    pairs: NDArray[np.uint16],
) -> None:
    start = np.uint64(source)
    to = np.uint64(target)
    for k in range(np.uint64(length // 2)):
        pair = pairs[data[start + k]]
        out[to] = pair & np.uint16(255)
        out[to + _1] = pair >> np.uint16(8)
        to += np.uint64(2)
    if length % 2:
        out[to] = pairs[data[np.uint64(source + length // 2)]] & np.uint16(255)


@njit
def _copy_qualities(
    data: NDArray[np.uint8],
    source: Integer,
    out: NDArray[np.uint8],
    target: Integer,
    length: Integer,
) -> None:
    if length and data[np.uint64(source)] == MISSING_QUALITY:
        for k in range(length):
            out[target + k] = MISSING_QUALITY
    else:
        copy_bytes(data, source, out, target, length)


# Helpers get single arrays: passing them a whole tuple of arrays costs more than their work.
@njit
def _fill_rows(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    start: int,
    end: int,
    columns: ReadColumns,
    pairs: NDArray[np.uint16],
) -> None:
    for row in range(start, end):
        at = layout.starts[row]
        columns.reference_ids[row] = load_i32(data, at + 4)
        columns.positions[row] = load_i32(data, at + 8)
        columns.mapping_qualities[row] = data[np.uint64(at + 13)]
        columns.flags[row] = load_u16(data, at + 18)
        columns.mate_reference_ids[row] = load_i32(data, at + 24)
        columns.mate_positions[row] = load_i32(data, at + 28)
        columns.template_lengths[row] = load_i32(data, at + 32)
        name_to = columns.name_offsets[row]
        copy_bytes(
            data, at + FIXED_BYTES, columns.names, name_to, np.int64(layout.name_lengths[row])
        )
        cigar = layout.cigar_starts[row]
        cigar_to = columns.cigar_offsets[row]
        for k in range(layout.cigar_lengths[row]):
            columns.cigars[cigar_to + k] = load_u32(data, cigar + 4 * k)
        length = np.int64(layout.base_counts[row])
        tags = layout.tag_starts[row]
        packed = tags - length - (length + 1) // 2
        base_to = columns.base_offsets[row]
        _unpack_bases(data, packed, columns.bases, base_to, length, pairs)
        _copy_qualities(data, tags - length, columns.qualities, base_to, length)
        tag_length = np.int64(layout.tag_lengths[row])
        tag_to = columns.tag_offsets[row]
        long_cigar = layout.long_cigars[row]
        before = tag_length if long_cigar < 0 else long_cigar - tags
        copy_bytes(data, tags, columns.tags, tag_to, before)
        cigar_end = cigar + 4 * np.int64(layout.cigar_lengths[row])
        copy_bytes(data, cigar_end, columns.tags, tag_to + before, tag_length - before)


def read_blocks(
    buffer: RecordBuffer,
    references: int,
    batch_bases: int,
    pool: Pool,
    intervals: Intervals | None,
) -> Iterator[RecordBlock]:
    """Read records to the end of the stream; a block is valid until the next is requested.

    Parameters
    ----------
    buffer
        The stream, at its first record.
    references
        Number of contigs in the header.
    batch_bases
        A block ends with the read that reaches this number of bases.
    pool
        Checks slices of a block.
    intervals
        Keep only records that overlap one of these intervals.

    Raises
    ------
    InputError
        A record contradicts itself or the header, or the stream ends within a record.
    """
    done = 0
    while (starts := _next_records(buffer, batch_bases, done)).size:
        window = buffer.window
        layout = _checked(window, starts, references, pool, buffer.name, done)
        done += starts.size
        used = _end_of(window, int(starts[-1]))
        if intervals is not None:
            layout = layout.take(intervals.overlapped(window, layout))
        if layout.starts.size:
            yield RecordBlock(window, layout)
        buffer.drop(used)


def _end_of(window: NDArray[np.uint8], start: int) -> int:
    return start + 4 + int.from_bytes(window[start : start + 4].tobytes(), "little")


def _next_records(buffer: RecordBuffer, batch_bases: int, done: int) -> NDArray[np.int64]:
    """Find the records of the next batch; the window grows until it holds them."""
    found = [np.empty(0, dtype=np.int64)]
    records, bases, at = done, 0, 0
    max_bytes = _BYTES_PER_BASE * batch_bases
    while bases < batch_bases and at < max_bytes:
        window = buffer.window
        starts = np.empty((window.size - at) // FIXED_BYTES + 1, dtype=np.int64)
        walked = walk_records(window, at, batch_bases - bases, max_bytes, buffer.max_record, starts)
        count, added, at, fault = map(int, walked)
        found.append(starts[:count].copy())  # a view would keep all of `starts`
        records += count
        bases += added
        if fault == TOO_LONG:
            raise too_long(f"{buffer.name}, record {records + 1}", buffer.max_record)
        if fault != SOUND:
            raise _fault(buffer.name, records, fault)
        if bases < batch_bases and at < max_bytes and not buffer.extend():
            if at < window.size:
                raise InputError(
                    f"{buffer.name}: truncated (it ends within record {records + 1}); copy it again"
                )
            break
    return np.concatenate(found)


def _checked(
    window: NDArray[np.uint8],
    starts: NDArray[np.int64],
    references: int,
    pool: Pool,
    name: str,
    done: int,
) -> RecordLayout:
    layout = RecordLayout.empty(starts)

    def measure(start: int, end: int) -> tuple[Integer, Integer]:
        return measure_records(window, layout, start, end, references)

    for row, fault in pool.over_rows(measure, starts.size):
        if fault != SOUND:
            raise _fault(name, done + int(row), int(fault))
    return layout


def _fault(name: str, record: int, fault: int) -> InputError:
    return InputError(
        f"{name}, record {record + 1}: damaged ({FAULTS[fault]}); correct or remove the record"
    )


def decode_block(block: RecordBlock, pool: Pool) -> ReadBatch:
    """Convert records to columns, which share no memory with the records."""
    layout = block.layout
    columns = ReadColumns.empty(
        layout.name_lengths, layout.cigar_lengths, layout.base_counts, layout.tag_lengths
    )

    def fill(start: int, end: int) -> None:
        _fill_rows(block.data, layout, start, end, columns, _BASE_PAIRS)

    pool.over_rows(fill, len(block))
    return columns.to_batch()


def encode_block(batch: ReadBatch, header: SamHeader, pool: Pool) -> RecordBlock:
    """Convert columns to records.

    Raises
    ------
    OutputError
        A name is longer than 254 characters, or the header lacks a contig.
    """
    data = encode_records(batch, header, pool)
    return block_of(data, len(header.reference_names), pool, "the output")


def block_of(records: NDArray[np.uint8], references: int, pool: Pool, name: str) -> RecordBlock:
    """Find and check records, uint8, that are stored end to end.

    Parameters
    ----------
    records
        Whole records.
    references
        Number of contigs in the header.
    pool
        Checks slices of the records.
    name
        Name of their file, for messages.

    Raises
    ------
    InputError
        A record contradicts itself or the header.
    """
    data = read_only(records)
    starts = np.empty(data.size // FIXED_BYTES, dtype=np.int64)
    count, *_ = walk_records(data, 0, _NO_LIMIT, _NO_LIMIT, _NO_LIMIT, starts)
    return RecordBlock(data, _checked(data, starts[:count], references, pool, name, 0))

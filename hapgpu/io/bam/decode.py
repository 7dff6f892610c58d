"""Conversion of BAM records to columns."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    copy_at,
    load_i32_at,
    load_u8_at,
    load_u16_at,
    store_8_at,
    store_16_at,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.io.bam.constants import FIXED_BYTES, MISSING_QUALITY, NUCLEOTIDES
from hapgpu.io.bam.record_layout import (
    SOUND,
    RecordBlock,
    RecordLayout,
    measure_records,
    record_fault,
    walk_records,
)
from hapgpu.runtime.jit import njit, njit_inlined
from hapgpu.runtime.pool import Pool

_NO_LIMIT: Final = 1 << 62
_LETTERS = np.frombuffer(NUCLEOTIDES, dtype=np.uint8).astype(np.uint16)
BASE_PAIRS: Final = read_only((_LETTERS[:, None] | _LETTERS[None, :] << np.uint16(8)).ravel())
"""uint16[256]: the two letters of each byte of packed bases."""


@njit_inlined
def unpack_bases(source: Integer, target: Integer, length: Integer, pairs: Integer) -> None:
    """Write the letters of packed bases.

    Parameters
    ----------
    source, target
        Addresses of the packed bases and of the text.
    length
        Number of bases.
    pairs
        Address of `BASE_PAIRS`.
    """
    for k in range(length // 2):
        store_16_at(target + 2 * k, load_u16_at(pairs + 2 * load_u8_at(source + k)))
    if length % 2:
        last = load_u8_at(source + length // 2)
        store_8_at(target + length - 1, load_u8_at(pairs + 2 * last))


@njit_inlined
def _copy_qualities(source: Integer, target: Integer, length: Integer) -> None:
    if length and load_u8_at(source) == MISSING_QUALITY:
        for k in range(length):
            store_8_at(target + k, MISSING_QUALITY)
    else:
        copy_at(target, source, length)


@njit
def _fill_rows(
    data: NDArray[np.uint8],
    layout: RecordLayout,
    start: int,
    end: int,
    columns: ReadColumns,
    pairs: NDArray[np.uint16],
) -> None:
    """Copy the records from `start` to `end` to the columns."""
    base = data.ctypes.data
    names, cigars, tags = columns.names, columns.cigars, columns.tags
    bases, qualities = columns.bases.ctypes.data, columns.qualities.ctypes.data
    for row in range(start, end):
        record = base + layout.starts[row]
        columns.reference_ids[row] = load_i32_at(record + 4)
        columns.positions[row] = load_i32_at(record + 8)
        columns.mapping_qualities[row] = load_u8_at(record + 13)
        columns.flags[row] = load_u16_at(record + 18)
        columns.mate_reference_ids[row] = load_i32_at(record + 24)
        columns.mate_positions[row] = load_i32_at(record + 28)
        columns.template_lengths[row] = load_i32_at(record + 32)
        name_to = names.ctypes.data + columns.name_offsets[row]
        copy_at(name_to, record + FIXED_BYTES, np.int64(layout.name_lengths[row]))
        cigar = base + layout.cigar_starts[row]
        cigar_bytes = 4 * np.int64(layout.cigar_lengths[row])
        copy_at(cigars.ctypes.data + 4 * columns.cigar_offsets[row], cigar, cigar_bytes)
        length = np.int64(layout.base_counts[row])
        first_tag = base + layout.tag_starts[row]
        base_to = columns.base_offsets[row]
        packed = first_tag - length - (length + 1) // 2
        unpack_bases(packed, bases + base_to, length, pairs.ctypes.data)
        _copy_qualities(first_tag - length, qualities + base_to, length)
        tag_length = np.int64(layout.tag_lengths[row])
        tag_to = tags.ctypes.data + columns.tag_offsets[row]
        long_cigar = layout.long_cigars[row]
        if long_cigar < 0:
            copy_at(tag_to, first_tag, tag_length)
        else:
            before = base + long_cigar - first_tag
            copy_at(tag_to, first_tag, before)
            copy_at(tag_to + before, cigar + cigar_bytes, tag_length - before)


def _checked(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    references: int,
    pool: Pool,
) -> RecordLayout:
    layout = RecordLayout.empty(starts)

    def measure(start: int, end: int) -> tuple[Integer, Integer]:
        return measure_records(data, layout, start, end, references)

    for row, fault in pool.over_rows(measure, starts.size):
        if fault != SOUND:
            raise record_fault("the output", int(row), int(fault))
    return layout


def decode_block(block: RecordBlock, pool: Pool) -> ReadBatch:
    """Convert records to columns, which share no memory with the records."""
    layout = block.layout
    columns = ReadColumns.empty(
        layout.name_lengths, layout.cigar_lengths, layout.base_counts, layout.tag_lengths
    )

    def fill(start: int, end: int) -> None:
        _fill_rows(block.data, layout, start, end, columns, BASE_PAIRS)

    pool.over_rows(fill, len(block))
    return columns.to_batch()


def block_of(records: NDArray[np.uint8], references: int, pool: Pool) -> RecordBlock:
    """Find and check the records of an output, uint8, that are stored end to end.

    Parameters
    ----------
    records
        Whole records.
    references
        Number of contigs in the header.
    pool
        Checks slices of the records.

    Raises
    ------
    InputError
        A record contradicts itself or the header.
    """
    data = read_only(records)
    starts = np.empty(data.size // FIXED_BYTES, dtype=np.int64)
    count = int(walk_records(data, 0, _NO_LIMIT, starts)[0])
    return RecordBlock(data, _checked(data, starts[:count].copy(), references, pool))

"""Conversion of BAM records to columns."""

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
    read_i32,
    read_u8,
    read_u16,
    write_8,
    write_16,
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
_REGULAR_LETTERS = np.where(np.isin(_LETTERS, list(b"ACGT")), _LETTERS, np.uint16(ord("N")))


def _pairs_of(letters: NDArray[np.uint16]) -> NDArray[np.uint16]:
    return read_only((letters[:, None] | letters[None, :] << np.uint16(8)).ravel())


BASE_PAIRS: Final = _pairs_of(_LETTERS)
"""uint16[256]: the two letters of each byte of packed bases."""
REGULAR_PAIRS: Final = _pairs_of(_REGULAR_LETTERS)
"""uint16[256]: as `BASE_PAIRS`, with N for letters other than A, C, G and T."""


@njit_inlined
def unpack_bases(packed: Memory, letters: Memory, pairs: Memory) -> None:
    """Write the letters of packed bases.

    Parameters
    ----------
    packed
        The packed bases.
    letters
        Receives a letter for each base.
    pairs
        Memory of `BASE_PAIRS`.
    """
    half = letters.size // 2
    for k in range(half):
        write_16(letters, 2 * k, read_u16(pairs, 2 * read_u8(packed, k)))
    if letters.size % 2:
        write_8(letters, 2 * half, read_u8(pairs, 2 * read_u8(packed, half)))


@njit_inlined
def _copy_qualities(source: Memory, target: Memory) -> None:
    if source.size and read_u8(source, 0) == MISSING_QUALITY:
        for k in range(source.size):
            write_8(target, k, MISSING_QUALITY)
    else:
        copy_memory(target, 0, source, 0, source.size)


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
    memory, pairs_memory = memory_of(data), memory_of(pairs)
    names, cigars, tags = (
        memory_of(columns.names),
        memory_of(columns.cigars),
        memory_of(columns.tags),
    )
    bases, qualities = memory_of(columns.bases), memory_of(columns.qualities)
    for row in range(start, end):
        at = layout.starts[row]
        record = part_of(memory, at, FIXED_BYTES)
        columns.reference_ids[row] = read_i32(record, 4)
        columns.positions[row] = read_i32(record, 8)
        columns.mapping_qualities[row] = read_u8(record, 13)
        columns.flags[row] = read_u16(record, 18)
        columns.mate_reference_ids[row] = read_i32(record, 24)
        columns.mate_positions[row] = read_i32(record, 28)
        columns.template_lengths[row] = read_i32(record, 32)
        name_length = np.int64(layout.name_lengths[row])
        copy_memory(names, columns.name_offsets[row], memory, at + FIXED_BYTES, name_length)
        cigar = layout.cigar_starts[row]
        cigar_bytes = 4 * np.int64(layout.cigar_lengths[row])
        copy_memory(cigars, 4 * columns.cigar_offsets[row], memory, cigar, cigar_bytes)
        length = np.int64(layout.base_counts[row])
        first_tag = layout.tag_starts[row]
        base_to = columns.base_offsets[row]
        packed_bytes = (length + 1) // 2
        packed = part_of(memory, first_tag - length - packed_bytes, packed_bytes)
        unpack_bases(packed, part_of(bases, base_to, length), pairs_memory)
        _copy_qualities(
            part_of(memory, first_tag - length, length), part_of(qualities, base_to, length)
        )
        tag_length = np.int64(layout.tag_lengths[row])
        tag_to = columns.tag_offsets[row]
        long_cigar = layout.long_cigars[row]
        if long_cigar < 0:
            copy_memory(tags, tag_to, memory, first_tag, tag_length)
        else:
            before = long_cigar - first_tag
            copy_memory(tags, tag_to, memory, first_tag, before)
            copy_memory(tags, tag_to + before, memory, cigar + cigar_bytes, tag_length - before)


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


def decode_block(
    block: RecordBlock, pool: Pool, pairs: NDArray[np.uint16] = BASE_PAIRS
) -> ReadBatch:
    """Convert records to columns, which share no memory with the records.

    `pairs`, uint16[256], is `BASE_PAIRS` or `REGULAR_PAIRS`.
    """
    layout = block.layout
    columns = ReadColumns.empty(
        layout.name_lengths, layout.cigar_lengths, layout.base_counts, layout.tag_lengths
    )

    def fill(start: int, end: int) -> None:
        _fill_rows(block.data, layout, start, end, columns, pairs)

    pool.over_rows(fill, len(block))
    return columns.to_batch()


def block_of(records: NDArray[np.uint8], references: int, pool: Pool) -> RecordBlock:
    """Find and check the records of an output that are stored end to end.

    Parameters
    ----------
    records
        uint8: whole records.
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

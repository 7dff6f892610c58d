"""Order of the reads of active regions, as in GATK, and which of them have one name.

Only reads with one start and strand are compared by name, so no order of all reads is needed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_64, read_i32, read_u8, read_u16
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, columns_of, read_only
from hapgpu.calling.reads.clipping import MATE_UNMAPPED, PAIRED, REVERSE
from hapgpu.runtime.jit import njit, njit_inlined

_RUN: Final = 8
"""Rows that are sorted by insertion."""
_WORD: Final = 8
_HASH_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_HASH_SHIFT: Final = np.uint64(32)


class ReadFields(NamedTuple):
    """Columns of a `ReadBatch` that order reads, for compiled functions."""

    names: RaggedView
    flags: NDArray[np.uint16]
    mapping_qualities: NDArray[np.uint8]
    mate_reference_ids: NDArray[np.int32]
    mate_positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]


class FieldsMemory(NamedTuple):
    """Bytes of the columns of `ReadFields`, whose caller holds them."""

    names: RaggedMemory
    flags: Memory
    mapping_qualities: Memory
    mate_reference_ids: Memory
    mate_positions: Memory
    template_lengths: Memory


@njit_inlined
def fields_memory_of(fields: ReadFields) -> FieldsMemory:
    """Return the bytes of columns; the caller holds them."""
    return FieldsMemory(
        ragged_memory_of(fields.names),
        memory_of(fields.flags),
        memory_of(fields.mapping_qualities),
        memory_of(fields.mate_reference_ids),
        memory_of(fields.mate_positions),
        memory_of(fields.template_lengths),
    )


@njit_inlined
def has_mate(fields: FieldsMemory, row: Integer) -> bool:
    """Tell whether a read is paired, and its mate has a position; as `has_mapped_mate`."""
    flags = read_u16(fields.flags, 2 * row)
    is_paired = flags & PAIRED != 0 and flags & MATE_UNMAPPED == 0
    has_contig = read_i32(fields.mate_reference_ids, 4 * row) >= 0
    return bool(is_paired and has_contig and read_i32(fields.mate_positions, 4 * row) >= 0)


def sorted_reads(
    reads: ReadBatch,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    *,
    min_bases: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the clipped reads of active regions as GATK's ReadCoordinateComparator does.

    By start, forward before reverse reads, then by name (bytes), flags, MAPQ, mate and template
    length. Records that are equal keep their order.

    Parameters
    ----------
    reads
        n reads.
    rows, starts, lengths
        int64[p]: the read of each clipped read, its start on the reference, and its bases.
    offsets
        int64[r + 1]: active region k has the clipped reads `offsets[k]` to `offsets[k + 1]`.
    min_bases
        Clipped reads with fewer bases are dropped.

    Returns
    -------
    int64[k], the clipped reads that are kept, region by region; and int64[r + 1], their offsets.
    """
    order = np.empty(rows.size, dtype=np.int64)
    kept_offsets = np.zeros(offsets.size, dtype=np.int64)
    columns = read_only(rows), read_only(starts), read_only(lengths), read_only(offsets)
    scratch = np.empty((2, rows.size), dtype=np.int64)
    _sort(columns_of(ReadFields, reads), *columns, min_bases, scratch, order, kept_offsets)
    return order[: kept_offsets[-1]], kept_offsets


class _Sorted(NamedTuple):
    """What is sorted: of each clipped read, its read, and start and strand in one key."""

    fields: FieldsMemory
    rows: Memory
    keys: Memory


@njit
def _sort(
    fields: ReadFields,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    min_bases: int,
    scratch: NDArray[np.int64],
    order: NDArray[np.int64],
    kept_offsets: NDArray[np.int64],
) -> None:
    """Fill in the clipped reads that are kept, sorted, and their offsets.

    `scratch`, int64[2, p], is of the caller, because Numba frees an array after its last use.
    """
    keys = scratch[0]
    what = _Sorted(fields_memory_of(fields), memory_of(rows), memory_of(keys))
    count = 0
    for region in range(offsets.size - 1):
        first = count
        for k in range(offsets[region], offsets[region + 1]):
            if lengths[k] >= min_bases:
                is_reverse = np.int64(fields.flags[rows[k]]) & REVERSE != 0
                keys[k] = starts[k] << 1 | is_reverse
                order[count] = k
                count += 1
        _sort_part(what, order[first:count], scratch[1])
        kept_offsets[region + 1] = count


@njit
def _sort_part(what: _Sorted, order: NDArray[np.int64], scratch: NDArray[np.int64]) -> None:
    """Sort by merging, in place; clipped reads are nearly sorted, so most merges are not done."""
    for low in range(0, order.size, _RUN):
        for k in range(low + 1, min(low + _RUN, order.size)):
            row, to = order[k], k
            while to > low and _precedes(what, row, order[to - 1]):
                order[to] = order[to - 1]
                to -= 1
            order[to] = row
    width = _RUN
    while width < order.size:
        for low in range(0, order.size - width, 2 * width):
            middle, high = low + width, min(low + 2 * width, order.size)
            if _precedes(what, order[middle], order[middle - 1]):
                _merge(what, order[low:high], width, scratch)
        width *= 2


@njit
def _merge(
    what: _Sorted, order: NDArray[np.int64], middle: Integer, scratch: NDArray[np.int64]
) -> None:
    """Merge two sorted parts, the first of `middle` rows."""
    for k in range(middle):
        scratch[k] = order[k]
    left, right = 0, middle
    for to in range(order.size):
        if left == middle:
            break
        if right < order.size and _precedes(what, order[right], scratch[left]):
            order[to] = order[right]
            right += 1
        else:
            order[to] = scratch[left]
            left += 1


@njit
def _precedes(what: _Sorted, one: Integer, other: Integer) -> bool:
    """Tell whether a clipped read is before another one."""
    difference = read_64(what.keys, 8 * one) - read_64(what.keys, 8 * other)
    if difference != 0:
        return bool(difference < 0)
    row, other_row = read_64(what.rows, 8 * one), read_64(what.rows, 8 * other)
    difference = _compared(what.fields, row, other_row)
    return bool(difference < 0 or (difference == 0 and row < other_row))


@njit
def _compared(fields: FieldsMemory, one: Integer, other: Integer) -> Integer:
    """Return a negative number if a read of the same strand is before another one, 0 if equal."""
    difference = _compared_names(
        row_memory(fields.names, one, 1), row_memory(fields.names, other, 1)
    )
    if difference != 0:
        return difference
    difference = read_u16(fields.flags, 2 * one) - read_u16(fields.flags, 2 * other)
    if difference != 0:
        return difference
    qualities = fields.mapping_qualities
    difference = read_u8(qualities, one) - read_u8(qualities, other)
    if difference != 0:
        return difference
    for column in (fields.mate_reference_ids, fields.mate_positions):
        mate = read_i32(column, 4 * one) if has_mate(fields, one) else np.int64(-1)
        other_mate = read_i32(column, 4 * other) if has_mate(fields, other) else np.int64(-1)
        if mate != other_mate:
            return mate - other_mate
    lengths = fields.template_lengths
    return read_i32(lengths, 4 * one) - read_i32(lengths, 4 * other)


@njit_inlined
def _compared_names(one: Memory, other: Memory) -> Integer:
    """Return a negative number if a name is before another one, 0 if they are equal."""
    shared, at = min(one.size, other.size), np.int64(0)
    while at + _WORD <= shared and read_64(one, at) == read_64(other, at):
        at += _WORD
    while at < shared:
        difference = read_u8(one, at) - read_u8(other, at)
        if difference != 0:
            return difference
        at += 1
    return one.size - other.size


@njit_inlined
def _hash_of_name(name: Memory) -> Integer:
    """Return uint64: a hash of a name whose upper half depends on all of its bytes."""
    value, at = np.uint64(name.size), np.int64(0)
    while at + _WORD <= name.size:
        value = (value ^ np.uint64(read_64(name, at))) * _HASH_FACTOR
        value ^= value >> _HASH_SHIFT
        at += _WORD
    while at < name.size:
        value = (value ^ np.uint64(read_u8(name, at))) * _HASH_FACTOR
        at += 1
    return value ^ (value >> _HASH_SHIFT)


def fragments_of(
    reads: ReadBatch, samples: NDArray[np.int32], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return int64[n]: the first read of `rows` that has the name and sample of each of them.

    Parameters
    ----------
    reads, samples
        n reads, and int32[n], the sample of each.
    rows
        int64[r]: the reads that are asked for; others get 0.
    """
    fragments = np.zeros(len(reads), dtype=np.int64)
    _find_first(columns_of(ReadFields, reads), read_only(samples), read_only(rows), fragments)
    return fragments


@njit
def _find_first(
    fields: ReadFields,
    samples: NDArray[np.int32],
    rows: NDArray[np.int64],
    fragments: NDArray[np.int64],
) -> None:
    """Fill in the first read of each fragment."""
    names, sample_memory = ragged_memory_of(fields.names), memory_of(samples)
    table = np.full(table_size(rows.size), -1, dtype=np.int64)
    for k in range(rows.size):
        slot = slot_of(memory_of(table), names, sample_memory, rows[k])
        if table[slot] < 0:
            table[slot] = rows[k]
        fragments[rows[k]] = table[slot]


@njit_inlined
def table_size(reads: Integer) -> Integer:
    """Return the size of a table for the fragments of so many reads: a power of 2."""
    size = np.int64(4)
    while size < 2 * reads:
        size *= 2
    return size


@njit_inlined
def slot_of(table: Memory, names: RaggedMemory, samples: Memory, row: Integer) -> Integer:
    """Return the slot of the fragment of a read, by its name and sample.

    Parameters
    ----------
    table
        int64[s], s a power of 2: a read of each fragment so far, -1 in empty slots; not full.
    names, samples
        Names of reads, and their samples, int32.
    row
        The read.
    """
    name, sample = row_memory(names, row, 1), read_i32(samples, 4 * row)
    last = table.size // 8 - 1
    slot = np.int64(_hash_of_name(name) >> _HASH_SHIFT) & last
    while True:
        other = read_64(table, 8 * slot)
        if other < 0:
            return slot
        is_sample = read_i32(samples, 4 * other) == sample
        if is_sample and _compared_names(name, row_memory(names, other, 1)) == 0:
            return slot
        slot = (slot + 1) & last

"""CIGARs of mappings: their place in memory, text, the tag CG, matches split into = and X.

Also runs of equal codes of bases, and codes to letters, in words of many bases.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_64,
    read_u8,
    read_u32,
    write_8,
    write_64,
)
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, OPERATIONS
from hapgpu.io.text.builder import has_room, put_byte, put_count
from hapgpu.longread.align.batches import Row
from hapgpu.longread.output.rows import LineRows
from hapgpu.runtime.jit import njit, njit_inlined

OPERATION_BYTES: Final = 4
_LETTERS: Final = np.frombuffer(OPERATIONS.encode(), dtype=np.uint8)
_COMMA: Final = ord(",")


class AlignmentMemory(NamedTuple):
    """Operations (uint32) of all mappings, and codes of all reads and reference sequences."""

    operations: Memory
    reads: Memory
    targets: Memory


class Alignment(NamedTuple):
    """Memory of an alignment.

    Attributes
    ----------
    operations, operation_count
        The operations, and their number.
    query, target
        Codes of the aligned bases; the read's are on the strand of the mapping.
    """

    operations: Memory
    operation_count: Integer
    query: Memory
    target: Memory


@njit_inlined
def alignment_memory(rows: LineRows) -> AlignmentMemory:
    """Return the memory of rows; the caller holds them."""
    return AlignmentMemory(
        memory_of(rows.operations), memory_of(rows.read_codes), memory_of(rows.target_codes)
    )


@njit_inlined
def alignment_of(mapping: Row, read: Row, target: Row, memory: AlignmentMemory) -> Alignment:
    """Return the alignment of a mapping, with the rows of its read and reference sequence."""
    count, start, end = mapping.operations, mapping.query_start, mapping.query_end
    query = read.codes + np.int64(start)
    if mapping.is_reverse:
        query = read.codes + 2 * read.length - np.int64(end)
    first = OPERATION_BYTES * mapping.first_operation
    return Alignment(
        part_of(memory.operations, first, OPERATION_BYTES * np.int64(count)),
        np.int64(count),
        part_of(memory.reads, query, np.int64(end) - start),
        part_of(
            memory.targets,
            target.codes + np.int64(mapping.target_start),
            np.int64(mapping.target_end) - mapping.target_start,
        ),
    )


@njit_inlined
def operation_at(alignment: Alignment, k: Integer) -> tuple[Integer, Integer]:
    """Return length and code of an operation."""
    word = read_u32(alignment.operations, OPERATION_BYTES * k)
    return word >> 4, word & 15


@njit_inlined
def put_operation(text: Memory, at: Integer, length: Integer, operation: Integer) -> Integer:
    """Write the length and the letter of an operation."""
    return put_byte(text, put_count(text, at, np.int64(length)), _LETTERS[operation])


@njit
def put_operations(text: Memory, at: Integer, alignment: Alignment) -> Integer:
    """Write the operations of an alignment as text."""
    for k in range(alignment.operation_count):
        length, operation = operation_at(alignment, k)
        at = put_operation(text, at, length, operation)
    return at


@njit_inlined
def put_element(text: Memory, at: Integer, word: Integer) -> Integer:
    """Write a comma and an operation as a number."""
    return put_count(text, put_byte(text, at, _COMMA), np.int64(word))


@njit
def put_elements(text: Memory, at: Integer, alignment: Alignment) -> Integer:
    """Write the operations of an alignment as numbers, each after a comma."""
    for k in range(alignment.operation_count):
        at = put_element(text, at, read_u32(alignment.operations, OPERATION_BYTES * k))
    return at


def split_matches(rows: LineRows) -> LineRows:
    """Split the operations M of mappings into = and X."""
    mappings = rows.mappings.copy()
    counts = np.zeros(mappings.size, dtype=np.int64)
    _split(rows, counts, np.empty(0, dtype=np.uint32))
    operations = np.empty(counts.sum(), dtype=np.uint32)
    _split(rows, counts, operations)
    mappings["operations"] = counts
    mappings["first_operation"] = np.cumsum(counts) - counts
    return rows._replace(mappings=read_only(mappings), operations=read_only(operations))


@njit
def _split(rows: LineRows, counts: NDArray[np.int64], out: NDArray[np.uint32]) -> None:
    """Count the split operations of each mapping and, if there is room, write them."""
    mappings, memory = rows.mappings, alignment_memory(rows)
    at = np.int64(0)
    for row in range(mappings.size):
        mapping = mappings[row]
        read, target_row = rows.reads[mapping.read], rows.targets[mapping.sequence]
        alignment = alignment_of(mapping, read, target_row, memory)
        query, target, start = np.int64(0), np.int64(0), at
        for k in range(alignment.operation_count):
            length, operation = operation_at(alignment, k)
            if operation != MATCH:
                if out.size:
                    out[at] = length << 4 | operation
                at += 1
                query += length if operation == INSERTION else 0
                target += length if operation == DELETION else 0
                continue
            end, split = query + length, EQUAL
            while query < end:
                ahead = alignment.query, query, alignment.target, target, end - query
                run = match_length(*ahead) if split == EQUAL else mismatch_length(*ahead)
                if run:
                    if out.size:
                        out[at] = run << 4 | split
                    at += 1
                query += run
                target += run
                split = DIFFERENT if split == EQUAL else EQUAL
        counts[row] = at - start


WORD: Final = 8
_STEP: Final = 2 * WORD
_BASES: Final = np.frombuffer(b"ACGTN", dtype=np.uint8)

# Sums, in each byte, of 'A' and the differences of the letters of codes with each bit set:
# A + 2 = C, A + 6 = G, A + 2 + 6 + 11 = T, A + 13 = N.
_ONES: Final = np.uint64(0x0101010101010101)
_A: Final = _ONES * np.uint64(ord("A"))
_C_BIT, _G_BIT, _T_BITS, _N_BIT = map(np.uint64, (2, 6, 11, 13))
_LOWER: Final = np.uint64(ord("a") - ord("A"))
_1, _2, _3, _0 = map(np.uint64, (1, 2, 3, 0))

UPPER_CASE: Final = np.uint64(0)
LOWER_CASE: Final = _ONES * _LOWER
"""What `put_letters` adds to each of eight letters."""


@njit
def match_length(
    one: Memory, start: Integer, other: Memory, other_start: Integer, length: Integer
) -> Integer:
    """Return the number of equal bytes from two offsets on, before the first difference."""
    room = min(one.size - start, other.size - other_start)
    last_step = min(room - _STEP, length - 1)
    same: Integer = np.int64(0)
    while same <= last_step:
        at, to = start + same, other_start + same
        first = np.uint64(read_64(one, at) ^ read_64(other, to))
        second = np.uint64(read_64(one, at + WORD) ^ read_64(other, to + WORD))
        if first | second:
            bits = trailing_zeros(first) + (trailing_zeros(second) if first == 0 else _0)
            same += np.int64(bits >> _3)
            return min(same, length)
        same += _STEP
    while same < length and read_u8(one, start + same) == read_u8(other, other_start + same):
        same += 1
    return min(same, length)


@njit
def mismatch_length(
    one: Memory, start: Integer, other: Memory, other_start: Integer, length: Integer
) -> Integer:
    """Return the number of different bytes from two offsets on, before the first equal one."""
    count: Integer = np.int64(0)
    while count < length and read_u8(one, start + count) != read_u8(other, other_start + count):
        count += 1
    return count


@njit
def backward_match_length(codes: Memory, one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two offsets and before, up to a difference."""
    same: Integer = np.int64(0)
    while same < length and read_u8(codes, one - same) == read_u8(codes, other - same):
        same += 1
    return same


@njit_inlined
def put_letters(
    text: Memory, at: Integer, codes: Memory, start: Integer, length: Integer, case: Integer
) -> Integer:
    """Write the letters of codes.

    Parameters
    ----------
    text, at
        Where to write.
    codes, start, length
        Memory of the codes, where in it they start, and how many they are.
    case
        `UPPER_CASE` or `LOWER_CASE`.
    """
    end = at + length
    if not has_room(text, end):
        return end
    for k in range(0, length, WORD):
        if start + k + WORD <= codes.size:
            word = np.uint64(read_64(codes, start + k))
            low, high, other = word & _ONES, word >> _1 & _ONES, word >> _2 & _ONES
            letters = low * _C_BIT + high * _G_BIT + (low & high) * _T_BITS + other * _N_BIT
            write_64(text, at + k, np.int64(letters + _A + case))
        else:
            for i in range(k, length):
                letter = _BASES[read_u8(codes, start + i)] + (case & np.uint64(255))
                write_8(text, at + i, np.int64(letter))
            break
    return end

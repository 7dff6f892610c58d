"""CIGARs of mappings: their place in memory, text, the tag CG, matches split into = and X.

Also runs of equal codes of bases, and codes to letters, in words of many bases. Positions of
functions are addresses; see `hapgpu.io.text.at_addresses`. Words may lie partly behind the last
code that counts, in memory of other use, but never in another page of memory, which may not exist.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bits import load_u64, trailing_zeros
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u8_at, load_u32_at, store_8_at, store_64_at
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, OPERATIONS
from hapgpu.io.text.at_addresses import put_byte, put_count_at
from hapgpu.longread.align.batches import Row
from hapgpu.longread.output.rows import LineRows
from hapgpu.runtime.jit import njit, njit_inlined

OPERATION_BYTES: Final = 4
_LETTERS: Final = np.frombuffer(OPERATIONS.encode(), dtype=np.uint8)
_COMMA: Final = ord(",")


class Alignment(NamedTuple):
    """Addresses of an alignment.

    Attributes
    ----------
    operations, operation_count
        Address of the operations, and their number.
    query, target
        Codes of the first aligned bases; the read's are on the strand of the mapping.
    """

    operations: Integer
    operation_count: Integer
    query: Integer
    target: Integer


@njit_inlined
def alignment_of(mapping: Row, operations: Integer, read: Row, target: Row) -> Alignment:
    """Return the alignment of a mapping, with the rows of its read and reference sequence."""
    query = read.codes + np.int64(mapping.query_start)
    if mapping.is_reverse:
        query = read.codes + 2 * read.length - np.int64(mapping.query_end)
    return Alignment(
        operations + OPERATION_BYTES * mapping.first_operation,
        np.int64(mapping.operations),
        query,
        target.codes + np.int64(mapping.target_start),
    )


@njit_inlined
def put_operation(at: Integer, length: Integer, operation: Integer) -> Integer:
    """Write the length and the letter of an operation."""
    return put_byte(put_count_at(at, np.int64(length)), _LETTERS[operation])


@njit
def put_operations(at: Integer, operations: Integer, count: Integer) -> Integer:
    """Write operations at an address as text."""
    for k in range(count):
        word = load_u32_at(operations + OPERATION_BYTES * k)
        at = put_operation(at, word >> 4, word & 15)
    return at


@njit_inlined
def put_element(at: Integer, word: Integer) -> Integer:
    """Write a comma and an operation as a number."""
    return put_count_at(put_byte(at, _COMMA), np.int64(word))


@njit
def put_elements(at: Integer, operations: Integer, count: Integer) -> Integer:
    """Write operations at an address as numbers, each after a comma."""
    for k in range(count):
        at = put_element(at, load_u32_at(operations + OPERATION_BYTES * k))
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
    mappings, operations = rows.mappings, rows.operations.ctypes.data
    at = np.int64(0)
    for row in range(mappings.size):
        mapping = mappings[row]
        read, target = rows.reads[mapping.read], rows.targets[mapping.sequence]
        alignment = alignment_of(mapping, operations, read, target)
        query, target, start = alignment.query, alignment.target, at
        for k in range(alignment.operation_count):
            word = load_u32_at(alignment.operations + OPERATION_BYTES * k)
            length, operation = word >> 4, word & 15
            if operation != MATCH:
                if out.size:
                    out[at] = word
                at += 1
                query += length if operation == INSERTION else 0
                target += length if operation == DELETION else 0
                continue
            end = query + length
            while query < end:
                split, run = EQUAL, match_length(query, target, end - query)
                if run == 0:
                    split, run = DIFFERENT, mismatch_length(query, target, end - query)
                if out.size:
                    out[at] = run << 4 | split
                at += 1
                query += run
                target += run
        counts[row] = at - start


WORD: Final = 8
_STEP: Final = 2 * WORD
_PAGE: Final = 4096
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


@njit_inlined
def _is_in_page(at: Integer, size: Integer) -> bool:
    """Tell whether bytes lie in one page."""
    return bool((np.int64(at) & (_PAGE - 1)) <= _PAGE - size)


@njit
def match_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two addresses before the first difference."""
    same: Integer = np.int64(0)
    while same < length:
        if not (_is_in_page(one + same, _STEP) and _is_in_page(other + same, _STEP)):
            step = min(np.int64(_STEP), length - same)
            for _ in range(step):
                if load_u8_at(one + same) != load_u8_at(other + same):
                    return same
                same += 1
            continue
        first = load_u64(one + same) ^ load_u64(other + same)
        second = load_u64(one + same + WORD) ^ load_u64(other + same + WORD)
        if first | second:
            bits = trailing_zeros(first) + (trailing_zeros(second) if first == 0 else _0)
            same += np.int64(bits >> _3)
            return min(same, length)
        same += _STEP
    return length


@njit
def mismatch_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of different bytes at two addresses before the first equal one."""
    count: Integer = np.int64(0)
    while count < length and load_u8_at(one + count) != load_u8_at(other + count):
        count += 1
    return count


@njit
def backward_match_length(one: Integer, other: Integer, length: Integer) -> Integer:
    """Return the number of equal bytes at two addresses and before, up to a difference."""
    same: Integer = np.int64(0)
    while same < length and load_u8_at(one - same) == load_u8_at(other - same):
        same += 1
    return same


@njit_inlined
def put_letters(at: Integer, codes: Integer, length: Integer, case: Integer) -> Integer:
    """Write the letters of codes; there must be room for `WORD` bytes more.

    Parameters
    ----------
    at
        Where to write.
    codes, length
        Where the codes are, and how many.
    case
        `UPPER_CASE` or `LOWER_CASE`.
    """
    for k in range(0, length, WORD):
        if _is_in_page(codes + k, WORD):
            word = load_u64(codes + k)
            low, high, other = word & _ONES, word >> _1 & _ONES, word >> _2 & _ONES
            letters = low * _C_BIT + high * _G_BIT + (low & high) * _T_BITS + other * _N_BIT
            store_64_at(at + k, np.int64(letters + _A + case))
        else:
            for i in range(k, min(k + WORD, length)):
                letter = _BASES[load_u8_at(codes + i)] + (case & np.uint64(255))
                store_8_at(at + i, np.int64(letter))
    return at + length

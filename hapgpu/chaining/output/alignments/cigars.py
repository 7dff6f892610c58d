"""CIGARs of mappings: their place in memory, text, the tag CG, matches split into = and X.

Positions of `put` functions are addresses; see `hapgpu.io.text.at_addresses`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import load_u32_at
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.output.alignments.matches import match_length, mismatch_length
from hapgpu.chaining.output.alignments.rows import MappingRows
from hapgpu.cigar.encoding import DELETION, DIFFERENT, EQUAL, INSERTION, MATCH, OPERATIONS
from hapgpu.io.text.at_addresses import put_byte, put_count_at
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
def alignment_of(mapping: Any, operations: Integer, read: Any, target: Any) -> Alignment:
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


def split_matches(
    rows: MappingRows, reads: NDArray[np.void], targets: NDArray[np.void]
) -> MappingRows:
    """Split the operations M of mappings into = and X.

    Parameters
    ----------
    rows
        Mappings with operations M, I and D.
    reads, targets
        Rows of reads and of reference sequences.
    """
    mappings = rows.mappings.copy()
    counts = np.zeros(mappings.size, dtype=np.int64)
    _split(rows, reads, targets, counts, np.empty(0, dtype=np.uint32))
    operations = np.empty(counts.sum(), dtype=np.uint32)
    _split(rows, reads, targets, counts, operations)
    mappings["operations"] = counts
    mappings["first_operation"] = np.cumsum(counts) - counts
    return MappingRows(read_only(mappings), read_only(operations), rows.offsets)


@njit
def _split(
    rows: MappingRows,
    reads: NDArray[np.void],
    targets: NDArray[np.void],
    counts: NDArray[np.int64],
    out: NDArray[np.uint32],
) -> None:
    """Count the split operations of each mapping and, if there is room, write them."""
    mappings, operations = rows.mappings, rows.operations.ctypes.data
    at = np.int64(0)
    for row in range(mappings.size):
        mapping = mappings[row]
        alignment = alignment_of(
            mapping, operations, reads[mapping.read], targets[mapping.sequence]
        )
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

"""Groups of pairs whose cells have losses, a pair per lane: what all fills of them share.

Cells after the end of the sequences of a lane hold any number: no cell of its matrix depends on
them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    read_64,
    read_u8,
    read_u16,
    write_8,
    write_16,
    write_64,
)
from hapgpu.arrays.ragged_memory import RaggedMemory, row_memory
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.arrays.vectors import LANES, Vector, spread_byte, spread_word
from hapgpu.realign.align.losses import Diagonals, Losses
from hapgpu.runtime.jit import njit_inlined

LENGTHS_BYTES: Final = np.int64(16 * LANES)
"""Bytes of the lengths of a group: int64[2, LANES], rows and columns."""

_MANY: Final = np.int64(1 << 62)
_BYTE: Final = np.uint64(255)
_BYTE_BITS: Final = np.uint64(8)
_FIELD: Final = np.int64(8 * LANES)


class LossPairs(NamedTuple):
    """Columns of n pairs, for compiled code, and the rows of those to fill.

    Attributes
    ----------
    references, queries
        Their sequences, uint8.
    reference_index, query_index
        int32[n].
    diagonals
        The diagonals to fill.
    order
        int64[k].
    """

    references: RaggedView
    queries: RaggedView
    reference_index: NDArray[np.int32]
    query_index: NDArray[np.int32]
    diagonals: Diagonals
    order: NDArray[np.int64]


class Steps(NamedTuple):
    """`Losses` in every lane, with the loss of cells that no path reaches, 0 and 1."""

    match: Vector
    mismatch: Vector
    deletion_open: Vector
    deletion_extend: Vector
    insertion_open: Vector
    insertion_extend: Vector
    unreachable: Vector
    zero: Vector
    one: Vector


class Group(NamedTuple):
    """Pairs of a group, and the size and the diagonals that hold all of their matrices."""

    pairs: Integer
    rows: Integer
    columns: Integer
    min_rows: Integer
    min_columns: Integer
    lowest: Integer
    highest: Integer


def loss_pairs(pairs: PairBatch, diagonals: Diagonals, order: NDArray[np.int64]) -> LossPairs:
    """Return n pairs for compiled code, of which those in `order`, int64[k], are filled."""
    return LossPairs(
        view_of(pairs.references),
        view_of(pairs.queries),
        read_only(pairs.reference_index),
        read_only(pairs.query_index),
        diagonals,
        order,
    )


@njit_inlined
def steps_of_bytes(losses: Losses) -> Steps:
    """Return losses by one step as bytes."""
    top = np.int64(255)
    return Steps(
        spread_byte(min(losses.match, top)),
        spread_byte(min(losses.mismatch, top)),
        spread_byte(min(losses.deletion_open, top)),
        spread_byte(min(losses.deletion_extend, top)),
        spread_byte(min(losses.insertion_open, top)),
        spread_byte(min(losses.insertion_extend, top)),
        spread_byte(top),
        spread_byte(np.int64(0)),
        spread_byte(np.int64(1)),
    )


@njit_inlined
def steps_of_words(losses: Losses) -> Steps:
    """Return losses by one step as 16-bit words."""
    top = np.int64(65_535)
    return Steps(
        spread_word(min(losses.match, top)),
        spread_word(min(losses.mismatch, top)),
        spread_word(min(losses.deletion_open, top)),
        spread_word(min(losses.deletion_extend, top)),
        spread_word(min(losses.insertion_open, top)),
        spread_word(min(losses.insertion_extend, top)),
        spread_word(top),
        spread_word(np.int64(0)),
        spread_word(np.int64(1)),
    )


@njit_inlined
def group_of(
    references: RaggedMemory, queries: RaggedMemory, pairs: LossPairs, start: int
) -> Group:
    """Return the group of the pairs from `start` of the order on."""
    count: Integer = np.int64(min(LANES, pairs.order.size - start))
    rows: Integer = np.int64(0)
    columns: Integer = np.int64(0)
    min_rows: Integer = _MANY
    min_columns: Integer = _MANY
    lowest: Integer = _MANY
    highest: Integer = -_MANY
    for lane in range(count):
        pair = pairs.order[start + lane]
        reference = row_memory(references, pairs.reference_index[pair], 1)
        query = row_memory(queries, pairs.query_index[pair], 1)
        rows, min_rows = max(rows, reference.size), min(min_rows, reference.size)
        columns, min_columns = max(columns, query.size), min(min_columns, query.size)
        lowest = min(lowest, pairs.diagonals.lowest[pair])
        highest = max(highest, pairs.diagonals.highest[pair])
    return Group(count, rows, columns, min_rows, min_columns, lowest, highest)


@njit_inlined
def pack_group(
    references: RaggedMemory,
    queries: RaggedMemory,
    pairs: LossPairs,
    start: int,
    lanes: tuple[Memory, Memory, Memory],
    width: Integer,
) -> None:
    """Write references, queries and lengths of a group into three memories."""
    for lane in range(min(LANES, pairs.order.size - start)):
        pair = pairs.order[start + lane]
        reference = row_memory(references, pairs.reference_index[pair], 1)
        query = row_memory(queries, pairs.query_index[pair], 1)
        _pack(reference, lanes[0], np.int64(lane), width)
        _pack(query, lanes[1], np.int64(lane), width)
        write_64(lanes[2], 8 * np.int64(lane), reference.size)
        write_64(lanes[2], _FIELD + 8 * np.int64(lane), query.size)


@njit_inlined
def rows_of(lengths: Memory, lane: Integer) -> Integer:
    """Return the number of rows of a lane."""
    return read_64(lengths, 8 * lane)


@njit_inlined
def columns_of(lengths: Memory, lane: Integer) -> Integer:
    """Return the number of columns of a lane."""
    return read_64(lengths, _FIELD + 8 * lane)


@njit_inlined
def _pack(sequence: Memory, lanes: Memory, lane: Integer, width: Integer) -> None:
    """Write a sequence into its lane, a word at a time: single loads would become slow scatters."""
    done = np.int64(0)
    while done + 8 <= sequence.size:
        word = np.uint64(read_64(sequence, done))
        for k in range(8):
            write_number(lanes, (done + k) * LANES + lane, np.int64(word & _BYTE), width)
            word >>= _BYTE_BITS
        done += 8
    while done < sequence.size:
        write_number(lanes, done * LANES + lane, read_u8(sequence, done), width)
        done += 1


@njit_inlined
def read_number(memory: Memory, index: Integer, width: Integer) -> Integer:
    """Return the number at `index` of numbers of 1 or 2 bytes."""
    return read_u8(memory, index) if width == 1 else read_u16(memory, 2 * index)


@njit_inlined
def write_number(memory: Memory, index: Integer, value: Integer, width: Integer) -> None:
    """Write the number at `index` of numbers of 1 or 2 bytes."""
    if width == 1:
        write_8(memory, index, value)
    else:
        write_16(memory, 2 * index, value)

"""Scores and end cells of the best alignments, 32 pairs side by side, without directions.

The cells have losses, see `losses`. Sums saturate: the loss of an alignment is exact if it is less
than the largest number, since no cell before its end loses more. Gaps are kept without the loss of
their first base: D' = min(C above, D' above + extend), and likewise for insertions.

Each lane is a pair. Cells after the end of its sequences hold any number: no cell of its matrix
depends on them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import (
    Memory,
    memory_of,
    part_of,
    read_64,
    read_u8,
    read_u16,
    write_8,
    write_16,
    write_64,
)
from hapgpu.arrays.ragged_memory import RaggedMemory, ragged_memory_of, row_memory
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.arrays.vectors import (
    LANES,
    Vector,
    load_like,
    saturated_sum,
    smaller_unsigned,
    spread_byte,
    spread_word,
    store_vector,
    where_different,
)
from hapgpu.realign.align.losses import UNKNOWN, Diagonals, EndCells, Losses, losses_of
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.jit import njit, njit_inlined

_UNKNOWN: Final = np.int64(UNKNOWN)
_MANY: Final = np.int64(1 << 62)
_BYTE: Final = np.uint64(255)
_BYTE_BITS: Final = np.uint64(8)
_FIELD: Final = 8 * LANES
"""Bytes of an int64 per lane."""


class _Pairs(NamedTuple):
    """Columns of the pairs, and the rows of those to search."""

    reference_index: NDArray[np.int32]
    query_index: NDArray[np.int32]
    diagonals: Diagonals
    order: NDArray[np.int64]


class _Steps(NamedTuple):
    """`Losses` in every lane, with the loss of cells that no path reaches."""

    match: Vector
    mismatch: Vector
    deletion_open: Vector
    deletion_extend: Vector
    insertion_open: Vector
    insertion_extend: Vector
    unreachable: Vector
    zero: Vector


class _Work(NamedTuple):
    """Working memory of a group, all of vectors except `lengths`.

    `references` [rows], `queries` [columns]; `losses` [columns + 1] of the last row, `middle` of
    the row before it; `deletions` [columns]; `last_column` [rows], its losses, and `bests` [1], the
    least of them; `lengths`, int64 [2, LANES]: rows and columns.
    """

    references: Memory
    queries: Memory
    losses: Memory
    middle: Memory
    deletions: Memory
    last_column: Memory
    bests: Memory
    lengths: Memory


class _Group(NamedTuple):
    """Pairs of a group, and the size and the diagonals that hold all of their matrices."""

    pairs: Integer
    rows: Integer
    columns: Integer
    min_rows: Integer
    min_columns: Integer
    lowest: Integer
    highest: Integer


def scratch_bytes(rows: int, columns: int, width: int) -> int:
    """Return the bytes that a search of matrices of at most this size works in."""
    vectors = 2 * (rows + 2) + 4 * (columns + 2) + 1
    return vectors * width * LANES + 2 * _FIELD


def find_end_cells(
    pairs: PairBatch,
    diagonals: Diagonals,
    scoring: Scoring,
    width: int,
    order: NDArray[np.int64],
    scratch: NDArray[np.uint8],
    ends: EndCells,
) -> None:
    """Write the end cells of some pairs, with the losses of the best alignments.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences, whose ends are free; see `losses_apply` of `bands`.
    diagonals
        The diagonals to fill.
    scoring
        Weights that prefer an exact match.
    width
        Bytes of a loss, 1 or 2.
    order
        int64[k]: the pairs to search, those of similar size side by side.
    scratch
        uint8, at least `scratch_bytes` of the largest of them.
    ends
        Where to write, for all pairs.
    """
    columns = _Pairs(
        read_only(pairs.reference_index), read_only(pairs.query_index), diagonals, order
    )
    _search(
        view_of(pairs.references),
        view_of(pairs.queries),
        columns,
        losses_of(scoring),
        scratch,
        ends,
        width,
    )


@njit
def _search(
    references: RaggedView,
    queries: RaggedView,
    pairs: _Pairs,
    weights: Losses,
    scratch: NDArray[np.uint8],
    ends: EndCells,
    width: int,
) -> None:
    if width == 1:
        top = np.int64(255)
        steps = _Steps(
            spread_byte(min(weights.match, top)),
            spread_byte(min(weights.mismatch, top)),
            spread_byte(min(weights.deletion_open, top)),
            spread_byte(min(weights.deletion_extend, top)),
            spread_byte(min(weights.insertion_open, top)),
            spread_byte(min(weights.insertion_extend, top)),
            spread_byte(top),
            spread_byte(np.int64(0)),
        )
        _search_groups(references, queries, pairs, weights, steps, scratch, ends, np.int64(1))
    else:
        top = np.int64(65_535)
        steps_of_words = _Steps(
            spread_word(min(weights.match, top)),
            spread_word(min(weights.mismatch, top)),
            spread_word(min(weights.deletion_open, top)),
            spread_word(min(weights.deletion_extend, top)),
            spread_word(min(weights.insertion_open, top)),
            spread_word(min(weights.insertion_extend, top)),
            spread_word(top),
            spread_word(np.int64(0)),
        )
        _search_groups(
            references, queries, pairs, weights, steps_of_words, scratch, ends, np.int64(2)
        )


@njit_inlined
def _search_groups(
    references: RaggedView,
    queries: RaggedView,
    pairs: _Pairs,
    weights: Losses,
    steps: _Steps,
    scratch: NDArray[np.uint8],
    ends: EndCells,
    width: Integer,
) -> None:
    all_references, all_queries = ragged_memory_of(references), ragged_memory_of(queries)
    memory = memory_of(scratch)
    for start in range(0, pairs.order.size, LANES):
        group = _group_of(all_references, all_queries, pairs, start)
        work = _work_of(memory, group, width)
        for lane in range(group.pairs):
            pair = pairs.order[start + lane]
            reference = row_memory(all_references, pairs.reference_index[pair], 1)
            query = row_memory(all_queries, pairs.query_index[pair], 1)
            _pack(reference, work.references, np.int64(lane), width)
            _pack(query, work.queries, np.int64(lane), width)
            write_64(work.lengths, 8 * np.int64(lane), reference.size)
            write_64(work.lengths, _FIELD + 8 * np.int64(lane), query.size)
        _start(work, group, steps, width)
        for row in range(0, group.rows, 2):
            first = max(row - group.highest, 0)
            end = max(min(row + 2 - group.lowest, group.columns), first)
            _fill_two_rows(work, row, first, end, steps, width)
            for k in range(2):
                losses = work.losses if k else work.middle
                at = row + 1 + k
                _note_last_column(work, losses, group, at, first, end, steps, width)
                if at >= group.min_rows:
                    for lane in range(group.pairs):
                        if read_64(work.lengths, 8 * np.int64(lane)) == at:
                            pair = pairs.order[start + lane]
                            found = _end_of(
                                work, losses, np.int64(lane), first, end, weights, width
                            )
                            ends.losses[pair], ends.rows[pair], ends.columns[pair] = found


@njit_inlined
def _group_of(references: RaggedMemory, queries: RaggedMemory, pairs: _Pairs, start: int) -> _Group:
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
    return _Group(count, rows, columns, min_rows, min_columns, lowest, highest)


@njit_inlined
def _work_of(scratch: Memory, group: _Group, width: Integer) -> _Work:
    """Divide the scratch memory; rows are filled by two, the last of which may not exist."""
    vector = width * LANES
    rows, columns = (group.rows + 1) * vector, (group.columns + 1) * vector
    at = 2 * _FIELD
    return _Work(
        part_of(scratch, at, rows),
        part_of(scratch, at + rows, columns),
        part_of(scratch, at + rows + columns, columns),
        part_of(scratch, at + rows + 2 * columns, columns),
        part_of(scratch, at + rows + 3 * columns, columns),
        part_of(scratch, at + rows + 4 * columns, rows),
        part_of(scratch, at + 2 * rows + 4 * columns, vector),
        part_of(scratch, np.int64(0), np.int64(2 * _FIELD)),
    )


@njit_inlined
def _pack(sequence: Memory, lanes: Memory, lane: Integer, width: Integer) -> None:
    """Write a sequence into its lane, a word at a time: single loads would become slow scatters."""
    done = np.int64(0)
    while done + 8 <= sequence.size:
        word = np.uint64(read_64(sequence, done))
        for k in range(8):
            _write(lanes, (done + k) * LANES + lane, np.int64(word & _BYTE), width)
            word >>= _BYTE_BITS
        done += 8
    while done < sequence.size:
        _write(lanes, done * LANES + lane, read_u8(sequence, done), width)
        done += 1


@njit_inlined
def _start(work: _Work, group: _Group, steps: _Steps, width: Integer) -> None:
    """Set the row before the first one; a path starts at its cells in the first rows filled."""
    vector = width * LANES
    loss = steps.zero
    end = 2 - group.lowest
    for j in range(group.columns + 1):
        store_vector(work.losses, j * vector, loss if j <= end else steps.unreachable)
        loss = saturated_sum(loss, steps.match)
    for j in range(group.columns):
        store_vector(work.deletions, j * vector, steps.unreachable)
    for row in range(group.rows):
        store_vector(work.last_column, row * vector, steps.unreachable)
    store_vector(work.bests, np.int64(0), steps.unreachable)


@njit_inlined
def _fill_two_rows(
    work: _Work, row: Integer, first: Integer, end: Integer, steps: _Steps, width: Integer
) -> None:
    """Fill two rows at once, from column `first` (from 0) to `end`."""
    vector = width * LANES
    base = load_like(work.references, row * vector, steps.zero)
    base_next = load_like(work.references, (row + 1) * vector, steps.zero)
    diagonal = load_like(work.losses, first * vector, steps.zero)
    left = steps.unreachable if first else steps.zero
    left_next = left
    insertion, insertion_next = steps.unreachable, steps.unreachable
    store_vector(work.losses, first * vector, left)  # no later row starts from the row above
    for j in range(first, end):
        at = j * vector
        query = load_like(work.queries, at, steps.zero)
        above = load_like(work.losses, at + vector, steps.zero)
        deletion = load_like(work.deletions, at, steps.zero)
        through = saturated_sum(diagonal, where_different(base, query, steps.mismatch))
        deletion = smaller_unsigned(saturated_sum(deletion, steps.deletion_extend), above)
        insertion = smaller_unsigned(saturated_sum(insertion, steps.insertion_extend), left)
        deleted = saturated_sum(deletion, steps.deletion_open)
        inserted = saturated_sum(insertion, steps.insertion_open)
        diagonal_next = left
        left = smaller_unsigned(smaller_unsigned(through, deleted), inserted)
        diagonal = above
        store_vector(work.middle, at + vector, left)

        through = saturated_sum(diagonal_next, where_different(base_next, query, steps.mismatch))
        deletion = smaller_unsigned(saturated_sum(deletion, steps.deletion_extend), left)
        insertion_next = smaller_unsigned(
            saturated_sum(insertion_next, steps.insertion_extend), left_next
        )
        deleted = saturated_sum(deletion, steps.deletion_open)
        inserted = saturated_sum(insertion_next, steps.insertion_open)
        left_next = smaller_unsigned(smaller_unsigned(through, deleted), inserted)
        store_vector(work.losses, at + vector, left_next)
        store_vector(work.deletions, at, deletion)


@njit_inlined
def _note_last_column(
    work: _Work,
    losses: Memory,
    group: _Group,
    row: Integer,
    first: Integer,
    end: Integer,
    steps: _Steps,
    width: Integer,
) -> None:
    """Keep the losses of the last columns in a row (from 1), where they are filled."""
    vector = width * LANES
    if row <= group.min_rows and group.min_columns == group.columns:
        if first < group.columns <= end:
            last = load_like(losses, group.columns * vector, steps.zero)
            store_vector(work.last_column, (row - 1) * vector, last)
            bests = load_like(work.bests, np.int64(0), steps.zero)
            store_vector(work.bests, np.int64(0), smaller_unsigned(last, bests))
        return
    for lane in range(group.pairs):
        column = read_64(work.lengths, _FIELD + 8 * np.int64(lane))
        if first < column <= end and row <= read_64(work.lengths, 8 * np.int64(lane)):
            loss = _read(losses, column * LANES + lane, width)
            _write(work.last_column, (row - 1) * LANES + lane, loss, width)
            if loss < _read(work.bests, np.int64(lane), width):
                _write(work.bests, np.int64(lane), loss, width)


@njit_inlined
def _end_of(
    work: _Work,
    losses: Memory,
    lane: Integer,
    first: Integer,
    end: Integer,
    weights: Losses,
    width: Integer,
) -> tuple[Integer, Integer, Integer]:
    """Return loss, row and column of the end cell, by the rules of `_end_cell` of reference.py.

    Cells of the last row that are too far from its end to be the best are not looked at.
    """
    unreachable = (np.int64(1) << 8 * width) - 1
    rows = read_64(work.lengths, 8 * lane)
    columns = read_64(work.lengths, _FIELD + 8 * lane)
    best = _read(work.bests, lane, width)
    row, column = rows, columns
    while row > 1 and _read(work.last_column, (row - 1) * LANES + lane, width) != best:
        row -= 1
    nearest = max(first + 1, columns - best // weights.match)
    for j in range(nearest, min(end, columns) + 1):
        loss = _read(losses, j * LANES + lane, width)
        total = loss + (columns - j) * weights.match
        nearer_diagonal = abs(rows - j) < abs(row - column)
        if total < best or (total == best and nearer_diagonal):
            best, row, column = total, rows, j
    return (best if best < unreachable else _UNKNOWN), row, column


@njit_inlined
def _read(memory: Memory, index: Integer, width: Integer) -> Integer:
    return read_u8(memory, index) if width == 1 else read_u16(memory, 2 * index)


@njit_inlined
def _write(memory: Memory, index: Integer, value: Integer, width: Integer) -> None:
    if width == 1:
        write_8(memory, index, value)
    else:
        write_16(memory, 2 * index, value)

"""Scores and end cells of the best alignments, 32 pairs side by side, without directions.

The cells have losses, see `losses`. Sums saturate: the loss of an alignment is exact if it is less
than the largest number, since no cell before its end loses more. Gaps are kept without the loss of
their first base: D' = min(C above, D' above + extend), and likewise for insertions.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, part_of
from hapgpu.arrays.ragged_memory import ragged_memory_of
from hapgpu.arrays.vectors import (
    LANES,
    load_like,
    saturated_sum,
    smaller_unsigned,
    store_vector,
    where_different,
)
from hapgpu.realign.align.loss_lanes import (
    LENGTHS_BYTES,
    Group,
    LossPairs,
    Steps,
    columns_of,
    group_of,
    loss_pairs,
    pack_group,
    read_number,
    rows_of,
    steps_of_bytes,
    steps_of_words,
    write_number,
)
from hapgpu.realign.align.losses import UNKNOWN, Diagonals, EndCells, Losses, losses_of
from hapgpu.realign.scoring import Scoring
from hapgpu.runtime.jit import njit, njit_inlined

_UNKNOWN: Final = np.int64(UNKNOWN)


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


def scratch_bytes(rows: int, columns: int, width: int) -> int:
    """Return the bytes that a search of matrices of at most this size works in."""
    vectors = 2 * (rows + 2) + 4 * (columns + 2) + 1
    return vectors * width * LANES + int(LENGTHS_BYTES)


def find_end_cells(
    pairs: PairBatch,
    diagonals: Diagonals,
    scoring: Scoring,
    order: NDArray[np.int64],
    scratch: NDArray[np.uint8],
    ends: EndCells,
    *,
    width: int,
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
    order
        int64[k]: the pairs to search, those of similar size side by side.
    scratch
        uint8, at least `scratch_bytes` of the largest of them.
    ends
        Where to write, for all pairs.
    width
        Bytes of a loss, 1 or 2.
    """
    columns = loss_pairs(pairs, diagonals, order)
    _search(columns, losses_of(scoring), scratch, ends, width)


@njit
def _search(
    pairs: LossPairs, weights: Losses, scratch: NDArray[np.uint8], ends: EndCells, width: int
) -> None:
    if width == 1:
        _search_groups(pairs, weights, steps_of_bytes(weights), scratch, ends, np.int64(1))
    else:
        _search_groups(pairs, weights, steps_of_words(weights), scratch, ends, np.int64(2))


@njit_inlined
def _search_groups(
    pairs: LossPairs,
    weights: Losses,
    steps: Steps,
    scratch: NDArray[np.uint8],
    ends: EndCells,
    width: Integer,
) -> None:
    references = ragged_memory_of(pairs.references)
    queries = ragged_memory_of(pairs.queries)
    memory = memory_of(scratch)
    for start in range(0, pairs.order.size, LANES):
        group = group_of(references, queries, pairs, start)
        work = _work_of(memory, group, width)
        pack_group(
            references, queries, pairs, start, (work.references, work.queries, work.lengths), width
        )
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
                        if rows_of(work.lengths, np.int64(lane)) == at:
                            pair = pairs.order[start + lane]
                            found = _end_of(
                                work, losses, np.int64(lane), first, end, weights, width
                            )
                            ends.losses[pair], ends.rows[pair], ends.columns[pair] = found


@njit_inlined
def _work_of(scratch: Memory, group: Group, width: Integer) -> _Work:
    """Divide the scratch memory; rows are filled by two, the last of which may not exist."""
    vector = width * LANES
    rows, columns = (group.rows + 1) * vector, (group.columns + 1) * vector
    at = LENGTHS_BYTES
    return _Work(
        part_of(scratch, at, rows),
        part_of(scratch, at + rows, columns),
        part_of(scratch, at + rows + columns, columns),
        part_of(scratch, at + rows + 2 * columns, columns),
        part_of(scratch, at + rows + 3 * columns, columns),
        part_of(scratch, at + rows + 4 * columns, rows),
        part_of(scratch, at + 2 * rows + 4 * columns, vector),
        part_of(scratch, np.int64(0), LENGTHS_BYTES),
    )


@njit_inlined
def _start(work: _Work, group: Group, steps: Steps, width: Integer) -> None:
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
    work: _Work, row: Integer, first: Integer, end: Integer, steps: Steps, width: Integer
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
    group: Group,
    row: Integer,
    first: Integer,
    end: Integer,
    steps: Steps,
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
        column = columns_of(work.lengths, np.int64(lane))
        if first < column <= end and row <= rows_of(work.lengths, np.int64(lane)):
            loss = read_number(losses, column * LANES + lane, width)
            write_number(work.last_column, (row - 1) * LANES + lane, loss, width)
            if loss < read_number(work.bests, np.int64(lane), width):
                write_number(work.bests, np.int64(lane), loss, width)


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
    rows = rows_of(work.lengths, lane)
    columns = columns_of(work.lengths, lane)
    best = read_number(work.bests, lane, width)
    row, column = rows, columns
    while row > 1 and read_number(work.last_column, (row - 1) * LANES + lane, width) != best:
        row -= 1
    nearest = max(first + 1, columns - best // weights.match)
    for j in range(nearest, min(end, columns) + 1):
        loss = read_number(losses, j * LANES + lane, width)
        total = loss + (columns - j) * weights.match
        nearer_diagonal = abs(rows - j) < abs(row - column)
        if total < best or (total == best and nearer_diagonal):
            best, row, column = total, rows, j
    return (best if best < unreachable else _UNKNOWN), row, column

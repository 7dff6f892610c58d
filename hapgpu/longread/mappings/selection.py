"""Selection of a read's mappings: primaries and the best secondaries.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.options import ChainOptions, MappingOptions
from hapgpu.runtime.jit import njit, njit_inlined

SCORE: Final = 0
COUNT: Final = 1
SEQUENCE: Final = 2
IS_REVERSE: Final = 3
QUERY_START: Final = 4
QUERY_END: Final = 5
TARGET_START: Final = 6
TARGET_END: Final = 7
CHAIN: Final = 8
COLUMNS: Final = 9


@njit_inlined
def _uncovered(
    table: NDArray[np.int32],
    row: Integer,
    by_start: NDArray[np.int64],
    primaries: Integer,
) -> Integer:
    """Return the number of bases of a mapping that no primary covers; -1 if none overlaps.

    `by_start` has the primaries in ascending order of start.
    """
    start, end = np.int64(table[QUERY_START, row]), np.int64(table[QUERY_END, row])
    uncovered = np.int64(0)
    covered_end = start
    overlaps = False
    for k in range(primaries):
        primary_start = np.int64(table[QUERY_START, by_start[k]])
        primary_end = np.int64(table[QUERY_END, by_start[k]])
        if primary_start >= end:
            break
        if primary_end > start:
            overlaps = True
            uncovered += max(primary_start - covered_end, np.int64(0))
            covered_end = max(covered_end, min(primary_end, end))
    return uncovered + end - covered_end if overlaps else np.int64(-1)


@njit_inlined
def _is_masked(
    table: NDArray[np.int32],
    row: Integer,
    primary: Integer,
    uncovered: Integer,
    mask_level: np.float32,
) -> bool:
    """Return True if a mapping overlaps a primary enough to be secondary to it."""
    start, end = np.int64(table[QUERY_START, row]), np.int64(table[QUERY_END, row])
    primary_start = np.int64(table[QUERY_START, primary])
    primary_end = np.int64(table[QUERY_END, primary])
    overlap = min(end, primary_end) - max(start, primary_start)
    if overlap <= 0:
        return False
    shorter = min(end - start, primary_end - primary_start)
    longer = max(end - start, primary_end - primary_start)
    covered_fraction = np.float32(overlap) / np.float32(shorter)
    return bool(covered_fraction - np.float32(uncovered) / np.float32(longer) > mask_level)


@njit_inlined
def _insert_by_start(
    table: NDArray[np.int32], row: Integer, by_start: NDArray[np.int64], primaries: Integer
) -> None:
    start = table[QUERY_START, row]
    k = np.int64(primaries)
    while k > 0 and table[QUERY_START, by_start[k - 1]] > start:
        by_start[k] = by_start[k - 1]
        k -= 1
    by_start[k] = row


@njit
def find_parents(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    mask_level: np.float32,
    parents: NDArray[np.int64],
) -> None:
    """Set the parent row of each mapping.

    Parameters
    ----------
    table
        int32[COLUMNS, c]: the mappings, the best of each read first.
    offsets
        int64[n + 1]: the mappings of each read.
    mask_level
        A mapping that overlaps a primary by more than this fraction is secondary to it.
    parents
        int64[c], set: row of the parent; a primary is its own parent.
    """
    max_rows = np.int64(0)
    for read in range(offsets.size - 1):
        max_rows = max(max_rows, offsets[read + 1] - offsets[read])
    primary_rows = np.empty(max_rows, dtype=np.int64)
    by_start = np.empty(max_rows, dtype=np.int64)
    for read in range(offsets.size - 1):
        primaries = np.int64(0)
        for row in range(offsets[read], offsets[read + 1]):
            parent = np.int64(row)
            uncovered = _uncovered(table, row, by_start, primaries)
            if uncovered >= 0:
                for k in range(primaries):
                    if _is_masked(table, row, primary_rows[k], uncovered, mask_level):
                        parent = primary_rows[k]
                        break
            parents[row] = parent
            if parent == row:
                _insert_by_start(table, row, by_start, primaries)
                primary_rows[primaries] = row
                primaries += 1


@njit
def count_secondaries(
    table: NDArray[np.int32],
    parents: NDArray[np.int64],
    second_scores: NDArray[np.int32],
    n_sub: NDArray[np.int32],
) -> None:
    """Set the best score and `n_sub` of the secondaries of each primary: see `Mappings`.

    Parameters
    ----------
    table
        int32[COLUMNS, c]: the mappings.
    parents
        int64[c]: row of the parent of each.
    second_scores, n_sub
        int32[c], set.
    """
    for row in range(parents.size):
        second_scores[row] = n_sub[row] = 0
        parent = parents[row]
        if parent != row:
            second_scores[parent] = max(second_scores[parent], table[SCORE, row])
            n_sub[parent] += table[COUNT, row] >= table[COUNT, parent]


STRAND_FRACTION: Final = 0.8
"""A mapping on another strand than its parent must score more than this times `max_gap`."""

NO_SCORE: Final = 2**31 - 1
"""No score of a mapping is above it."""


class Selected(NamedTuple):
    """The selected mappings of n reads.

    Attributes
    ----------
    table
        int32[COLUMNS, r].
    offsets
        int64[n + 1].
    parents, second_scores, n_sub, is_retained
        As in `Mappings`.
    """

    table: NDArray[np.int32]
    offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    n_sub: NDArray[np.int32]
    is_retained: NDArray[np.uint8]


class SelectionLimits(NamedTuple):
    """Limits for the selection, for compiled code.

    Attributes
    ----------
    score_ratio, max_secondary
        As in `MappingOptions`.
    near_score
        Largest difference to the parent's score at which a mapping is kept in any case.
    strand_score
        Score above which a mapping on another strand than its parent is kept; `NO_SCORE` for none.
    """

    score_ratio: np.float32
    max_secondary: int
    near_score: int
    strand_score: int


@njit_inlined
def _is_near(
    table: NDArray[np.int32], row: Integer, parent: Integer, limits: SelectionLimits
) -> bool:
    """Return True if a mapping scores nearly as much as its parent."""
    score, best = np.int64(table[SCORE, row]), np.int64(table[SCORE, parent])
    min_score = np.float32(best) * limits.score_ratio
    return bool(np.float32(score) >= min_score or score + limits.near_score >= best)


@njit_inlined
def _has_same_coordinates(table: NDArray[np.int32], row: Integer, parent: Integer) -> bool:
    return bool(
        table[QUERY_START, row] == table[QUERY_START, parent]
        and table[QUERY_END, row] == table[QUERY_END, parent]
        and table[SEQUENCE, row] == table[SEQUENCE, parent]
        and table[TARGET_START, row] == table[TARGET_START, parent]
        and table[TARGET_END, row] == table[TARGET_END, parent]
    )


@njit
def _select(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    limits: SelectionLimits,
    kept: NDArray[np.int64],
    is_retained: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> Integer:
    """List the rows to keep, and count them per read."""
    total = np.int64(0)
    for read in range(offsets.size - 1):
        start = total
        secondary = np.int64(0)
        for row in range(offsets[read], offsets[read + 1]):
            is_retained[row] = 0
            if parents[row] == row:
                kept[total] = row
                total += 1
                continue
            # minimap2 moves kept mappings up in place and looks the parent up at its old row.
            old_row = start + parents[row] - offsets[read]
            parent = kept[old_row] if old_row < total else parents[row]
            if secondary >= limits.max_secondary:
                continue
            if _is_near(table, row, parent, limits):
                if _has_same_coordinates(table, row, parent):
                    continue
            elif (
                table[SCORE, row] > limits.strand_score
                and table[IS_REVERSE, row] != table[IS_REVERSE, parent]
            ):
                is_retained[row] = 1
            else:
                continue
            kept[total] = row
            total += 1
            secondary += 1
        counts[read] = total - start
    return total


@njit
def _renumber(
    kept: NDArray[np.int64],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    numbers_by_row: NDArray[np.int64],
    numbers: NDArray[np.int32],
) -> None:
    """Set the parents of the kept mappings, numbered within their reads."""
    for read in range(offsets.size - 1):
        for mapping in range(offsets[read], offsets[read + 1]):
            numbers_by_row[kept[mapping]] = mapping - offsets[read]
            numbers[mapping] = numbers_by_row[parents[kept[mapping]]]


def select_rows(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    limits: SelectionLimits,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Select the primaries and the best of the others.

    minimap2 2.30 moves kept mappings up within one array and looks a parent up at its old row. If
    it has dropped a mapping before the parent, that row may contain another mapping, which is
    compared instead.

    Parameters
    ----------
    table
        int32[COLUMNS, c]: the mappings of n reads, the best of each read first.
    offsets
        int64[n + 1].
    parents
        int64[c]: row of the parent of each mapping; its own row to select it in any case.
    limits
        Limits for the others. A `score_ratio` of 0 keeps all mappings.

    Returns
    -------
    int64[r], the selected rows; int64[n + 1], their offsets; uint8[c], `Mappings.is_retained` of
    all rows.
    """
    kept = np.arange(parents.size, dtype=np.int64)
    is_retained = np.zeros(parents.size, dtype=np.uint8)
    if limits.score_ratio <= 0:
        return kept, offsets, is_retained
    counts = np.empty(offsets.size - 1, dtype=np.int64)
    total = _select(
        read_only(table), read_only(offsets), read_only(parents), limits, kept, is_retained, counts
    )
    return kept[:total], offsets_of(counts), is_retained


def numbers_of_parents(
    rows: NDArray[np.int64], offsets: NDArray[np.int64], parents: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return the parents of selected mappings, numbered within their reads.

    Parameters
    ----------
    rows, offsets
        int64[r], int64[n + 1]: results of `select_rows`.
    parents
        int64[c]: row of the parent of each mapping, a selected one.

    Returns
    -------
    int32[r].
    """
    numbers = np.empty(rows.size, dtype=np.int32)
    _renumber(
        read_only(rows), read_only(offsets), read_only(parents), np.empty_like(parents), numbers
    )
    return numbers


def all_mappings(table: NDArray[np.int32], offsets: NDArray[np.int64]) -> Selected:
    """Keep all mappings, `table`, int32[COLUMNS, c], `offsets`, int64[n + 1], without parents."""
    count = table.shape[1]
    zeros = np.zeros(count, dtype=np.int32)
    return Selected(
        table=table,
        offsets=offsets,
        parents=np.full(count, -1, dtype=np.int32),
        second_scores=zeros,
        n_sub=zeros,
        is_retained=np.zeros(count, dtype=np.uint8),
    )


def select_mappings(
    table: NDArray[np.int32],
    offsets: NDArray[np.int64],
    k: int,
    chain_options: ChainOptions,
    options: MappingOptions,
) -> Selected:
    """Find the parents of mappings, and keep the primaries and the best of the others.

    Parameters
    ----------
    table
        int32[COLUMNS, c]: the chains of n reads, the best of each read first.
    offsets
        int64[n + 1].
    k
        K-mer length in bases.
    chain_options, options
        Options for chaining and for mappings. A `score_ratio` of 0 keeps all mappings.
    """
    count = table.shape[1]
    table = read_only(table)
    parents = np.empty(count, dtype=np.int64)
    second_scores, n_sub = np.empty((2, count), dtype=np.int32)
    find_parents(table, read_only(offsets), np.float32(options.mask_level), parents)
    count_secondaries(table, read_only(parents), second_scores, n_sub)
    limits = SelectionLimits(
        score_ratio=np.float32(options.score_ratio),
        max_secondary=options.max_secondary,
        near_score=2 * k,
        strand_score=int(STRAND_FRACTION * chain_options.max_gap),
    )
    kept, offsets, is_retained = select_rows(table, offsets, parents, limits)
    return Selected(
        table=table[:, kept],
        offsets=offsets,
        parents=numbers_of_parents(kept, offsets, parents),
        second_scores=second_scores[kept],
        n_sub=n_sub[kept],
        is_retained=is_retained[kept],
    )

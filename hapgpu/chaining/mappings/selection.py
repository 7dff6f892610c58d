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
from hapgpu.chaining.mappings.columns import (
    IS_REVERSE,
    QUERY_END,
    QUERY_START,
    SCORE,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
)
from hapgpu.chaining.mappings.parents import count_rivals, find_parents
from hapgpu.chaining.options import ChainOptions, MappingOptions
from hapgpu.runtime.jit import njit, njit_inlined

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
    parents, second_scores, rivals, is_retained
        As in `Mappings`.
    """

    table: NDArray[np.int32]
    offsets: NDArray[np.int64]
    parents: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    rivals: NDArray[np.int32]
    is_retained: NDArray[np.uint8]


class Limits(NamedTuple):
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
def _is_near(table: NDArray[np.int32], row: Integer, parent: Integer, limits: Limits) -> bool:
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
    limits: Limits,
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
    limits: Limits,
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
        Results of `select_rows`.
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
    """Keep all mappings, without parents."""
    count = table.shape[1]
    zeros = np.zeros(count, dtype=np.int32)
    return Selected(
        table=table,
        offsets=offsets,
        parents=np.full(count, -1, dtype=np.int32),
        second_scores=zeros,
        rivals=zeros,
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
    second_scores, rivals = np.empty((2, count), dtype=np.int32)
    find_parents(table, read_only(offsets), np.float32(options.mask_level), parents)
    count_rivals(table, read_only(parents), second_scores, rivals)
    limits = Limits(
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
        rivals=rivals[kept],
        is_retained=is_retained[kept],
    )

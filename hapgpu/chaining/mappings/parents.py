"""Parents: which mappings of a read are secondary to which others.

A mapping is secondary to a better mapping that covers most of it on the read. The rules are from
minimap2 2.30 (Li 2018, Bioinformatics 34:3094), including float32 arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.mappings.columns import COUNT, QUERY_END, QUERY_START, SCORE
from hapgpu.runtime.jit import njit, njit_inlined


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
    """Set the parent row of each mapping."""
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
def count_rivals(
    table: NDArray[np.int32],
    parents: NDArray[np.int64],
    second_scores: NDArray[np.int32],
    rivals: NDArray[np.int32],
) -> None:
    """Set the best score of the secondaries of each primary, and its rivals."""
    for row in range(parents.size):
        second_scores[row] = rivals[row] = 0
        parent = parents[row]
        if parent != row:
            second_scores[parent] = max(second_scores[parent], table[SCORE, row])
            rivals[parent] += table[COUNT, row] >= table[COUNT, parent]

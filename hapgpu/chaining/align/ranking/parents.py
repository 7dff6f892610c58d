"""Parents of aligned mappings, the selection of secondary ones, and the first primary.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094): `mm_set_parent`,
`mm_select_sub` and `mm_set_sam_pri`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import Row
from hapgpu.chaining.mappings.selection import (
    CHAIN,
    COLUMNS,
    COUNT,
    IS_REVERSE,
    NO_SCORE,
    QUERY_END,
    QUERY_START,
    SCORE,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
    SelectionLimits,
    find_parents,
    numbers_of_parents,
    select_rows,
)
from hapgpu.chaining.options import MappingOptions
from hapgpu.runtime.jit import njit, njit_inlined

_FIELDS: Final = {
    SCORE: "score",
    COUNT: "anchors",
    SEQUENCE: "sequence",
    IS_REVERSE: "is_reverse",
    QUERY_START: "query_start",
    QUERY_END: "query_end",
    TARGET_START: "target_start",
    TARGET_END: "target_end",
}


def set_parents(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    options: MappingOptions,
    k: int,
    near_score: int,
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Set the parents of aligned mappings, and select the primaries and the best of the others.

    Parameters
    ----------
    mappings
        MAPPING[r]: the aligned mappings of n reads, the best of each read first; changed.
    offsets
        int64[n + 1].
    options
        Options for mappings.
    k
        K-mer length in bases.
    near_score
        A secondary mapping with `dp_max` at most so far below its parent's is a rival.

    Returns
    -------
    MAPPING[s] and int64[n + 1]: the selected mappings, in the same order.
    """
    table = read_only(_table_of(mappings))
    parents = np.empty(mappings.size, dtype=np.int64)
    find_parents(table, read_only(offsets), np.float32(options.mask_level), parents)
    _count_secondaries(mappings, offsets, parents, near_score)
    limits = SelectionLimits(
        score_ratio=np.float32(options.score_ratio),
        max_secondary=options.max_secondary,
        near_score=2 * k,
        strand_score=NO_SCORE,
    )
    # Inversions are selected in any case, as primaries are.
    selecting = np.where(mappings["is_inversion"], np.arange(mappings.size), parents)
    rows, new_offsets, _ = select_rows(table, offsets, selecting, limits)
    selected = mappings[rows]
    selected["parent"] = numbers_of_parents(rows, new_offsets, parents)
    _number(selected, new_offsets)
    return selected, new_offsets


def _table_of(mappings: NDArray[np.void]) -> NDArray[np.int32]:
    table = np.empty((COLUMNS, mappings.size), dtype=np.int32)
    for column, field in _FIELDS.items():
        table[column] = mappings[field]
    table[CHAIN] = 0
    return table


@njit
def _count_secondaries(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    near_score: Integer,
) -> None:
    """Set the best scores of the secondaries of each primary, and their number.

    Scores and, of the first mapping, numbers are carried on from chaining, as in minimap2.
    """
    for read in range(offsets.size - 1):
        for row in range(offsets[read], offsets[read + 1]):
            mapping = mappings[row]
            if parents[row] == row:
                mapping.second_dp_max = 0
                if row > offsets[read]:
                    mapping.n_sub = 0
                continue
            parent = mappings[parents[row]]
            parent.second_score = max(parent.second_score, mapping.score)
            is_counted = mapping.anchors >= parent.anchors
            if not _is_at_same_place(mapping, parent):
                parent.second_dp_max = max(parent.second_dp_max, mapping.dp_max)
                is_counted |= parent.dp_max - mapping.dp_max <= near_score
            parent.n_sub += is_counted


@njit_inlined
def _is_at_same_place(mapping: Row, parent: Row) -> bool:
    """Return True for the same bases of the reference and, of the shorter mapping, of the read."""
    start = max(mapping.query_start, parent.query_start)
    end = min(mapping.query_end, parent.query_end)
    shorter = min(mapping.query_end - mapping.query_start, parent.query_end - parent.query_start)
    return bool(
        mapping.sequence == parent.sequence
        and mapping.target_start == parent.target_start
        and mapping.target_end == parent.target_end
        and end - start == shorter
    )


@njit
def _number(mappings: NDArray[np.void], offsets: NDArray[np.int64]) -> None:
    """Set the numbers of the mappings within each read, and mark its first primary."""
    for read in range(offsets.size - 1):
        has_primary = False
        for row in range(offsets[read], offsets[read + 1]):
            mapping = mappings[row]
            mapping.number = row - offsets[read]
            is_primary = mapping.parent == mapping.number
            mapping.is_first_primary = is_primary and not has_primary
            has_primary |= is_primary

"""Cut points of a chain: where one piece of the alignment ends and the next one starts."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.batches import IGNORED, LONG_JOIN
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.pieces.fields import (
    AnchorArrays,
    has_flag,
    query_of,
    target_of,
)
from hapgpu.chaining.batches import TANDEM
from hapgpu.runtime.jit import njit

CUT_COLUMNS: Final = 3
QUERY: Final = 0
"""Column of cut points: position in the read, on the strand of the mapping."""
TARGET: Final = 1
"""Column: position in the reference sequence."""
ANCHOR: Final = 2
"""Column: the anchor, counted from the first one used."""


@njit
def list_cuts(
    anchors: AnchorArrays,
    first: Integer,
    end: Integer,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    parameters: AlignParameters,
    cuts: NDArray[np.int32],
    at: Integer,
) -> Integer:
    """List the cut points of the anchors `first` to `end`; return the end of the list.

    The first and the last anchor are always cut points.

    Parameters
    ----------
    query, target
        Codes of the strand of the read, and of the reference sequence.
    cuts, at
        int32[CUT_COLUMNS, n]: space, at least one column per anchor from `at` on.
    """
    min_piece = parameters.min_piece
    query_cut = _query_cut(query_of(anchors, first), query, parameters)
    target_cut = _target_cut(target_of(anchors, first), target, parameters)
    cuts[QUERY, at], cuts[TARGET, at], cuts[ANCHOR, at] = query_cut, target_cut, 0
    at += 1
    for anchor in range(first + 1, end):
        query_position, target_position = query_of(anchors, anchor), target_of(anchors, anchor)
        is_needed = anchor == end - 1 or (
            has_flag(anchors, anchor, LONG_JOIN) and not has_flag(anchors, anchor, IGNORED | TANDEM)
        )
        # A cut point is never behind its anchor: most anchors are too near to look further.
        if not is_needed and (
            query_position - query_cut < min_piece
            or target_position - target_cut < min_piece
            or has_flag(anchors, anchor, IGNORED | TANDEM)
        ):
            continue
        next_query = _query_cut(query_position, query, parameters)
        next_target = _target_cut(target_position, target, parameters)
        if is_needed or (
            next_query - query_cut >= min_piece and next_target - target_cut >= min_piece
        ):
            query_cut, target_cut = next_query, next_target
            cuts[QUERY, at], cuts[TARGET, at] = query_cut, target_cut
            cuts[ANCHOR, at] = anchor - first
            at += 1
    return at


@njit
def _query_cut(position: Integer, query: NDArray[np.uint8], parameters: AlignParameters) -> Integer:
    """Return the middle of a k-mer, or the start of its last homopolymer.

    As in minimap2, a homopolymer never starts before base 1, unless the k-mer ends at base 0.
    """
    if not parameters.is_hpc:
        return position - (parameters.k >> 1)
    start = position
    while start > 1 and query[start - 1] == query[position]:
        start -= 1
    return start


@njit
def _target_cut(
    position: Integer, target: NDArray[np.uint8], parameters: AlignParameters
) -> Integer:
    """Return the middle of a k-mer, or the start of its last homopolymer."""
    if not parameters.is_hpc:
        return position - (parameters.k >> 1)
    start = position
    while start > 0 and target[start - 1] == target[position]:
        start -= 1
    return start

"""Insertions at the ends of alignments, as which GATK writes what lies beyond, soft-clipped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of
from hapgpu.cigar.encoding import (
    DELETION,
    HARD_CLIP,
    INSERTION,
    SOFT_CLIP,
    is_alignment,
    length_of,
    operation_of,
)
from hapgpu.runtime.jit import njit


def clip_end_insertions(
    cigars: Ragged, positions: NDArray[np.int64]
) -> tuple[Ragged, NDArray[np.int64]]:
    """Turn insertions at the ends into soft clips; deletions that come to the ends go.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n].

    Returns
    -------
    CIGARs, and the positions of their first aligned bases.
    """
    data = np.empty(cigars.data.size + 2 * len(cigars), dtype=np.uint32)
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    starts = positions.copy()
    _clip_rows(view_of(cigars), data, offsets, starts)
    return Ragged(data[: offsets[-1]], offsets), starts


@njit
def _clip_rows(
    cigars: RaggedView,
    out: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> None:
    for row in range(starts.size):
        end, deleted = _clip(row_of(cigars, row), out, offsets[row])
        offsets[row + 1] = end
        starts[row] += deleted


@njit
def _clip(cigar: NDArray[np.uint32], out: NDArray[np.uint32], at: int) -> tuple[int, int]:
    """Write a CIGAR; return its end and the deleted bases that were before its alignment."""
    first, last = 0, cigar.size - 1
    while first <= last and not is_alignment(operation_of(cigar[first])):
        first += 1
    while last > first and not is_alignment(operation_of(cigar[last])):
        last -= 1
    if first > last:
        for element in cigar:
            out[at] = element
            at += 1
        return at, 0
    hard, soft, deleted = _outside(cigar, 0, first)
    at = _put(out, at, hard, HARD_CLIP)
    at = _put(out, at, soft, SOFT_CLIP)
    for k in range(first, last + 1):
        out[at] = cigar[k]
        at += 1
    hard, soft, _ = _outside(cigar, last + 1, cigar.size)
    at = _put(out, at, soft, SOFT_CLIP)
    return _put(out, at, hard, HARD_CLIP), deleted


@njit
def _outside(cigar: NDArray[np.uint32], begin: int, end: int) -> tuple[int, int, int]:
    """Sum up hard-clipped, soft-clipped or inserted, and deleted bases."""
    hard, soft, deleted = 0, 0, 0
    for k in range(begin, end):
        operation, length = operation_of(cigar[k]), length_of(cigar[k])
        hard += length if operation == HARD_CLIP else 0
        soft += length if operation in (SOFT_CLIP, INSERTION) else 0
        deleted += length if operation == DELETION else 0
    return hard, soft, deleted


@njit
def _put(out: NDArray[np.uint32], at: int, length: int, operation: int) -> int:
    if length == 0:
        return at
    out[at] = length << 4 | operation
    return at + 1


def are_same_alignments(
    one: Ragged,
    one_positions: NDArray[np.int32],
    other: Ragged,
    other_positions: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """bool[n]: whether bases lie at the same positions, be it as M or as = and X."""
    same: NDArray[np.bool_] = one_positions == other_positions
    _compare(view_of(one), view_of(other), same)
    return same


@njit
def _compare(one: RaggedView, other: RaggedView, same: NDArray[np.bool_]) -> None:
    for row in range(same.size):
        if same[row]:
            same[row] = _are_same(row_of(one, row), row_of(other, row))


@njit
def _are_same(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> bool:
    i, j, left, right = 0, 0, 0, 0
    of_left, of_right = -1, -1
    while True:
        while left == 0 and i < one.size:
            left, of_left = length_of(one[i]), _plain(operation_of(one[i]))
            i += 1
        while right == 0 and j < other.size:
            right, of_right = length_of(other[j]), _plain(operation_of(other[j]))
            j += 1
        if left == 0 or right == 0:
            return left == right
        if of_left != of_right:
            return False
        both = min(left, right)
        left -= both
        right -= both


@njit
def _plain(operation: int) -> int:
    return 0 if is_alignment(operation) else operation

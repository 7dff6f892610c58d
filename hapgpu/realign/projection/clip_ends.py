"""Soft-clipping of insertions at the ends of alignments, which GATK leaves as insertions."""

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
    """Turn insertions at the ends into soft clips, and remove deletions next to them.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n].

    Returns
    -------
    uint32 CIGARs, and int64[n], the positions of their first aligned bases.
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
    """Write a CIGAR; return its end and the number of bases deleted before its first match."""
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
def _outside(cigar: NDArray[np.uint32], start: int, end: int) -> tuple[int, int, int]:
    """Return the numbers of hard-clipped, soft-clipped or inserted, and deleted bases."""
    hard, soft, deleted = 0, 0, 0
    for k in range(start, end):
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
    """Return bool[n]: whether all bases have equal positions; M, = and X are the same.

    `one` and `other` are uint32 in BAM encoding, n rows; `one_positions` and `other_positions` are
    int32[n].
    """
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
    i, j, one_length, other_length = 0, 0, 0, 0
    one_operation, other_operation = -1, -1
    while True:
        while one_length == 0 and i < one.size:
            one_length, one_operation = length_of(one[i]), _plain(operation_of(one[i]))
            i += 1
        while other_length == 0 and j < other.size:
            other_length, other_operation = length_of(other[j]), _plain(operation_of(other[j]))
            j += 1
        if one_length == 0 or other_length == 0:
            return one_length == other_length
        if one_operation != other_operation:
            return False
        shared = min(one_length, other_length)
        one_length -= shared
        other_length -= shared


@njit
def _plain(operation: int) -> int:
    return 0 if is_alignment(operation) else operation

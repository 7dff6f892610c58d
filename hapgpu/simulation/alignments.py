"""Alignments of simulated reads: the true ones, except what no aligner could know."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.bam.constants import SOFT_CLIP
from hapgpu.runtime.jit import njit
from hapgpu.simulation.phased_variants import INSERTED

MIN_ALIGNED: Final = 20
"""Reads with fewer aligned bases are excluded: no mapper would find them."""
_MIN_ANCHOR: Final = 5
"""Bases aligned between an indel and the end of a read, at least; else both are clipped."""
_MATCH, _INSERTION, _DELETION = 0, 1, 2


@njit
def align(
    bases: NDArray[np.uint8],
    positions: NDArray[np.int64],
    reference: NDArray[np.uint8],
    start: Integer,
    cigar: NDArray[np.uint32],
) -> Integer:
    """Write the CIGAR of a read.

    Parameters
    ----------
    bases
        uint8 text: the read as it is on the chromosome copy.
    positions
        int64, the reference position of each base, or `INSERTED`; replaced by the positions of
        the alignment, except those of clipped bases.
    reference, start
        uint8 text: bases of the contig, and the position of the first base.
    cigar
        uint32, output: room for at least one element.

    Returns
    -------
    Number of elements of the CIGAR; 0 for a read that is excluded: too few of its bases are
    aligned, or `cigar` is too small for its gaps.
    """
    if _is_straight(positions):
        cigar[0] = positions.size << 4 | _MATCH
        return 1
    _close_gaps(positions)
    _straighten_end(bases, positions, reference, start)
    first = _clipped_front(positions)
    end = _clipped_back(positions, first)
    aligned = 0
    for k in range(first, end):
        aligned += positions[k] != INSERTED
    if aligned < MIN_ALIGNED:
        return 0
    return _put_cigar(positions, first, end, cigar)


@njit
def _is_straight(positions: NDArray[np.int64]) -> bool:
    for k in range(positions.size):
        if positions[k] == INSERTED or positions[k] != positions[0] + k:
            return False
    return True


@njit
def _close_gaps(positions: NDArray[np.int64]) -> None:
    """Align inserted bases beside a deletion to the deleted bases."""
    for k in range(positions.size - 2, -1, -1):
        following = positions[k + 1]
        if positions[k] != INSERTED or following == INSERTED:
            continue
        before = k - 1
        while before >= 0 and positions[before] == INSERTED:
            before -= 1
        if before >= 0 and positions[before] < following - 1:
            positions[k] = following - 1


@njit
def _straighten_end(
    bases: NDArray[np.uint8],
    positions: NDArray[np.int64],
    reference: NDArray[np.uint8],
    start: Integer,
) -> None:
    """Remove the last gap as long as the bases after it match as well without it.

    A read that ends within a repeat does not show how long the repeat is.
    """
    size = positions.size
    while True:
        last = size - 1
        while (
            last > 0 and positions[last] != INSERTED and positions[last] == positions[last - 1] + 1
        ):
            last -= 1
        before = last - 1
        while before >= 0 and positions[before] == INSERTED:
            before -= 1
        if before < 0:
            return
        shift = positions[before] - before
        for k in range(before + 1, size):
            at = k + shift - start
            if at >= reference.size or reference[at] != bases[k]:
                return
        for k in range(before + 1, size):
            positions[k] = k + shift


@njit
def _clipped_front(positions: NDArray[np.int64]) -> Integer:
    """Return the first base of the first gapless run of at least `_MIN_ANCHOR` bases."""
    first = 0
    while first < positions.size:
        end = first
        while end < positions.size and positions[end] != INSERTED:
            end += 1
            if end < positions.size and positions[end] != positions[end - 1] + 1:
                break
        if end - first >= _MIN_ANCHOR:
            break
        first = max(end, first + 1)
    return first


@njit
def _clipped_back(positions: NDArray[np.int64], first: Integer) -> Integer:
    """Return the end of the last gapless run of at least `_MIN_ANCHOR` bases; at least `first`."""
    end = positions.size
    while end > first:
        start = end
        while start > first and positions[start - 1] != INSERTED:
            start -= 1
            if start > first and positions[start - 1] + 1 != positions[start]:
                break
        if end - start >= _MIN_ANCHOR:
            break
        end = min(start, end - 1)
    return end


@njit
def _put_cigar(
    positions: NDArray[np.int64], first: Integer, end: Integer, cigar: NDArray[np.uint32]
) -> Integer:
    """Write the CIGAR of bases at positions, clipped at both ends; return its size or 0."""
    count = 0
    if first > 0:
        cigar[count] = first << 4 | SOFT_CLIP
        count += 1
    at = first
    position = positions[first]
    while at < end:
        if count > cigar.size - 2:  # this element, and the clip at the end
            return 0
        start = at
        if positions[at] == INSERTED:
            while positions[at] == INSERTED:  # there is none at the end: it is clipped
                at += 1
            cigar[count] = (at - start) << 4 | _INSERTION
        elif positions[at] > position:
            cigar[count] = (positions[at] - position) << 4 | _DELETION
            position = positions[at]
        else:
            while at < end and positions[at] == position:
                at += 1
                position += 1
            cigar[count] = (at - start) << 4 | _MATCH
        count += 1
    if end < positions.size:
        cigar[count] = (positions.size - end) << 4 | SOFT_CLIP
        count += 1
    return count

"""Alignments of simulated reads: true ones, but for what no aligner could know."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.io.bam.constants import SOFT_CLIP
from hapgpu.runtime.jit import njit
from hapgpu.simulation.copies import INSERTED

MIN_ALIGNED: Final = 20
"""A read of which fewer bases are aligned would not be found."""
_MIN_ANCHOR: Final = 5
"""So many bases are aligned beyond an indel, or they are clipped along with it."""
_MATCH, _INSERTION, _DELETION = 0, 1, 2


@njit
def align(
    bases: NDArray[np.uint8],
    places: NDArray[np.int64],
    reference: NDArray[np.uint8],
    start: Integer,
    cigar: NDArray[np.uint32],
) -> Integer:
    """Write the CIGAR of a read.

    Parameters
    ----------
    bases
        uint8 text, as they are on the chromosome copy.
    places
        int64, the place on the reference of each base, or `INSERTED`; they are replaced by those
        of the alignment, bases that are clipped not among them.
    reference, start
        Bases of the contig, and the position of the first.
    cigar
        uint32, with room for an element at least.

    Returns
    -------
    Elements of the CIGAR; 0 if the read would not be found, or has more gaps than there is room
    for.
    """
    if _is_straight(places):
        cigar[0] = places.size << 4 | _MATCH
        return 1
    _close_gaps(places)
    _straighten_end(bases, places, reference, start)
    first = _clipped_front(places)
    behind = _clipped_back(places, first)
    aligned = 0
    for k in range(first, behind):
        aligned += places[k] != INSERTED
    if aligned < MIN_ALIGNED:
        return 0
    return _put_cigar(places, first, behind, cigar)


@njit
def _is_straight(places: NDArray[np.int64]) -> bool:
    for k in range(places.size):
        if places[k] == INSERTED or places[k] != places[0] + k:
            return False
    return True


@njit
def _close_gaps(places: NDArray[np.int64]) -> None:
    """Align inserted bases that lie beside a deletion to what is deleted."""
    for k in range(places.size - 2, -1, -1):
        beyond = places[k + 1]
        if places[k] != INSERTED or beyond == INSERTED:
            continue
        before = k - 1
        while before >= 0 and places[before] == INSERTED:
            before -= 1
        if before >= 0 and places[before] < beyond - 1:
            places[k] = beyond - 1


@njit
def _straighten_end(
    bases: NDArray[np.uint8],
    places: NDArray[np.int64],
    reference: NDArray[np.uint8],
    start: Integer,
) -> None:
    """Take out the last gap while the bases behind it fit as well without it.

    A read that ends within a repeat does not tell how long the repeat is.
    """
    size = places.size
    while True:
        last = size - 1
        while last > 0 and places[last] != INSERTED and places[last] == places[last - 1] + 1:
            last -= 1
        before = last - 1
        while before >= 0 and places[before] == INSERTED:
            before -= 1
        if before < 0:
            return
        shift = places[before] - before
        for k in range(before + 1, size):
            at = k + shift - start
            if at >= reference.size or reference[at] != bases[k]:
                return
        for k in range(before + 1, size):
            places[k] = k + shift


@njit
def _clipped_front(places: NDArray[np.int64]) -> Integer:
    """Return the first base that is aligned and well anchored."""
    first = 0
    while first < places.size:
        behind = first
        while behind < places.size and places[behind] != INSERTED:
            behind += 1
            if behind < places.size and places[behind] != places[behind - 1] + 1:
                break
        if behind - first >= _MIN_ANCHOR:
            break
        first = max(behind, first + 1)
    return first


@njit
def _clipped_back(places: NDArray[np.int64], first: Integer) -> Integer:
    """Return the end of the bases that are aligned and well anchored; at least `first`."""
    behind = places.size
    while behind > first:
        begin = behind
        while begin > first and places[begin - 1] != INSERTED:
            begin -= 1
            if begin > first and places[begin - 1] + 1 != places[begin]:
                break
        if behind - begin >= _MIN_ANCHOR:
            break
        behind = min(begin, behind - 1)
    return behind


@njit
def _put_cigar(
    places: NDArray[np.int64], first: Integer, behind: Integer, cigar: NDArray[np.uint32]
) -> Integer:
    count = 0
    if first > 0:
        cigar[count] = first << 4 | SOFT_CLIP
        count += 1
    at = first
    place = places[first]
    while at < behind:
        if count > cigar.size - 2:  # this element, and the clip at the end
            return 0
        begin = at
        if places[at] == INSERTED:
            while places[at] == INSERTED:  # clipping has left none at the end
                at += 1
            cigar[count] = (at - begin) << 4 | _INSERTION
        elif places[at] > place:
            cigar[count] = (places[at] - place) << 4 | _DELETION
            place = places[at]
        else:
            while at < behind and places[at] == place:
                at += 1
                place += 1
            cigar[count] = (at - begin) << 4 | _MATCH
        count += 1
    if behind < places.size:
        cigar[count] = (places.size - behind) << 4 | SOFT_CLIP
        count += 1
    return count

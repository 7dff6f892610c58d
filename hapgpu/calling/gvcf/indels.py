"""Bases of reads at which no short insertion or deletion is plausible."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit, njit_inlined

GAP: Final = ord("-")
"""Base of a read at a position that it deletes."""

_UNKNOWN: Final = ord("N")


class Row(NamedTuple):
    """A read against the reference: one base per position, without inserted bases.

    Attributes
    ----------
    bases
        uint8, `GAP` where the read has a deletion.
    qualities
        uint8, 0 there.
    length
        Positions that are in use.
    read_bases
        Bases of the read, inserted ones too.
    """

    bases: NDArray[np.uint8]
    qualities: NDArray[np.uint8]
    length: Integer
    read_bases: Integer


class Window(NamedTuple):
    """Bases `start` to `end` of a reference."""

    bases: NDArray[np.uint8]
    start: Integer
    end: Integer


@njit
def find_informative(
    read: Row,
    window: Window,
    first: Integer,
    at: Integer,
    max_size: int,
    sums: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Tell at which bases of a read no insertion or deletion of up to `max_size` is plausible.

    One is plausible at a base if the sum of the qualities of mismatches, from there to the end, is
    not larger with it than without. No base close to the end of the read, or of the window, is
    informative; the rules there are those of GATK's
    ReferenceConfidenceModel.readHasNoPlausibleIdealsOfSize.

    Parameters
    ----------
    read
        The read.
    window
        The reference.
    first, at
        The first position of the read that is considered, and its base in the window.
    max_size
        Bases of an insertion or deletion, at most.
    sums
        Scratch memory.
    out
        Written from `first` on; the elements before are undefined.
    """
    for k in range(first, read.length):
        out[k] = False
    room = window.end - at
    close = min(read.read_bases - first, room) < max_size
    if close or read.length - first <= max_size:
        return
    _sum_mismatches(read, window, first, at, sums)
    is_reference_shorter = read.length >= room + first + 1
    last = room + first - max_size + 1 if is_reference_shorter else read.length - max_size
    # Insertions and deletions make the numbers of bases and of positions differ.
    last_base = read.read_bases - max_size
    limit = min(last, last_base + 1)
    for size in range(1, max_size + 1):
        _mark_plausible(read, window, first, at, 0, size, limit, sums, out)
        _mark_plausible(read, window, first, at, size, 0, limit, sums, out)
    for k in range(first, limit):
        out[k] = not out[k]
    if is_reference_shorter and last <= last_base:
        out[last - 1] = False


@njit_inlined
def _is_mismatch(read: Row, base: Integer, window: Window, at: Integer) -> bool:
    one, other = read.bases[base], window.bases[at]
    return bool(one not in {other, GAP, _UNKNOWN} and other != _UNKNOWN)


@njit
def _sum_mismatches(
    read: Row, window: Window, first: Integer, at: Integer, sums: NDArray[np.int64]
) -> None:
    """Write the sum of the qualities of mismatches from each base to the end."""
    total = np.int64(0)
    for k in range(min(read.length - first, window.end - at) - 1, -1, -1):
        if _is_mismatch(read, first + k, window, at + k):
            total += np.int64(read.qualities[first + k])
        sums[k] = total


@njit
def _mark_plausible(
    read: Row,
    window: Window,
    first: Integer,
    at: Integer,
    inserted: Integer,
    deleted: Integer,
    limit: Integer,
    sums: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Mark the bases below `limit` at which an insertion or a deletion is plausible."""
    total = np.int64(0)
    size = min(read.length - first - inserted, window.end - at - deleted)
    for k in range(size - 1, -1, -1):
        base = first + k + inserted
        if _is_mismatch(read, base, window, at + k + deleted):
            total += np.int64(read.qualities[base])
            if total > sums[0]:
                return
        is_plausible = read.bases[first + k] != GAP and sums[k] >= total
        if is_plausible and first + k < limit:
            out[first + k] = True

"""Haplotypes cut to a part of the reference that they are aligned with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.cigar.encoding import DELETION, INSERTION
from hapgpu.runtime.jit import njit


class CutHaplotypes(NamedTuple):
    """Parts of h haplotypes.

    Attributes
    ----------
    base_starts, base_ends
        int64[h]: the range of the bases within the haplotype; both -1 where nothing is left.
    cigars
        uint32 in BAM encoding, h rows.
    """

    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    cigars: Ragged


def cut_haplotypes(
    cigars: Ragged, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> CutHaplotypes:
    """Cut haplotypes to a part of their reference.

    Insertions at the ends of the part do not belong to it. Nothing is left of a haplotype if the
    first or the last base of the part is deleted.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, h rows: M, =, X, I and D.
    starts, ends
        int64[h]: the part, counted in bases of the reference that the CIGAR consumes; half-open.
        Nothing is left of an empty part.
    """
    ranges = np.full((2, len(cigars)), -1, dtype=np.int64)
    elements = np.empty(cigars.data.size, dtype=np.uint32)
    offsets = np.zeros(len(cigars) + 1, dtype=np.int64)
    out = _Output(ranges, elements, offsets)
    _cut(view_of(cigars), read_only(starts), read_only(ends), out)
    return CutHaplotypes(ranges[0], ranges[1], Ragged(elements[: offsets[-1]], offsets))


class _Output(NamedTuple):
    """Ranges of bases, and CIGARs end to end."""

    ranges: NDArray[np.int64]
    elements: NDArray[np.uint32]
    offsets: NDArray[np.int64]


@njit
def _cut(
    cigars: RaggedView, starts: NDArray[np.int64], ends: NDArray[np.int64], out: _Output
) -> None:
    at: Integer = np.int64(0)
    for row in range(starts.size):
        if starts[row] < ends[row]:
            at = _cut_row(cigars, row, starts[row], ends[row], out)
        out.offsets[row + 1] = at


@njit
def _cut_row(
    cigars: RaggedView, row: Integer, start: Integer, end: Integer, out: _Output
) -> Integer:
    """Write the range and the CIGAR of one haplotype; return the end of the CIGAR."""
    at = first = np.int64(out.offsets[row])
    base = position = np.int64(0)
    base_start = base_end = np.int64(-1)
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k] >> 4), cigars.data[k] & 15
        if operation == INSERTION:
            if start < position < end:
                out.elements[at] = cigars.data[k]
                at += 1
            base += length
            continue
        low, high = max(position, start), min(position + length, end)
        if low < high:
            if operation != DELETION:
                if base_start < 0:
                    base_start = base + low - position
                base_end = base + high - position
            elif low == start or high == end:
                return first
            out.elements[at] = (high - low) << 4 | operation
            at += 1
        position += length
        if operation != DELETION:
            base += length
    out.ranges[0, row], out.ranges[1, row] = base_start, base_end
    return at

"""Insertions of haplotypes with one tandem duplication: all at the same position.

Of two copies, of which one has a change, aligners take as inserted what saves the mismatch: the
bases before the change belong to the first copy then, and the position is that of the change. So
haplotypes with and without the change would have different alleles at different positions.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import INSERTION, MATCH
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS
from hapgpu.runtime.jit import njit

_MIN_LENGTH: Final = 20
"""Shorter insertions stay."""


def with_joined_insertions(
    cigars: Ragged, regions: NDArray[np.int64], is_chosen: NDArray[np.bool_]
) -> Ragged:
    """Move insertions to the first insertion of the same length that is within their length.

    The bases between become matches or mismatches. An insertion stays if it is at an end of its
    haplotype, or if there is another insertion, or a deletion, between.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, h rows: M, I and D, from end to end of the padded span.
    regions
        int64[h], ascending: the active region of each.
    is_chosen
        bool[r]: active regions whose insertions are moved.
    """
    if not is_chosen.any():
        return cigars
    moved = cigars.data.copy()
    starts = np.searchsorted(regions, np.arange(is_chosen.size + 1))
    _join(moved, read_only(cigars.offsets), read_only(starts), read_only(is_chosen))
    return Ragged(moved, cigars.offsets)


@njit
def _join(
    cigars: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    starts: NDArray[np.int64],
    is_chosen: NDArray[np.bool_],
) -> None:
    for region in range(is_chosen.size):
        if not is_chosen[region]:
            continue
        positions = _positions(cigars, offsets, starts[region], starts[region + 1])
        first, elements = offsets[starts[region]], positions.size
        for row in range(starts[region], starts[region + 1]):
            for at in range(offsets[row] + 1, offsets[row + 1] - 1):
                length = np.int64(cigars[at] >> 4)
                if (cigars[at] & 15) != INSERTION or length < _MIN_LENGTH:
                    continue
                position = positions[at - first]
                to = position
                for other in range(elements):
                    if (
                        cigars[first + other] == cigars[at]
                        and position - length <= positions[other]
                    ):
                        to = min(to, positions[other])
                shift = np.uint32((position - to) << 4)
                is_between = (cigars[at - 1] & 15) == MATCH and (cigars[at + 1] & 15) == MATCH
                if is_between and cigars[at - 1] > shift + 15:
                    cigars[at - 1] -= shift
                    cigars[at + 1] += shift


@njit
def _positions(
    cigars: NDArray[np.uint32], offsets: NDArray[np.int64], first: Integer, end: Integer
) -> NDArray[np.int64]:
    """Return the offset on the reference of each element of the rows first to end."""
    positions = np.empty(offsets[end] - offsets[first], np.int64)
    for row in range(first, end):
        position = np.int64(0)
        for at in range(offsets[row], offsets[row + 1]):
            positions[at - offsets[first]] = position
            if REFERENCE_OPERATIONS >> (cigars[at] & 15) & 1:
                position += np.int64(cigars[at] >> 4)
    return positions

"""Order of the haplotypes of an active region, without repeats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only
from hapgpu.calling.batches import RegionHaplotypes
from hapgpu.calling.events.cutting import CutHaplotypes
from hapgpu.runtime.jit import njit


def distinct_haplotypes(
    haplotypes: RegionHaplotypes, cut: CutHaplotypes
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort the haplotypes of each active region by length, then by bases.

    Of haplotypes with equal bases the reference is kept, or else the first. Those of which nothing
    is left are excluded.

    Parameters
    ----------
    haplotypes
        h haplotypes of r active regions.
    cut
        Their parts that count.

    Returns
    -------
    order : int64[k]
        Rows of `haplotypes`.
    offsets : int64[r + 1]
        The haplotypes of region k are `order[offsets[k]]` to `order[offsets[k + 1]]`.
    """
    firsts = haplotypes.bases.offsets[:-1]
    order = np.empty(len(haplotypes), dtype=np.int64)
    offsets = np.zeros_like(haplotypes.offsets)
    _sort(
        RaggedView(read_only(haplotypes.bases.data), read_only(firsts + cut.base_starts)),
        read_only(cut.base_ends - cut.base_starts),
        read_only(haplotypes.is_reference),
        read_only(haplotypes.offsets),
        order,
        offsets,
    )
    return order[: offsets[-1]], offsets


@njit
def _sort(
    bases: RaggedView,
    lengths: NDArray[np.int64],
    is_reference: NDArray[np.bool_],
    region_offsets: NDArray[np.int64],
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None:
    """Insert each haplotype; `bases.offsets` are the starts of rows with these lengths."""
    count = np.int64(0)
    for region in range(region_offsets.size - 1):
        first = count
        for row in range(region_offsets[region], region_offsets[region + 1]):
            if lengths[row] <= 0:
                continue
            low, high = first, count
            is_new = True
            while low < high and is_new:
                middle = (low + high) >> 1
                compared = _compare(bases, lengths, row, order[middle])
                if compared == 0:
                    is_new = False
                    if is_reference[row]:
                        order[middle] = row
                elif compared < 0:
                    high = middle
                else:
                    low = middle + 1
            if is_new:
                for k in range(count, low, -1):
                    order[k] = order[k - 1]
                order[low] = row
                count += 1
        offsets[region + 1] = count


@njit
def _compare(
    bases: RaggedView, lengths: NDArray[np.int64], row: Integer, other: Integer
) -> Integer:
    """Return a number below, equal to or above 0: the order of two haplotypes."""
    if lengths[row] != lengths[other]:
        return np.int64(lengths[row] - lengths[other])
    start, other_start = bases.offsets[row], bases.offsets[other]
    for k in range(lengths[row]):
        base, other_base = bases.data[start + k], bases.data[other_start + k]
        if base != other_base:
            return np.int64(base) - np.int64(other_base)
    return np.int64(0)

"""Anchors: every occurrence of every seed, sorted by position on the reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.batches import SPAN_SHIFT, TANDEM, Anchors, Seeds
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit

_0, _1, _2, _32, _63 = map(np.uint64, (0, 1, 2, 32, 63))
_LOW_HALF = np.uint64(2**32 - 1)
_SPAN_SHIFT, _TANDEM = map(np.uint64, (SPAN_SHIFT, TANDEM))


def expand_anchors(index: MinimizerIndex, seeds: Seeds, lengths: NDArray[np.int32]) -> Anchors:
    """Return the anchors of n reads, each read's sorted by x; ties in minimap2's order.

    Parameters
    ----------
    seeds
        Seeds of n reads, found in `index`.
    lengths
        int32[n]: lengths of the reads in bases.
    """
    offsets = np.empty_like(seeds.offsets)
    _count(read_only(seeds.occurrence_counts), read_only(seeds.offsets), offsets)
    x = np.empty(offsets[-1], dtype=np.uint64)
    y = np.empty(offsets[-1], dtype=np.uint64)
    _expand(
        read_only(index.occurrences),
        read_only(seeds.positions),
        read_only(seeds.spans),
        read_only(seeds.is_tandem),
        read_only(seeds.first_occurrences),
        read_only(seeds.occurrence_counts),
        read_only(seeds.offsets),
        read_only(lengths),
        x,
        y,
    )
    _sort_reads(x, y, read_only(offsets))
    return Anchors(x, y, offsets)


@njit
def _count(
    occurrence_counts: NDArray[np.int32],
    seed_offsets: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> None:
    """Set the offset of the first anchor of each read."""
    total = np.int64(0)
    for read in range(offsets.size - 1):
        offsets[read] = total
        for seed in range(np.uint64(seed_offsets[read]), np.uint64(seed_offsets[read + 1])):
            total += occurrence_counts[seed]
    offsets[offsets.size - 1] = total


@njit
def _expand(
    occurrences: NDArray[np.uint64],
    positions: NDArray[np.uint32],
    spans: NDArray[np.uint8],
    is_tandem: NDArray[np.uint8],
    first_occurrences: NDArray[np.int64],
    occurrence_counts: NDArray[np.int32],
    offsets: NDArray[np.int64],
    lengths: NDArray[np.int32],
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
) -> None:
    """Write the anchors of each seed in the order of its occurrences, seed by seed."""
    anchor = _0
    for read in range(lengths.size):
        length = np.uint64(lengths[read])
        for seed in range(np.uint64(offsets[read]), np.uint64(offsets[read + 1])):
            stranded = np.uint64(positions[seed])
            span = np.uint64(spans[seed])
            flags = span << _SPAN_SHIFT | (_TANDEM if is_tandem[seed] else _0)
            forward = flags | stranded >> _1
            reverse = flags | (length + span - (stranded >> _1) - _2)
            first = np.uint64(first_occurrences[seed])
            for occurrence in range(first, first + np.uint64(occurrence_counts[seed])):
                target = occurrences[occurrence]
                is_reverse = (target ^ stranded) & _1
                x[anchor] = is_reverse << _63 | target >> _32 << _32 | (target & _LOW_HALF) >> _1
                y[anchor] = reverse if is_reverse else forward
                anchor += _1


@njit
def _sort_reads(x: NDArray[np.uint64], y: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None:
    """Sort the anchors of each read by x."""
    for read in range(offsets.size - 1):
        radix_sort(x, y, offsets[read], offsets[read + 1])

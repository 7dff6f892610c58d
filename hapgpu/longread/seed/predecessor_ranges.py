"""Predecessor ranges: numbers of possible predecessors per anchor, a measure of chaining work."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.batches import Anchors
from hapgpu.longread.parameters import ChainParameters
from hapgpu.runtime.jit import njit

BINS: Final = (0, 1, 6, 17, 65, 257, 1025)
"""Starts of the histogram's bins, as in figure 6 of Sadasivan et al. 2023; the last is open."""

_32 = np.uint64(32)


@dataclass(frozen=True, slots=True)
class RangeStatistics:
    """Summary of the predecessor ranges of a batch of reads.

    Attributes
    ----------
    reads, anchors
        Numbers of reads and anchors.
    mean, max
        Mean and maximum of the predecessor ranges; 0 without anchors.
    cut_points
        Number of anchors without predecessors; chaining can be split there.
    histogram
        Number of anchors by predecessor range: `0`, `1-5`, ... `>1024`.
    """

    reads: int
    anchors: int
    mean: float
    max: int
    cut_points: int
    histogram: dict[str, int]


def range_statistics(anchors: Anchors, parameters: ChainParameters) -> RangeStatistics:
    """Return statistics of the predecessor ranges of anchors."""
    ranges = predecessor_ranges(anchors, parameters)
    per_bin = np.bincount(np.searchsorted(BINS, ranges, side="right") - 1, minlength=len(BINS))
    return RangeStatistics(
        reads=len(anchors),
        anchors=ranges.size,
        mean=float(ranges.mean()) if ranges.size else 0.0,
        max=int(ranges.max(initial=0)),
        cut_points=int(per_bin[0]),
        histogram=dict(zip(_bin_names(), per_bin.tolist(), strict=True)),
    )


def _bin_names() -> list[str]:
    inner = [f"{start}-{end - 1}" for start, end in pairwise(BINS[1:])]
    return [str(BINS[0]), *inner, f">{BINS[-1] - 1}"]


def predecessor_ranges(anchors: Anchors, parameters: ChainParameters) -> NDArray[np.int32]:
    """Return int32[a]: the largest number of predecessors that chaining visits for each anchor.

    These are the nearest anchors of the read on the same strand of the same sequence, within
    `parameters.max_distance_x` bases, at most `parameters.max_iterations` (`i - st` in Li 2018,
    Bioinformatics 34:3094).
    """
    ranges = np.empty(anchors.x.size, dtype=np.int32)
    _find_ranges(
        read_only(anchors.x),
        read_only(anchors.offsets),
        parameters.max_distance_x,
        parameters.max_iterations,
        ranges,
    )
    return ranges


@njit
def _find_ranges(
    x: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    max_distance: int,
    max_iterations: int,
    ranges: NDArray[np.int32],
) -> None:
    max_step = np.uint64(max_distance)
    for read in range(offsets.size - 1):
        first: Integer = offsets[read]
        for anchor in range(offsets[read], offsets[read + 1]):
            own_x = x[anchor]
            while x[first] >> _32 != own_x >> _32 or own_x - x[first] > max_step:
                first += 1
            first = max(first, anchor - max_iterations)
            ranges[anchor] = anchor - first

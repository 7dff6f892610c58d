"""How many predecessors the anchors of reads may have: the work that chaining them is."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.batches import Anchors
from hapgpu.chaining.parameters import ChainParameters
from hapgpu.runtime.jit import njit

BINS: Final = (0, 1, 6, 17, 65, 257, 1025)
"""Where the bins of the histogram begin, as in figure 6 of Sadasivan et al. 2023; 1025 is open."""

_32 = np.uint64(32)


@dataclass(frozen=True, slots=True)
class RangeStatistics:
    """Predecessor ranges of the anchors of some reads.

    Attributes
    ----------
    reads, anchors
        Their numbers.
    mean, max
        The mean and the largest predecessor range; 0 without anchors.
    cut_points
        Anchors without predecessors, where the problem of chaining falls into two.
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
    """Describe how many predecessors the anchors may have."""
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
    inner = [f"{begin}-{end - 1}" for begin, end in pairwise(BINS[1:])]
    return [str(BINS[0]), *inner, f">{BINS[-1] - 1}"]


def predecessor_ranges(anchors: Anchors, parameters: ChainParameters) -> NDArray[np.int32]:
    """int32[a]: how many of the anchors before each are tried as its predecessor at most.

    These are the nearest ones of the read that lie on the same strand of the same sequence,
    within `parameters.max_distance_x` bases, up to `parameters.max_iterations` (`i - st` in Li
    2018, Bioinformatics 34:3094).
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
    farthest = np.uint64(max_distance)
    for read in range(offsets.size - 1):
        first: Integer = offsets[read]
        for anchor in range(offsets[read], offsets[read + 1]):
            here = x[anchor]
            while x[first] >> _32 != here >> _32 or here - x[first] > farthest:
                first += 1
            first = max(first, anchor - max_iterations)
            ranges[anchor] = anchor - first

"""Parameters of chaining, derived from the options and the k-mer length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.options import ChainOptions

GAP_SCALE: Final = 0.8
INNER_DISTANCE: Final = 1000
MAX_CANDIDATES: Final = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class ChainParameters:
    """Parameters of chaining: limits on predecessors, gap costs, limits on chains.

    Attributes
    ----------
    max_distance_x, max_distance_y
        Largest distance in bases between consecutive anchors, on the reference and on the read.
    bandwidth
        Largest difference of diagonals between consecutive anchors.
    penalties
        uint16[bandwidth + 1]: gap cost by difference of diagonals.
    max_skip, max_iterations
        As in `ChainOptions`.
    min_count, min_score
        Fewest anchors and lowest score of a chain.
    """

    max_distance_x: int
    max_distance_y: int
    bandwidth: int
    penalties: NDArray[np.uint16]
    max_skip: int
    max_iterations: int
    min_count: int
    min_score: int


@dataclass(frozen=True, slots=True, eq=False)
class JoinParameters:
    """Parameters of the long join.

    Attributes
    ----------
    max_distance, inner_distance
        Largest distance in bases to any predecessor, and to one of those visited one by one.
    max_candidates
        Only so many nearest anchors can be predecessors.
    bandwidth, penalties
        As in `ChainParameters`.
    slope
        Priority of a predecessor with score f is f + 0.5 * slope * (sum of its two positions).
    max_skip, min_count, min_score
        As in `ChainParameters`.
    """

    max_distance: int
    inner_distance: int
    max_candidates: int
    bandwidth: int
    penalties: NDArray[np.uint16]
    slope: float
    max_skip: int
    min_count: int
    min_score: int


def chain_parameters(options: ChainOptions, k: int) -> ChainParameters:
    """Return the parameters for minimizers of k bases (minimap2 2.30, `mg_lchain_dp`)."""
    distance = max(options.max_gap, options.bandwidth)
    return ChainParameters(
        max_distance_x=distance,
        max_distance_y=distance,
        bandwidth=options.bandwidth,
        penalties=gap_penalties(options.bandwidth, k),
        max_skip=options.max_skip,
        max_iterations=options.max_iterations,
        min_count=options.min_count,
        min_score=options.min_score,
    )


def join_parameters(options: ChainOptions, k: int) -> JoinParameters | None:
    """Return the parameters of the long join (`mg_lchain_rmq`); None without a join."""
    if not options.joins or options.long_bandwidth <= options.bandwidth:
        return None
    distance = max(options.max_gap, options.long_bandwidth)
    return JoinParameters(
        max_distance=distance,
        inner_distance=min(INNER_DISTANCE, distance),
        max_candidates=MAX_CANDIDATES,
        bandwidth=options.long_bandwidth,
        penalties=gap_penalties(options.long_bandwidth, k),
        slope=float(gap_slope(k)),
        max_skip=options.max_skip,
        min_count=options.min_count,
        min_score=options.min_score,
    )


def gap_slope(k: int) -> np.float32:
    """Return the cost per base of difference between diagonals, rounded as in minimap2."""
    return np.float32(float(np.float32(GAP_SCALE)) * 0.01 * k)


def gap_penalties(bandwidth: int, k: int) -> NDArray[np.uint16]:
    """Return uint16[bandwidth + 1]: (int)(slope * d + 0.5 * log2(d + 1)) in float32, unfused."""
    difference = np.arange(bandwidth + 1, dtype=np.float32)
    logarithm = approximate_log2(difference + np.float32(1))
    logarithm[0] = 0
    cost = gap_slope(k) * difference + np.float32(0.5) * logarithm
    return cost.astype(np.int32).astype(np.uint16)


def approximate_log2(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return float32[n]: minimap2's `mg_log2` of `values`, float32[n] above 0, by a parabola."""
    bits = values.view(np.int32)
    exponent = ((bits >> 23) & 255) - 128
    mantissa = ((bits & ~np.int32(255 << 23)) | np.int32(127 << 23)).view(np.float32)
    parabola = np.float32(-0.34484843) * mantissa + np.float32(2.02466578)
    return exponent.astype(np.float32) + (parabola * mantissa - np.float32(0.67487759))

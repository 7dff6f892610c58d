"""Widths of bands, by the scores of the groups before."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.align.dp.certificate import is_certified
from hapgpu.chaining.align.fills.groups import Width, width_of
from hapgpu.chaining.align.scoring import Costs
from hapgpu.runtime.jit import njit

_STEP: Final = 4

_MAX_GROWTH: Final = 3
"""Of a width from one group to the next: scores in a band that is too narrow say little."""


@njit
def next_width(
    width: Width,
    scores: NDArray[np.int32],
    pairs: NDArray[np.int64],
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    costs: Costs,
) -> Width:
    """Return the width for the next group of pairs, halfway to that which suits the last one.

    A band of the latter would certify nine tenths of the group.

    Parameters
    ----------
    width
        Width of the group's band.
    scores, target_lengths, query_lengths
        int32[all pairs]: scores, which may be too low, and lengths.
    pairs
        int64: the pairs of the group.
    costs
        The costs.
    """
    diagonals: Any = 0
    certified: Any = -1
    while certified * 10 < pairs.size * 9 and diagonals < _MAX_GROWTH * width.diagonals:
        diagonals += _STEP
        certified = 0
        for pair in pairs:
            target_length = np.int64(target_lengths[pair])
            query_length = np.int64(query_lengths[pair])
            difference: Any = target_length - query_length
            reach = width_of(target_length, Width(diagonals, width.target_length))
            certified += is_certified(
                np.int64(scores[pair]),
                target_length,
                query_length,
                min(0, difference) - reach,
                max(0, difference) + reach,
                costs,
            )
    return Width((width.diagonals + diagonals) // 2, width.target_length)

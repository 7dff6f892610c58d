"""Width of the bands of a block of pairs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.dp.certificate import is_certified
from hapgpu.chaining.align.scoring import Costs
from hapgpu.runtime.jit import njit

_WIDTH_STEP: Final = 4

_MAX_WIDTH: Final = 64
"""Of the width chosen by scores: those of a band that is too narrow say little."""


@njit
def certified_width(
    scores: NDArray[np.int32],
    pairs: NDArray[np.int64],
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    costs: Costs,
) -> Integer:
    """Return the width of a band that would certify nine tenths of some pairs with their scores.

    Parameters
    ----------
    scores, target_lengths, query_lengths
        int32[all pairs]: scores, which may be too low, and lengths.
    pairs
        int64: the pairs.
    costs
        The costs.
    """
    width, certified = 0, -1
    while certified * 10 < pairs.size * 9 and width < _MAX_WIDTH:
        width += _WIDTH_STEP
        certified = 0
        for pair in pairs:
            target_length = np.int64(target_lengths[pair])
            query_length = np.int64(query_lengths[pair])
            difference: Any = target_length - query_length
            certified += is_certified(
                np.int64(scores[pair]),
                target_length,
                query_length,
                min(0, difference) - width,
                max(0, difference) + width,
                costs,
            )
    return width

"""Terms of mapping quality, of mappings with and without alignment, in float32 as in minimap2.

(Li 2018, Bioinformatics 34:3094.)
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from hapgpu.arrays.bytes import Integer
from hapgpu.runtime.jit import njit_inlined

MAX_QUALITY: Final = 60
ONE: Final = np.float32(1)
SCALE: Final = np.float32(40)
ROUNDING: Final = np.float32(0.499)
_PHRED: Final = np.float32(4.343)
_PER_SCORE: Final = np.float32(0.01)
_PER_ANCHOR: Final = np.float32(0.1)
_FULL_SCORE: Final = 100
_FULL_COUNT: Final = 10


@njit_inlined
def unique_fraction_of(total: Integer, repeat_length: Integer) -> Any:
    """Return the share of the primaries' total score in it and the bases of dropped seeds."""
    total_with_repeats = np.float32(max(total + repeat_length, 1))
    return np.float32(np.float32(total) / total_with_repeats)


@njit_inlined
def weight_of(score: Integer, count: Integer, unique_fraction: np.float32) -> Any:
    """Return the weight of a chain: less for a low score, few anchors and repeats."""
    by_score = ONE if score > _FULL_SCORE else _PER_SCORE * np.float32(score)
    by_score = np.float32(by_score * unique_fraction)
    by_count = ONE if count > _FULL_COUNT else _PER_ANCHOR * np.float32(count)
    return min(by_score, by_count)


@njit_inlined
def cost_of_rivals(rivals: Integer) -> Any:
    """Return the quality that a mapping loses if other mappings are as good."""
    return np.int64(np.float32(_PHRED * math.log(np.float32(rivals + 1))) + ROUNDING)


@njit_inlined
def limited(quality: Integer) -> Any:
    """Return a quality within 0 and `MAX_QUALITY`."""
    return min(max(quality, np.int64(0)), np.int64(MAX_QUALITY))

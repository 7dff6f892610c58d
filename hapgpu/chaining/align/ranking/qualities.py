"""Mapping quality of aligned mappings.

Formulas and precision are minimap2's (Li 2018, Bioinformatics 34:3094; Li 2021, Bioinformatics
37:4572).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.quality.terms import (
    ONE,
    ROUNDING,
    SCALE,
    cost_of_rivals,
    limited,
    unique_fraction_of,
    weight_of,
)
from hapgpu.chaining.sort.cpu import radix_sort
from hapgpu.runtime.jit import njit, njit_inlined

_PER_MATCH: Final = np.float32(6.02)
_32: Final = np.uint64(32)


@njit
def set_qualities(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    repeat_lengths: NDArray[np.int32],
    match: Integer,
    min_chain_score: Integer,
) -> None:
    """Set `quality`: of primaries by their scores, of inversions by their neighbours, else 0."""
    for read in range(repeat_lengths.size):
        start, end = offsets[read], offsets[read + 1]
        total = np.int64(0)
        has_inversion = False
        for row in range(start, end):
            mapping = mappings[row]
            mapping.quality = 0
            has_inversion |= mapping.is_inversion != 0
            if mapping.parent == mapping.number:
                total += mapping.score
        unique_fraction = unique_fraction_of(total, repeat_lengths[read])
        for row in range(start, end):
            mapping = mappings[row]
            if mapping.parent == mapping.number and not mapping.is_inversion:
                weight = weight_of(mapping.score, mapping.anchors, unique_fraction)
                mapping.quality = _quality(mapping, weight, match, min_chain_score)
        if has_inversion:
            _set_qualities_of_inversions(mappings, start, end)


@njit_inlined
def _quality(mapping: Any, weight: np.float32, match: Integer, min_chain_score: Integer) -> Any:
    """Return the mapping quality of a primary mapping, in float32."""
    identity = np.float32(np.float32(mapping.matches) / np.float32(mapping.length))
    scale = np.float32(np.float32(identity * weight) * SCALE)
    dp_max, second = np.int64(mapping.dp_max), np.int64(mapping.second_dp_max)
    per_match = np.float32(np.float32(dp_max) / np.float32(match))
    logarithm = np.float32(math.log(per_match))
    chain_score = np.float32(max(np.int64(mapping.second_score), min_chain_score))
    if second > 0 and dp_max > 0:
        ratio = np.float32(np.float32(second) * chain_score)
        ratio = np.float32(ratio / np.float32(dp_max))
        ratio = np.float32(ratio / np.float32(mapping.first_score))
        distinctness = np.float32(ONE - np.float32(ratio * ratio))
        quality = np.int64(np.float32(np.float32(scale * distinctness) * logarithm))
        difference = np.float32(np.float32(_PER_MATCH * identity) * identity)
        difference = np.float32(difference * np.float32(dp_max - second))
        difference = np.float32(difference / np.float32(match))
        quality = min(quality, np.int64(np.float32(difference + ROUNDING)))
    else:
        distinctness = np.float32(ONE - np.float32(chain_score / np.float32(mapping.first_score)))
        quality = np.int64(np.float32(np.float32(scale * distinctness) * logarithm))
    quality = limited(quality - cost_of_rivals(mapping.rivals))
    return max(quality, np.int64(dp_max > second))


@njit
def _set_qualities_of_inversions(mappings: NDArray[np.void], start: Integer, end: Integer) -> None:
    """Set the quality of an inversion to the lower one of its neighbours on the reference.

    Neighbours are primary; there must be one on both sides.
    """
    keys = np.empty(end - start, dtype=np.uint64)
    rows = np.empty(end - start, dtype=np.uint64)
    count = np.int64(0)
    for row in range(start, end):
        mapping = mappings[row]
        if mapping.parent == row - start or mapping.parent < 0:
            keys[count] = np.uint64(mapping.sequence) << _32 | np.uint64(mapping.target_start)
            rows[count] = np.uint64(row)
            count += 1
    radix_sort(keys, rows, 0, count)
    for k in range(1, count - 1):
        mapping = mappings[np.int64(rows[k])]
        if mapping.is_inversion:
            before, behind = mappings[np.int64(rows[k - 1])], mappings[np.int64(rows[k + 1])]
            mapping.quality = min(before.quality, behind.quality)

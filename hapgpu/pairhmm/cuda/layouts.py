"""Layouts of haplotypes on the lanes of the CUDA pair-HMM (`cuda/pairhmm/forward.cu`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

WARP_LANES = 32
LANES = (2, 4, 8, 16, 32)
COLUMNS = tuple(range(4, 65, 4))
"""Numbers of columns that a lane may hold in registers; one kernel is compiled for each."""

LETTERS = 4
_COLUMNS_PER_WORD = 28

MAX_MASK_WORDS: Final = 2**31 - 1
"""Largest number of words of the masks of a piece: their offsets, `mask_starts`, are int32."""

_WORD_BYTES = 4
_SMALL_MASK_BYTES = 1 << 24  # for which no GPU is too small

# Instructions of a lane per cell and per row, counted in the machine code for sm_90.
_CELL_COST = 5.15
_ROW_COST = 19
_TYPICAL_READ = 120
_TYPICAL_LANES = 4

_MIN_FRACTION = 0.04
"""Fraction of the work below which haplotypes join a wider layout: each launch has idle ends."""


@dataclass(frozen=True, slots=True, order=True)
class LaneLayout:
    """Lanes that share a haplotype, and columns that each lane holds in registers."""

    columns: int
    lanes: int

    @property
    def width(self) -> int:
        """The longest haplotype that fits."""
        return self.columns * self.lanes

    @property
    def pairs_per_warp(self) -> int:
        """Pairs that a warp computes at a time."""
        return WARP_LANES // self.lanes

    @property
    def mask_words(self) -> int:
        """32-bit words of the masks of one haplotype."""
        return -(-self.columns // _COLUMNS_PER_WORD) * LETTERS * self.lanes

    @property
    def cost(self) -> float:
        """Instructions of all lanes for a pair with a read of typical length."""
        steps = _TYPICAL_READ + self.lanes - 1
        return self.lanes * steps * (_CELL_COST * self.columns + _ROW_COST)


LONGEST_HAPLOTYPE = LaneLayout(max(COLUMNS), max(LANES)).width
"""Longer haplotypes are computed in float64, by a kernel without layouts."""


def masks_fit(words: int, memory: Callable[[], int]) -> bool:
    """Return whether the masks of a piece are small enough, for their offsets and for the GPU.

    `memory` returns the bytes that a piece may use; large masks may take a fourth of them.
    """
    size = _WORD_BYTES * words
    return words <= MAX_MASK_WORDS and (size <= _SMALL_MASK_BYTES or size <= memory() // 4)


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """The layouts in use, and the layout of each haplotype.

    Attributes
    ----------
    layouts
        In the order of their numbers.
    numbers
        int32[h], the number of each haplotype's layout; `len(layouts)` if it is too long for all.
    """

    layouts: tuple[LaneLayout, ...]
    numbers: NDArray[np.int32]


def plan_layouts(
    lengths: NDArray[np.int64], pairs: NDArray[np.int64], min_warps: int
) -> LayoutPlan:
    """Choose a layout for each haplotype, with few layouts in all.

    Parameters
    ----------
    lengths
        int64[h], bases of the haplotypes, at least 1.
    pairs
        int64[h], the number of pairs of each haplotype.
    min_warps
        Number of warps that keep the device busy. With too few pairs for them, all haplotypes
        share one layout with more lanes per pair.
    """
    fitting = lengths <= LONGEST_HAPLOTYPE
    if not fitting.any():
        return LayoutPlan((), np.zeros(lengths.size, dtype=np.int32))
    if pairs.sum() < min_warps * WARP_LANES // _TYPICAL_LANES:
        lanes = WARP_LANES * min_warps // max(1, int(pairs.sum()))
        only = _layout_for_all(int(lengths[fitting].max()), lanes)
        return LayoutPlan((only,), np.where(fitting, 0, 1).astype(np.int32))
    layouts, best_layout = _best_layouts()
    best = best_layout[np.minimum(lengths, LONGEST_HAPLOTYPE + 1)]
    work = np.bincount(best, np.maximum(pairs * lengths, 1), len(layouts) + 1)[:-1]
    joined = _joined_layouts(work.tolist())
    used = sorted(set(joined.values()))
    numbers = np.full(len(layouts) + 1, len(used), dtype=np.int32)
    for number, wider in joined.items():
        numbers[number] = used.index(wider)
    return LayoutPlan(tuple(layouts[k] for k in used), numbers[best])


def _layout_for_all(longest: int, min_lanes: int) -> LaneLayout:
    """Return the layout with the fewest lanes, then the fewest columns, for the longest haplotype.

    Of at least `min_lanes` lanes, or all lanes of a warp.
    """
    allowed = [lanes for lanes in LANES if lanes >= min_lanes] or [LANES[-1]]
    wide = [lanes for lanes in allowed if lanes * COLUMNS[-1] >= longest] or [LANES[-1]]
    columns = next(c for c in COLUMNS if c * wide[0] >= longest)
    return LaneLayout(columns, wide[0])


@functools.cache
def _best_layouts() -> tuple[list[LaneLayout], NDArray[np.int64]]:
    """Return all layouts by width, and the number of the cheapest for each haplotype length.

    Lengths up to `LONGEST_HAPLOTYPE` + 1; this one has no layout, and the number of layouts.
    """
    layouts = sorted(
        (LaneLayout(columns, lanes) for columns in COLUMNS for lanes in LANES),
        key=lambda layout: (layout.width, layout.cost),
    )
    costs = np.array([layout.cost for layout in layouts])
    widths = np.array([layout.width for layout in layouts])
    best = np.full(LONGEST_HAPLOTYPE + 2, len(layouts), dtype=np.int64)
    for length in range(LONGEST_HAPLOTYPE + 1):
        best[length] = np.argmin(np.where(widths >= length, costs, np.inf))
    return layouts, best


def _joined_layouts(work: list[float]) -> dict[int, int]:
    """Return the layout that each used layout joins, itself or a wider one; both by number."""
    used = [number for number, cells in enumerate(work) if cells]
    min_cells = _MIN_FRACTION * sum(work)
    joined: dict[int, int] = {}
    joining: list[int] = []
    cells = 0.0
    for number in used:
        joining.append(number)
        cells += work[number]
        if cells >= min_cells or number == used[-1]:
            joined.update(dict.fromkeys(joining, number))
            joining, cells = [], 0.0
    return joined

"""How haplotypes are laid out on the lanes of the CUDA pair-HMM (`cuda/pairhmm/forward.cu`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WARP_LANES = 32
LANES = (2, 4, 8, 16, 32)
COLUMNS = tuple(range(4, 65, 4))
"""What a lane may hold in registers; one kernel is compiled for each."""

LETTERS = 4
_COLUMNS_PER_WORD = 28

# Instructions of a lane per cell and per row, counted in the machine code for sm_90.
_CELL_COST = 5.15
_ROW_COST = 19
_TYPICAL_READ = 120
_USUAL_LANES = 4

_SMALLEST_SHARE = 0.04
"""Share of the work below which haplotypes join a wider layout: each launch has idle ends."""


@dataclass(frozen=True, slots=True, order=True)
class LaneLayout:
    """Lanes that share a haplotype, and columns that each lane holds in registers."""

    columns: int
    lanes: int

    @property
    def width(self) -> int:
        """Longest haplotype that fits."""
        return self.columns * self.lanes

    @property
    def groups(self) -> int:
        """Pairs that a warp works on at a time."""
        return WARP_LANES // self.lanes

    @property
    def mask_words(self) -> int:
        """32-bit words of the masks of one haplotype."""
        return -(-self.columns // _COLUMNS_PER_WORD) * LETTERS * self.lanes

    @property
    def cost(self) -> float:
        """Lane instructions for a pair with a read of typical length."""
        steps = _TYPICAL_READ + self.lanes - 1
        return self.lanes * steps * (_CELL_COST * self.columns + _ROW_COST)


LONGEST_HAPLOTYPE = LaneLayout(max(COLUMNS), max(LANES)).width
"""Longer ones are computed in float64, by a kernel without layouts."""


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """The layouts in use, and the one of each haplotype.

    Attributes
    ----------
    layouts
        In the order of their numbers.
    numbers
        int32[h], the layout of each haplotype; `len(layouts)` where it is too long for any.
    """

    layouts: tuple[LaneLayout, ...]
    numbers: NDArray[np.int32]

    def slice(self, start: int, stop: int) -> LayoutPlan:
        """Keep haplotypes start to stop."""
        return LayoutPlan(self.layouts, self.numbers[start:stop])


def plan_layouts(
    lengths: NDArray[np.int64], pairs: NDArray[np.int64], fewest_warps: int
) -> LayoutPlan:
    """Choose a layout for each haplotype, few of them in all.

    Parameters
    ----------
    lengths
        int64[h], bases of the haplotypes, at least 1.
    pairs
        int64[h], pairs that each is part of.
    fewest_warps
        Warps that keep the device busy. Where there are too few pairs for them, all share one
        layout with more lanes to a pair.
    """
    fitting = lengths <= LONGEST_HAPLOTYPE
    if not fitting.any():
        return LayoutPlan((), np.zeros(lengths.size, dtype=np.int32))
    if pairs.sum() < fewest_warps * WARP_LANES // _USUAL_LANES:
        lanes = WARP_LANES * fewest_warps // max(1, int(pairs.sum()))
        only = _layout_for_all(int(lengths[fitting].max()), lanes)
        return LayoutPlan((only,), np.where(fitting, 0, 1).astype(np.int32))
    menu, best = _best_layouts()
    choice = best[np.minimum(lengths, LONGEST_HAPLOTYPE + 1)]
    work = np.bincount(choice, np.maximum(pairs * lengths, 1), len(menu) + 1)[:-1]
    stand_ins = _stand_ins(work.tolist())
    used = sorted(set(stand_ins.values()))
    numbers = np.full(len(menu) + 1, len(used), dtype=np.int32)
    for number, stand_in in stand_ins.items():
        numbers[number] = used.index(stand_in)
    return LayoutPlan(tuple(menu[k] for k in used), numbers[choice])


def _layout_for_all(longest: int, lanes_wanted: int) -> LaneLayout:
    """Take the fewest lanes that are enough, and columns for the longest haplotype."""
    enough = [lanes for lanes in LANES if lanes >= lanes_wanted] or [LANES[-1]]
    wide = [lanes for lanes in enough if lanes * COLUMNS[-1] >= longest] or [LANES[-1]]
    columns = next(c for c in COLUMNS if c * wide[0] >= longest)
    return LaneLayout(columns, wide[0])


@functools.cache
def _best_layouts() -> tuple[list[LaneLayout], NDArray[np.int64]]:
    """All layouts by width, and the number of the cheapest for each haplotype length.

    Lengths up to one more than the longest: that one has none, and the number behind the last.
    """
    menu = sorted(
        (LaneLayout(columns, lanes) for columns in COLUMNS for lanes in LANES),
        key=lambda layout: (layout.width, layout.cost),
    )
    costs = np.array([layout.cost for layout in menu])
    widths = np.array([layout.width for layout in menu])
    best = np.full(LONGEST_HAPLOTYPE + 2, len(menu), dtype=np.int64)
    for length in range(LONGEST_HAPLOTYPE + 1):
        best[length] = np.argmin(np.where(widths >= length, costs, np.inf))
    return menu, best


def _stand_ins(work: list[float]) -> dict[int, int]:
    """Let a wider layout stand in for each that has little work; both by number."""
    used = [number for number, cells in enumerate(work) if cells]
    least = _SMALLEST_SHARE * sum(work)
    stand_ins: dict[int, int] = {}
    joining: list[int] = []
    cells = 0.0
    for number in used:
        joining.append(number)
        cells += work[number]
        if cells >= least or number == used[-1]:
            stand_ins.update(dict.fromkeys(joining, number))
            joining, cells = [], 0.0
    return stand_ins

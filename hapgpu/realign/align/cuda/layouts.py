"""Layouts of pairs on the lanes of the CUDA aligner (`cuda/realign/align.cu`)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

WARP_LANES = 32
MAX_THREADS_PER_BLOCK = 128
MAX_WARPS_PER_BLOCK = MAX_THREADS_PER_BLOCK // WARP_LANES
ROWS_PER_WORD = 8

# Instructions of a lane per cell and per row, counted in the machine code for sm_90.
_CELL_COST = 14.5
_ROW_COST = 40


@dataclass(frozen=True, slots=True, order=True)
class StripeLayout:
    """Lanes that share a pair, columns that each lane holds in registers, and stripes.

    Each of the `lanes * stripes` slots has `columns` or `columns - 1` columns of the query.
    """

    columns: int
    lanes: int
    stripes: int

    @property
    def pairs_per_warp(self) -> int:
        """Pairs that a warp aligns at a time."""
        return WARP_LANES // self.lanes

    def cost(self, rows: int) -> float:
        """Return the instructions of all lanes for a pair with `rows` reference bases."""
        steps = (rows + self.lanes - 1) * self.stripes
        return self.lanes * steps * (_CELL_COST * self.columns + _ROW_COST)


@functools.cache
def choose_layout(
    query_length: int, rows: int, max_columns: int, least_lanes: int = 1
) -> StripeLayout:
    """Return the layout with the fewest instructions for a query and `rows` reference bases.

    Parameters
    ----------
    query_length, rows
        Bases of query and reference, at least 1.
    max_columns
        Columns that a lane can hold in registers.
    least_lanes
        Lanes that share a pair at least, if the query has as many bases: few pairs do not occupy
        the GPU, and more lanes are sooner done.
    """
    numbers = [lanes for lanes in (1, 2, 4, 8, 16, 32) if lanes == 1 or lanes <= query_length]
    numbers = [lanes for lanes in numbers if lanes >= least_lanes] or numbers[-1:]
    layouts = [_fit(query_length, lanes, max_columns) for lanes in numbers]
    fitting = [layout for layout in layouts if layout.stripes == 1] or layouts[-1:]
    return min(fitting, key=lambda layout: layout.cost(rows))


def _fit(query_length: int, lanes: int, max_columns: int) -> StripeLayout:
    stripes = -(-query_length // (lanes * max_columns))
    return StripeLayout(-(-query_length // (lanes * stripes)), lanes, stripes)


@dataclass(frozen=True, slots=True)
class ScratchLayout:
    """Offsets of the sections of a warp's scratch memory, in 32-bit words (`Scratch` in CUDA)."""

    blocks_per_stripe: int
    last_row_at: int
    borders_at: int
    runs_at: int
    run_capacity: int
    words: int


def scratch_layout(
    layout: StripeLayout, rows: int, query_length: int, *, score_words: int, with_trace: bool
) -> ScratchLayout:
    """Return the layout of the scratch memory for pairs up to a size.

    Parameters
    ----------
    layout
        The layout of the pairs on the lanes.
    rows, query_length
        Lengths of the longest reference and query.
    score_words
        32-bit words of a score.
    with_trace
        Whether directions and CIGARs are kept.
    """
    blocks = -(-(rows + layout.lanes - 1) // ROWS_PER_WORD)
    slots = layout.stripes * layout.columns * WARP_LANES
    # Each insertion or match uses a column; each deletion except the first is between two.
    capacity = 2 * query_length + 4 if with_trace else 0
    sizes = (
        slots * blocks if with_trace else 0,
        slots,
        2 * score_words * layout.pairs_per_warp * rows if layout.stripes > 1 else 0,
        layout.pairs_per_warp * capacity,
    )
    starts = [0]
    for size in sizes:
        starts.append(starts[-1] + -(-size // WARP_LANES) * WARP_LANES)
    _, last_row_at, borders_at, runs_at, words = starts
    return ScratchLayout(blocks, last_row_at, borders_at, runs_at, capacity, words)


@dataclass(frozen=True, slots=True)
class Grid:
    """Thread blocks of a launch, and warps per block."""

    blocks: int
    warps_per_block: int

    @property
    def warps(self) -> int:
        """Warps of the launch; each needs scratch memory."""
        return self.blocks * self.warps_per_block

    @property
    def threads_per_block(self) -> int:
        """Threads per block."""
        return self.warps_per_block * WARP_LANES


def choose_grid(needed: int, resident: int, affordable: int, multiprocessors: int) -> Grid:
    """Return a grid of as many warps as have work, run at a time, and fit the memory.

    Few warps are spread over the multiprocessors, one per block; at least one warp is launched.

    Parameters
    ----------
    needed, resident, affordable
        Numbers of warps that have work, that run at a time, and that have scratch memory.
    multiprocessors
        Multiprocessors of the device.
    """
    warps = max(1, min(needed, resident, affordable))
    per_block = min(max(1, warps // multiprocessors), MAX_WARPS_PER_BLOCK)
    return Grid(warps // per_block, per_block)

"""Bands of a matrix: the lanes of each antidiagonal, and the differences at their ends."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import LANES
from hapgpu.chaining.align.scoring import Costs, gap_cost, is_single_affine
from hapgpu.runtime.jit import njit, njit_inlined

BLOCK: Final = 16
"""Lanes that minimap2 computes together."""
_NOWHERE: Final = -1
_LOWEST_BYTE: Final = -128


class Band(NamedTuple):
    """Cells of a matrix to compute.

    Attributes
    ----------
    query_length, target_length
        Size of the matrix, in bases.
    lowest, highest
        Bounds of the differences: target offset minus query offset.
    leaks
        Cells outside of the band hold what minimap2's blocks compute there, and paths may go
        through them. Otherwise no path does.
    """

    query_length: Integer
    target_length: Integer
    lowest: Integer
    highest: Integer
    leaks: bool


class Borders(NamedTuple):
    """Differences at borders.

    Attributes
    ----------
    bias
        Added to all stored differences u and v.
    opened, opened2
        Differences for a gap that opens at a border, and for all of a cell never computed.
    unreachable
        The same for a gap from outside of a band that does not leak: it is never taken.
    """

    bias: int
    opened: int
    opened2: int
    unreachable: int


class Edge(NamedTuple):
    """Lane with a neighbour outside, `_NOWHERE` if none, and differences for that neighbour."""

    lane: Integer
    difference: Integer
    gap: Integer
    gap2: Integer


@njit_inlined
def lanes_of(band: Band, r: Integer) -> Any:
    """Return the first and the last lane of antidiagonal r that are in the band."""
    start, end = (r + band.lowest + 1) >> 1, (r + band.highest) >> 1
    start = max(start, r - band.query_length + 1, 0)
    end = min(end, r, band.target_length - 1)
    return start, end


@njit
def max_directions(band: Band) -> Any:
    """Return a bound on the bytes of directions: whole blocks, and a vector after the last one."""
    rows = band.query_length + band.target_length
    per_row = (band.highest - band.lowest) // 2 + 1
    cells = min(rows * per_row, band.query_length * band.target_length)
    return cells + rows * 2 * BLOCK + LANES


@njit
def borders_of(costs: Costs) -> Borders:
    """Return the differences at borders."""
    cost = costs.gap_open + costs.gap_extend
    if is_single_affine(costs):
        return Borders(cost, 0, 0, 0)
    cost2 = costs.gap_open2 + costs.gap_extend2
    return Borders(0, -cost, -cost2, costs.match + _LOWEST_BYTE)


@njit
def has_narrow_bands(costs: Costs) -> bool:
    """Return whether a band without leaks has no other paths than those within it.

    Gaps from outside must never be taken nor continued. That holds because the score of a cell is
    at least that of its diagonal neighbour plus the worst score of a pair of bases. And no
    difference may exceed 8 bits, since results beyond them are those of the whole matrix.
    """
    worst = max(costs.mismatch, costs.transition, costs.ambiguous)
    if is_single_affine(costs):
        is_low = worst <= costs.gap_open + 2 * costs.gap_extend
        return is_low and costs.match + 2 * (costs.gap_open + costs.gap_extend) < -_LOWEST_BYTE
    is_low = worst + costs.gap_open2 + costs.match < -_LOWEST_BYTE
    return is_low and costs.match + costs.gap_open + 2 * costs.gap_extend < -_LOWEST_BYTE


@njit_inlined
def border_difference(r: Integer, costs: Costs, borders: Borders) -> Any:
    """Return the difference from the border's score of r bases to the next one."""
    return gap_cost(r, costs) - gap_cost(r + 1, costs) + borders.bias


@njit_inlined
def left_edge(
    band: Band,
    borders: Borders,
    r: Integer,
    start: Integer,
    first: Integer,
    first_before: Integer,
    difference: Integer,
) -> Edge:
    """Return the lane whose neighbour before it on the target lies outside.

    Parameters
    ----------
    band, borders
        The band, and the differences at borders.
    r, start, first
        The antidiagonal, its first lane in the band, and the first lane of its blocks.
    first_before
        The first lane of the blocks of the antidiagonal before.
    difference
        The difference along the border.
    """
    if band.leaks:
        if first == 0:
            return Edge(first, difference, borders.opened, borders.opened2)
        if first == first_before:
            return Edge(first, borders.opened, borders.opened, borders.opened2)
    elif start == 0:
        return Edge(start, difference, borders.opened, borders.opened2)
    elif 2 * start - r == band.lowest:
        return Edge(start, 0, borders.unreachable, borders.unreachable)
    return Edge(_NOWHERE, difference, borders.opened, borders.opened2)


@njit_inlined
def top_edge(
    band: Band, borders: Borders, r: Integer, end: Integer, last: Integer, difference: Integer
) -> Edge:
    """Return the lane whose neighbour before it on the query lies outside; as `left_edge`."""
    if (last if band.leaks else end) >= r:
        return Edge(r, difference, borders.opened, borders.opened2)
    if not band.leaks and 2 * end - r == band.highest:
        return Edge(end, 0, borders.unreachable, borders.unreachable)
    return Edge(_NOWHERE, difference, borders.opened, borders.opened2)

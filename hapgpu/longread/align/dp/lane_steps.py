"""One step of the recurrence for a vector of lanes.

The cells hold differences of scores in 8 bits (Suzuki and Kasahara 2018, BMC Bioinformatics 19:45):
u and v to the neighbours before on the target and on the query, x and y (x2 and y2 for long gaps)
to the scores with an open gap, as in minimap2's `ksw_extd2_sse41` and `ksw_extz2_sse41`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.vectors import (
    larger,
    larger_unsigned,
    smaller,
    smaller_unsigned,
    spread_byte,
    where,
)
from hapgpu.longread.align.dp.results import (
    DELETION_STATE,
    INSERTION_STATE,
    LONG_DELETION_STATE,
    LONG_INSERTION_STATE,
)
from hapgpu.longread.align.parameters import AMBIGUOUS, Costs, has_transitions
from hapgpu.runtime.jit import njit_inlined

Vector: TypeAlias = Any
"""Bytes or integers, one per lane: LLVM's vectors have no types for mypy."""

_TRANSITION_BIT = 2


class Cells(NamedTuple):
    """Differences of a vector of lanes."""

    u: Vector
    v: Vector
    x: Vector
    y: Vector
    x2: Vector
    y2: Vector


@njit_inlined
def pair_scores(target: Vector, query: Vector, costs: Costs) -> Vector:
    """Return the scores of pairs of bases."""
    scores = where(target == query, spread_byte(costs.match), spread_byte(-costs.mismatch))
    if has_transitions(costs):
        is_transition = (target ^ query) == spread_byte(_TRANSITION_BIT)
        scores = where(is_transition, spread_byte(-costs.transition), scores)
    is_ambiguous = larger(target, query) == spread_byte(AMBIGUOUS)
    return where(is_ambiguous, spread_byte(-costs.ambiguous), scores)


@njit_inlined
def _take(gap: Vector, best: Vector, right: Vector) -> Vector:
    """Return the lanes in which a gap is better than the best so far; to the right also equal."""
    return (gap > best) | ((gap == best) & right)


@njit_inlined
def dual_step(
    scores: Vector, before: Cells, costs: Costs, is_right: Integer
) -> tuple[Cells, Vector]:
    """Return the cells after a step, and their directions.

    Parameters
    ----------
    scores
        Scores of the pairs of bases.
    before
        The antidiagonal before: v, x and x2 of the lane before, u, y and y2 of the same lane.
    costs
        Scores, with two affine gap costs.
    is_right
        1 if ties go to gaps, otherwise 0.
    """
    zero, right = spread_byte(0), spread_byte(is_right) > spread_byte(0)
    deletion, insertion = before.x + before.v, before.y + before.u
    long_deletion, long_insertion = before.x2 + before.v, before.y2 + before.u
    directions = where(_take(deletion, scores, right), spread_byte(DELETION_STATE), zero)
    best = larger(scores, deletion)
    directions = where(_take(insertion, best, right), spread_byte(INSERTION_STATE), directions)
    best = larger(best, insertion)
    directions = where(
        _take(long_deletion, best, right), spread_byte(LONG_DELETION_STATE), directions
    )
    best = larger(best, long_deletion)
    directions = where(
        _take(long_insertion, best, right), spread_byte(LONG_INSERTION_STATE), directions
    )
    best = smaller(larger(best, long_insertion), spread_byte(costs.match))
    opened, opened2 = best - spread_byte(costs.gap_open), best - spread_byte(costs.gap_open2)
    cost = spread_byte(costs.gap_open + costs.gap_extend)
    cost2 = spread_byte(costs.gap_open2 + costs.gap_extend2)
    deletion, insertion = deletion - opened, insertion - opened
    long_deletion, long_insertion = long_deletion - opened2, long_insertion - opened2
    # A gap goes on if its score is above that of a new one; to the right also if equal.
    limit = spread_byte(-is_right)
    directions = where(deletion > limit, directions + spread_byte(8 << 0), directions)
    directions = where(insertion > limit, directions + spread_byte(8 << 1), directions)
    directions = where(long_deletion > limit, directions + spread_byte(8 << 2), directions)
    directions = where(long_insertion > limit, directions + spread_byte(8 << 3), directions)
    cells = Cells(
        best - before.v,
        best - before.u,
        larger(deletion, zero) - cost,
        larger(insertion, zero) - cost,
        larger(long_deletion, zero) - cost2,
        larger(long_insertion, zero) - cost2,
    )
    return cells, directions


@njit_inlined
def single_step(
    scores: Vector, before: Cells, costs: Costs, is_right: Integer
) -> tuple[Cells, Vector]:
    """Return the cells after a step and their directions, with one affine gap cost.

    The differences are stored plus the cost of a gap's first base, so that they are not negative.
    Comparisons are signed or unsigned as in minimap2, which matters outside of the band.
    """
    zero, right = spread_byte(0), spread_byte(is_right) > spread_byte(0)
    cost = spread_byte(2 * (costs.gap_open + costs.gap_extend))
    best, deletion, insertion = scores + cost, before.x + before.v, before.y + before.u
    directions = where(_take(deletion, best, right), spread_byte(DELETION_STATE), zero)
    best = larger(best, deletion)
    directions = where(_take(insertion, best, right), spread_byte(INSERTION_STATE), directions)
    best = smaller_unsigned(larger_unsigned(best, insertion), spread_byte(costs.match) + cost)
    opened = best - spread_byte(costs.gap_open)
    deletion, insertion = deletion - opened, insertion - opened
    limit = spread_byte(-is_right)
    directions = where(deletion > limit, directions + spread_byte(8 << 0), directions)
    directions = where(insertion > limit, directions + spread_byte(8 << 1), directions)
    x, y = larger(deletion, zero), larger(insertion, zero)
    cells = Cells(best - before.v, best - before.u, x, y, before.x2, before.y2)
    return cells, directions

"""Proof that the alignment in a band is that of the whole matrix.

Let k = i - j be the diagonal of a cell, a the score of a match, the largest score of a column, and
G(l) the cost of a gap of l bases. A path from the first to the last corner starts on diagonal 0 and
ends on d = target_length - query_length.

A path that reaches a diagonal above max_diagonal >= max(0, d) has deletions of at least
D = max_diagonal + 1 bases in all, to get there, and insertions of at least D - d bases, to come
back. The target has target_length - D bases or fewer for the other columns. G is concave with
G(0) = 0, so several gaps cost at least as much as one of their total length. Hence the score of the
path is at most

    a * (target_length - D) - G(D) - G(D - d),

which falls as D grows. Below min_diagonal <= min(0, d) it is the same with the sequences exchanged.

If the best score within the band is larger than both bounds, then every path of that score in the
whole matrix is within the band. So the whole matrix has the same best paths. It has the same
choices on the path traced, too: at a cell or gap of that path, a prefix that left the band and is
as good as the one within could be continued along the rest of the path, to a path of the best score
that leaves the band.
"""

from __future__ import annotations

from typing import Any

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.scoring import AlignScoring, Costs, gap_cost
from hapgpu.runtime.jit import njit


@njit
def is_certified(
    score: Integer,
    target_length: Integer,
    query_length: Integer,
    min_diagonal: Integer,
    max_diagonal: Integer,
    scoring: AlignScoring | Costs,
) -> Any:
    """Return whether a global alignment within a band is that of the whole matrix.

    Parameters
    ----------
    score
        Best score within the band.
    target_length, query_length
        Lengths of the sequences, at least 1.
    min_diagonal, max_diagonal
        The band: all cells with a diagonal in this range, which contains 0 and
        target_length - query_length. It may have more cells, such as borders.
    scoring
        The scores.
    """
    difference = target_length - query_length
    return _beats_outside(
        score, target_length, max_diagonal + 1, difference, scoring
    ) and _beats_outside(score, query_length, 1 - min_diagonal, -difference, scoring)


@njit
def _beats_outside(
    score: Integer,
    length: Integer,
    gap: Integer,
    difference: Integer,
    scoring: AlignScoring | Costs,
) -> Any:
    """Return whether no path with a gap of `gap` of `length` bases has the score."""
    columns = length - gap
    if columns < 0:
        return True
    costs = gap_cost(gap, scoring) + gap_cost(gap - difference, scoring)
    return score > scoring.match * columns - costs

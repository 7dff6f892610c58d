"""Losses of alignments, and the end cells of the best ones.

A cell has a loss instead of a score: the score of j matching bases of the query less its score H,
C(i, j) = match * j - H(i, j). With free ends and usual weights no step has a negative loss:

- a match loses 0, a mismatch `match - mismatch`;
- a deleted base loses `-gap_open`, or `-gap_extend`;
- an inserted base loses `match - gap_open`, or `match - gap_extend`;
- a base outside the reference loses `match`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.realign.scoring import Scoring

UNKNOWN: Final = -1
"""Loss of a pair that loses at least `largest_loss`."""


class EndCells(NamedTuple):
    """End cells of n pairs, by GATK's rules.

    Attributes
    ----------
    losses
        int32[n]: losses of the whole alignments, UNKNOWN if they are too large.
    rows, columns
        int32[n], from 1.
    """

    losses: NDArray[np.int32]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]

    @classmethod
    def of_unknown(cls, pairs: int) -> EndCells:
        """Return columns for some pairs, all with unknown losses."""
        return cls(*(np.full(pairs, UNKNOWN, dtype=np.int32) for _ in cls._fields))

    def take(self, rows: AnyArray) -> EndCells:
        """Gather end cells by `rows`, bool[n] or of any integer dtype."""
        return EndCells(*(column[rows] for column in self))

    def put(self, rows: NDArray[np.int64], others: EndCells) -> None:
        """Replace the end cells of some `rows`, int64[k]."""
        for column, values in zip(self, others, strict=True):
            column[rows] = values

    def scores(self, pairs: PairBatch, scoring: Scoring) -> NDArray[np.int32]:
        """Return the scores of the pairs, int32[n]; those of unknown losses mean nothing."""
        scores = scoring.match * pairs.query_lengths - scoring.divisor * self.losses
        return scores.astype(np.int32)


class Diagonals(NamedTuple):
    """Diagonals, row - column, to fill of n matrices; cells of others may be filled, too.

    Attributes
    ----------
    lowest, highest
        int64[n]: the first and the last one.
    """

    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]


class Losses(NamedTuple):
    """Losses by one step; see the module."""

    match: Integer
    mismatch: Integer
    deletion_open: Integer
    deletion_extend: Integer
    insertion_open: Integer
    insertion_extend: Integer


def losses_of(scoring: Scoring) -> Losses:
    """Return the losses by one step, in units of the divisor of the weights."""
    match, mismatch, gap_open, gap_extend = scoring.divided().weights
    steps = (match, match - mismatch, -gap_open, -gap_extend, match - gap_open, match - gap_extend)
    return Losses(*map(np.int64, steps))


def largest_loss(width: int) -> int:
    """Return the largest number of `width` bytes: no loss from it on is known."""
    return (1 << 8 * width) - 1

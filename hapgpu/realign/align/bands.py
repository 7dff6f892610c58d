"""Bands of diagonals that hold the best alignments of sequences that differ at few bases.

A query of m bases scores at most m * match, if an end outside the reference is free. Mismatches,
gaps and bases outside lose a part of it: a base that is outside match, one that is inserted no
less. On a diagonal (row - column of the matrix) that is x below 0, at least x bases before are
inserted or outside; on one that is x above the last, where both sequences end, as many that follow.
So an alignment that loses less than (x + 1) * match stays within x of these two diagonals.

If the best alignment of a band loses no more than that, it is the best of the matrix. All that tie
with it are in the band, too, so that the tie rules give the same one.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.realign.align.losses import Diagonals
from hapgpu.realign.align.ungapped import losses_add_up
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.jit import njit_inlined

WHOLE: Final = -1
"""Margin of a pair whose matrix is filled as a whole. Else the margin is the number of diagonals of
the band before the first and after the last of 0 and the diagonal of the ends."""

_MISMATCHES: Final = 6
"""Mismatches, beside a gap, for which the first band is wide enough."""
_SHARE: Final = 2
"""A band has at most one diagonal per so many columns: a wider one is hardly faster."""

_ANY: Final = 1 << 40
"""More diagonals than any matrix has."""


class Band(NamedTuple):
    """Diagonals of a matrix, row - column: the first and the last."""

    lowest: int
    highest: int


@njit_inlined
def first_column(row: int, band: Band) -> int:
    """Return the first column of a band in a row, both from 0: an even one, as steps fill two."""
    return max(row - band.highest, 0) & ~1


@njit_inlined
def end_column(row: int, band: Band, columns: int) -> int:
    """Return the end of the columns, even numbers, of a band in a row, both from 0."""
    return min((row - band.lowest + 2) & ~1, columns)


def most_columns(band: Band) -> int:
    """Return the most columns that a band has in any row, an even number."""
    return (band.highest - band.lowest + 4) & ~1


def first_margins(pairs: PairBatch, scoring: Scoring, overhang: Overhang) -> NDArray[np.int64]:
    """Return margins of bands to try first, int64[n]; `WHOLE` for wide ones.

    Parameters
    ----------
    pairs
        n pairs of non-empty sequences.
    scoring, overhang
        Weights, and the treatment of query bases outside the reference: bands are only for free
        ends.
    """
    if not losses_add_up(pairs, scoring, overhang):
        return np.full(len(pairs), WHOLE, dtype=np.int64)
    lengths = pairs.reference_lengths - pairs.query_lengths
    gaps = -scoring.gap_open - scoring.gap_extend * (np.abs(lengths) - 1)
    losses = np.where(lengths, gaps, 0) + scoring.match * np.maximum(-lengths, 0)
    return _margins(pairs, scoring, losses + _MISMATCHES * (scoring.match - scoring.mismatch))


def next_margins(
    pairs: PairBatch, scoring: Scoring, margins: NDArray[np.int64], scores: NDArray[np.int32]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Tell which scores are the best of the matrix; return the margins to try for the others.

    Parameters
    ----------
    pairs
        n pairs.
    scoring
        Weights.
    margins
        int64[n], of the bands that were filled.
    scores
        int32[n]: the best scores there.

    Returns
    -------
    bool[n]; int64[n], `WHOLE` for wide bands: these bands hold the best alignments.
    """
    is_best = margins == WHOLE
    if is_best.all():  # also for other weights
        return is_best, margins
    losses = scoring.match * pairs.query_lengths - scores
    is_best |= losses < scoring.match * (margins + 1)
    return is_best, _margins(pairs, scoring, losses)


def diagonals_of(pairs: PairBatch, margins: NDArray[np.int64]) -> Diagonals:
    """Return the bands of n pairs with int64[n] margins."""
    rows, columns = pairs.reference_lengths, pairs.query_lengths
    is_whole = margins == WHOLE
    lowest = np.where(is_whole, -columns, -margins)
    highest = np.where(is_whole, rows, rows - columns + margins)
    return Diagonals(lowest, highest)


def gap_bounds(
    deficits: NDArray[np.int64], scoring: Scoring
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the most bases that the best alignments delete, and the most that they insert.

    An alignment that ends in column j scores match * j at most. A gap loses `-gap_open` for its
    first base and `-gap_extend` for each other one; an inserted base loses match more, since it
    matches nothing. So the bases of all gaps of a kind together are bounded, and so are the
    diagonals: going back from the end, a deleted base leads one lower, an inserted one higher.

    Parameters
    ----------
    deficits
        int64[n]: match * j less the scores.
    scoring
        Weights that prefer an exact match.

    Returns
    -------
    int64[n] each; more than any matrix has if nothing bounds the deleted bases.
    """
    first, other = -scoring.gap_open, min(-scoring.gap_open, -scoring.gap_extend)
    return (
        _most_bases(deficits, first, other),
        _most_bases(deficits, scoring.match + first, scoring.match + other),
    )


def _most_bases(deficits: NDArray[np.int64], first: int, other: int) -> NDArray[np.int64]:
    """Return how many bases lose at most the deficits, if the first and each other one lose so."""
    most = 1 + (deficits - first) // other if other else _ANY
    return np.where(deficits < first, 0, most)


def _margins(pairs: PairBatch, scoring: Scoring, losses: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the margins for alignments that lose at most so much; `WHOLE` for wide bands."""
    margins = losses // scoring.match
    diagonals = pairs.reference_lengths - pairs.query_lengths + 2 * margins + 1
    return np.where(_SHARE * diagonals < pairs.query_lengths, margins, WHOLE)

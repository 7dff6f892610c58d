"""Choice of the best haplotype of a read by score."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.realign.align.dispatch import score_pairs
from hapgpu.realign.queries.orientations import Queries
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.runtime.devices import Device

NO_SCORE = -(2**31)

_Number = TypeVar("_Number", np.int32, np.float64)


class BestBy(StrEnum):
    """Criterion for a read's best haplotype."""

    SCORE = "score"
    LIKELIHOOD = "likelihood"


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Pairs in their better orientation, and the best pair of each read.

    Attributes
    ----------
    pairs
        n reads and their p pairs.
    queries
        int64[p], the row in `Queries` of the better orientation; the stored read on a tie.
    best
        int64[n], the row of the best pair, the first of equals; -1 for none.
    second_scores
        int32[n], the best score of the other pairs; NO_SCORE for none.
    values
        [p], the score or the likelihood by which the best pair was chosen.
    tolerance
        Values that differ by at most this are ties.
    """

    pairs: ReadHaplotypePairs
    queries: NDArray[np.int64]
    best: NDArray[np.int64]
    second_scores: NDArray[np.int32]
    values: NDArray[Any]
    tolerance: float = 0

    @property
    def are_tied(self) -> NDArray[np.bool_]:
        """bool[n]: whether a read has several pairs within the tolerance of its best."""
        near = _near_best(self.pairs, self.values, self.tolerance)
        reads = self.pairs.reads[near]
        are_tied: NDArray[np.bool_] = np.bincount(reads, minlength=self.best.size) > 1
        return are_tied


def score_read_pairs(
    pairs: ReadHaplotypePairs,
    queries: Queries,
    haplotypes: Ragged,
    scoring: Scoring,
    device: Device,
) -> ScoredPairs:
    """Choose the best pair of each read by score, with soft-clipped overhangs.

    Parameters
    ----------
    pairs
        The pairs of the reads; a read without bases has none.
    queries
        The reads in their orientations.
    haplotypes
        uint8 text.
    scoring, device
        The weights, and the device that computes.
    """
    oriented = in_all_orientations(pairs, queries)
    scores = np.zeros(len(oriented), dtype=np.int32)
    if oriented.counts.max(initial=0) > 1 or len(oriented) > len(pairs):
        batch = PairBatch(haplotypes, queries.bases, oriented.haplotypes, oriented.reads)
        scores = score_pairs(batch, scoring, Overhang.SOFTCLIP, device)
    query_rows, scores = better_orientations(pairs, queries, scores)
    best = first_of_best(pairs, scores)
    return ScoredPairs(pairs, query_rows, best, second_scores(pairs, scores, best), scores)


def reads_of_rows(queries: Queries) -> NDArray[np.int64]:
    """Return the read of each row of the queries."""
    has_both = queries.reversed_row >= 0
    return np.concatenate((np.arange(has_both.size), np.flatnonzero(has_both)))


def in_all_orientations(pairs: ReadHaplotypePairs, queries: Queries) -> ReadHaplotypePairs:
    """Return, for each row of the queries, the pairs of its read."""
    by_read = Ragged(pairs.haplotypes, pairs.offsets)
    by_row = by_read.take(reads_of_rows(queries))
    return ReadHaplotypePairs(by_row.offsets, by_row.data)


def better_orientations(
    pairs: ReadHaplotypePairs, queries: Queries, values: NDArray[_Number], tolerance: float = 0
) -> tuple[NDArray[np.int64], NDArray[_Number]]:
    """Choose the orientation of each pair.

    Parameters
    ----------
    pairs
        p pairs.
    queries
        The reads.
    values
        A score or likelihood of each pair `in_all_orientations`; higher is better.
    tolerance
        Values that differ by at most this are ties.

    Returns
    -------
    int64[p], the row of the queries with the higher value, the stored read on a tie; and [p], the
    value.
    """
    query_rows = pairs.reads.astype(np.int64)
    reversed_row = queries.reversed_row[query_rows]
    has_both = np.flatnonzero(reversed_row >= 0)
    best_values, reversed_values = values[: len(pairs)].copy(), values[len(pairs) :]
    is_better = reversed_values > best_values[has_both] + tolerance
    query_rows[has_both[is_better]] = reversed_row[has_both[is_better]]
    best_values[has_both[is_better]] = reversed_values[is_better]
    return query_rows, best_values


def first_of_best(
    pairs: ReadHaplotypePairs, values: NDArray[_Number], tolerance: float = 0
) -> NDArray[np.int64]:
    """Return int64[n]: each read's first pair within the tolerance of its best; -1 for none."""
    best = np.full(pairs.counts.size, -1, dtype=np.int64)
    near = _near_best(pairs, values, tolerance)
    # Reversed: of several assignments to a read the last one, of its first pair, remains.
    best[pairs.reads[near][::-1]] = near[::-1]
    return best


def _near_best(
    pairs: ReadHaplotypePairs, values: NDArray[Any], tolerance: float
) -> NDArray[np.int64]:
    """Return the pairs within the tolerance of their read's best."""
    has_any = pairs.counts > 0
    highest = np.maximum.reduceat(values, pairs.offsets[:-1][has_any])
    return np.flatnonzero(values >= np.repeat(highest - tolerance, pairs.counts[has_any]))


def second_scores(
    pairs: ReadHaplotypePairs, scores: NDArray[np.int32], best: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return int32[n]: the best score of each read without its best pair; NO_SCORE for none."""
    others = scores.copy()
    others[best[best >= 0]] = NO_SCORE
    second = np.full(pairs.counts.size, NO_SCORE, dtype=np.int32)
    has_any = pairs.counts > 0
    second[has_any] = np.maximum.reduceat(others, pairs.offsets[:-1][has_any])
    return second

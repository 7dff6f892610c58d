"""Which of its candidate haplotypes a read is aligned with in the end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

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
    """What the best haplotype of a read has most of."""

    SCORE = "score"
    LIKELIHOOD = "likelihood"


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """Pairs in their better orientation, and the best of each read.

    Attributes
    ----------
    candidates
        n reads and their c candidates.
    queries
        int64[c], the row of the `Queries` that is the better one; the stored read on a tie.
    best
        int64[n], the row of the best candidate, the first of equals; -1 for none.
    second_scores
        int32[n], the best score of the other candidates; NO_SCORE for none.
    """

    candidates: ReadHaplotypePairs
    queries: NDArray[np.int64]
    best: NDArray[np.int64]
    second_scores: NDArray[np.int32]


def score_read_pairs(
    candidates: ReadHaplotypePairs,
    queries: Queries,
    bases: Ragged,
    haplotypes: Ragged,
    scoring: Scoring,
    device: Device,
) -> ScoredPairs:
    """Choose the best of all candidates by score, overhangs soft-clipped.

    Parameters
    ----------
    candidates
        Those of the reads; a read without bases has none.
    queries
        The reads, for their orientations.
    bases
        uint8 text with the rows of `queries`: what is aligned of each.
    haplotypes
        uint8 text.
    scoring, device
        Weights, and where to compute.
    """
    tried = in_all_orientations(candidates, queries)
    scores = np.zeros(len(tried), dtype=np.int32)
    if tried.counts.max(initial=0) > 1 or len(tried) > len(candidates):
        pairs = PairBatch(haplotypes, bases, tried.haplotypes, tried.reads)
        scores = score_pairs(pairs, scoring, Overhang.SOFTCLIP, device)
    chosen, scores = better_orientations(candidates, queries, scores)
    best = first_of_best(candidates, scores)
    return ScoredPairs(candidates, chosen, best, second_scores(candidates, scores, best))


def reads_of_rows(queries: Queries) -> NDArray[np.int64]:
    """Return the read of each row of the queries."""
    both = queries.reversed_row >= 0
    return np.concatenate((np.arange(both.size), np.flatnonzero(both)))


def in_all_orientations(candidates: ReadHaplotypePairs, queries: Queries) -> ReadHaplotypePairs:
    """Give each row of the queries the candidates of its read."""
    of_reads = Ragged(candidates.haplotypes, candidates.offsets)
    of_rows = of_reads.take(reads_of_rows(queries))
    return ReadHaplotypePairs(of_rows.offsets, of_rows.data)


def better_orientations(
    candidates: ReadHaplotypePairs, queries: Queries, values: NDArray[_Number]
) -> tuple[NDArray[np.int64], NDArray[_Number]]:
    """Choose how each candidate is met.

    Parameters
    ----------
    candidates
        c candidates.
    queries
        The reads.
    values
        One of each candidate `in_all_orientations`, higher is better.

    Returns
    -------
    int64[c], the row of the queries with the higher value, the stored one on a tie; that value.
    """
    chosen = candidates.reads.astype(np.int64)
    reversed_row = queries.reversed_row[chosen]
    both = np.flatnonzero(reversed_row >= 0)
    stored, reversed_values = values[: len(candidates)].copy(), values[len(candidates) :]
    better = reversed_values > stored[both]
    chosen[both[better]] = reversed_row[both[better]]
    stored[both[better]] = reversed_values[better]
    return chosen, stored


def first_of_best(
    candidates: ReadHaplotypePairs, values: NDArray[_Number], tolerance: float = 0
) -> NDArray[np.int64]:
    """int64[n]: the first candidate of each read that is the best or no worse by more; or -1."""
    best = np.full(candidates.counts.size, -1, dtype=np.int64)
    some = candidates.counts > 0
    highest = np.maximum.reduceat(values, candidates.offsets[:-1][some])
    near = np.flatnonzero(values >= np.repeat(highest - tolerance, candidates.counts[some]))
    best[candidates.reads[near][::-1]] = near[::-1]  # the first, as it is assigned last
    return best


def second_scores(
    candidates: ReadHaplotypePairs, scores: NDArray[np.int32], best: NDArray[np.int64]
) -> NDArray[np.int32]:
    """int32[n]: the best score of the candidates of each read but one; NO_SCORE for none."""
    others = scores.copy()
    others[best[best >= 0]] = NO_SCORE
    second = np.full(candidates.counts.size, NO_SCORE, dtype=np.int32)
    some = candidates.counts > 0
    second[some] = np.maximum.reduceat(others, candidates.offsets[:-1][some])
    return second

"""Which of its candidate haplotypes a read is aligned with in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.batch import PairBatch, Ragged
from hapgpu.device import Device
from hapgpu.realign.align import score_pairs
from hapgpu.realign.candidates import Candidates
from hapgpu.realign.queries import Queries
from hapgpu.realign.scoring import Overhang, Scoring

NO_SCORE = -(2**31)


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """Candidates in their better orientation, and the best of each read.

    Attributes
    ----------
    candidates
        n reads and their c candidates.
    queries
        int64[c], the row of the `Queries` that scored better; the stored read on a tie.
    scores
        int32[c]; 0 where no read of the batch has a choice.
    best
        int64[n], the row of the best candidate, the first of equals; -1 for none.
    second_scores
        int32[n], the best score of the other candidates; NO_SCORE for none.
    """

    candidates: Candidates
    queries: NDArray[np.int64]
    scores: NDArray[np.int32]
    best: NDArray[np.int64]
    second_scores: NDArray[np.int32]


def score_candidates(
    candidates: Candidates,
    queries: Queries,
    bases: Ragged,
    haplotypes: Ragged,
    scoring: Scoring,
    device: Device,
) -> ScoredCandidates:
    """Score reads with all of their candidates, overhangs soft-clipped.

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
    reads = candidates.reads
    reversed_row = queries.reversed_row[reads]
    both = np.flatnonzero(reversed_row >= 0)
    if not both.size and np.diff(candidates.offsets).max(initial=0) <= 1:
        scores = np.zeros(len(candidates), dtype=np.int32)
        best, second_scores = _best_and_second(candidates.offsets, scores)
        return ScoredCandidates(candidates, reads.astype(np.int64), scores, best, second_scores)
    query = np.concatenate((reads.astype(np.int64), reversed_row[both]))
    haplotype = np.concatenate((candidates.haplotypes, candidates.haplotypes[both]))
    pairs = PairBatch(haplotypes, bases, haplotype, query.astype(np.int32))
    all_scores = score_pairs(pairs, scoring, Overhang.SOFTCLIP, device)
    scores, reversed_scores = all_scores[: len(candidates)], all_scores[len(candidates) :]
    better = reversed_scores > scores[both]
    chosen = reads.astype(np.int64)
    chosen[both[better]] = reversed_row[both[better]]
    scores[both[better]] = reversed_scores[better]
    best, second_scores = _best_and_second(candidates.offsets, scores)
    return ScoredCandidates(candidates, chosen, scores, best, second_scores)


def _best_and_second(
    offsets: NDArray[np.int64], scores: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    counts = np.diff(offsets)
    reads = np.repeat(np.arange(counts.size), counts)
    # Reads stay in their places; a read's candidates go by score, equals by their order.
    order = np.lexsort((-scores.astype(np.int64), reads))
    best = np.full(counts.size, -1, dtype=np.int64)
    best[counts > 0] = order[offsets[:-1][counts > 0]]
    second_scores = np.full(counts.size, NO_SCORE, dtype=np.int32)
    second_scores[counts > 1] = scores[order[offsets[:-1][counts > 1] + 1]]
    return best, second_scores

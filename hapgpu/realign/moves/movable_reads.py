"""Reads that may move, their haplotypes, and the scores of these pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import offsets_of
from hapgpu.cigar.clips import Clips
from hapgpu.haplotypes.pairing.extended_haplotypes import ExtendedHaplotypes
from hapgpu.haplotypes.pairing.pairs import ReadHaplotypePairs
from hapgpu.realign.moves.alignment_costs import AlignmentCosts


@dataclass(frozen=True, slots=True)
class MovableReads:
    """n reads that may move, and the haplotypes with flanks that they may move by.

    `rows` int32[c] are the candidates' places among the `extended`; `old` weighs the alignments
    that the reads have.
    """

    reads: ReadBatch
    clips: Clips
    candidates: ReadHaplotypePairs
    rows: NDArray[np.int32]
    extended: ExtendedHaplotypes
    old: AlignmentCosts

    def take(self, mask: NDArray[np.bool_]) -> MovableReads:
        """Keep some of the reads."""
        kept = np.repeat(mask, self.candidates.counts)
        return MovableReads(
            self.reads.take(mask),
            self.clips.take(mask),
            ReadHaplotypePairs(
                offsets_of(self.candidates.counts[mask]), self.candidates.haplotypes[kept]
            ),
            self.rows[kept],
            self.extended,
            AlignmentCosts(*(column[mask] for column in self.old)),
        )


@dataclass(frozen=True, slots=True)
class PairScores:
    """c candidates of n reads: int64[n] how many each has, their scores and their variants."""

    counts: NDArray[np.int64]
    scores: NDArray[np.int32]
    variants: NDArray[np.int64]

    def take(self, mask: NDArray[np.bool_]) -> PairScores:
        """Keep the candidates of some of the reads."""
        kept = np.repeat(mask, self.counts)
        return PairScores(self.counts[mask], self.scores[kept], self.variants[kept])


@dataclass(frozen=True, slots=True)
class BestPairs:
    """For n reads, the row among the extended haplotypes, the variant, and the second score."""

    rows: NDArray[np.int32]
    variants: NDArray[np.int64]
    second_scores: NDArray[np.int32]

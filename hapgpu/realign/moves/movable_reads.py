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
    """n reads that may move, and their haplotypes, extended by flanks.

    `rows` int32[p] are the row numbers in `extended` of the haplotypes of the pairs; `old` holds
    the costs of the old alignments of the reads.
    """

    reads: ReadBatch
    clips: Clips
    pairs: ReadHaplotypePairs
    rows: NDArray[np.int32]
    extended: ExtendedHaplotypes
    old: AlignmentCosts

    def take(self, mask: NDArray[np.bool_]) -> MovableReads:
        """Keep the reads of a mask."""
        kept = np.repeat(mask, self.pairs.counts)
        return MovableReads(
            self.reads.take(mask),
            self.clips.take(mask),
            ReadHaplotypePairs(offsets_of(self.pairs.counts[mask]), self.pairs.haplotypes[kept]),
            self.rows[kept],
            self.extended,
            AlignmentCosts(*(column[mask] for column in self.old)),
        )


@dataclass(frozen=True, slots=True)
class PairScores:
    """p pairs of n reads: int64[n] the number of pairs per read; scores and clip variants, [p]."""

    counts: NDArray[np.int64]
    scores: NDArray[np.int32]
    variants: NDArray[np.int64]

    def take(self, mask: NDArray[np.bool_]) -> PairScores:
        """Keep the pairs of the reads of a mask."""
        kept = np.repeat(mask, self.counts)
        return PairScores(self.counts[mask], self.scores[kept], self.variants[kept])


@dataclass(frozen=True, slots=True)
class BestPairs:
    """The best extended haplotype of n reads, its clip variant, and the second-best score."""

    rows: NDArray[np.int32]
    variants: NDArray[np.int64]
    second_scores: NDArray[np.int32]

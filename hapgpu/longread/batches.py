"""Batches: the arrays between the stages of chaining.

    Minimizers ──► Seeds ──► Anchors ──► ChainScores ──► Chains ──► Mappings

Each class holds NumPy arrays or, with the same dtypes, CuPy arrays on one GPU; a stage has the same
signature on the CPU and on a GPU. Read i has the rows `offsets[i]` to `offsets[i + 1]`. Positions
are 0-based; the position of a k-mer is the position of its **last** base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of

REVERSE: Final = 1 << 63
"""Bit of `Anchors.x`: the read maps to the reverse strand of the reference."""
SPAN_SHIFT: Final = 32
"""Lowest of the eight bits of the span in `Anchors.y`."""
TANDEM: Final = 1 << 42
"""Bit of `Anchors.y`: a neighbouring minimizer of the read is the same k-mer."""


@dataclass(frozen=True, slots=True)
class Minimizers:
    """Minimizers of n sequences, in the order in which minimap2 finds them.

    Attributes
    ----------
    keys
        uint64[m]: hash << 8 | span.
    positions
        uint32[m]: position << 1 | strand; strand 1 if the reverse complement is smaller.
    offsets
        int64[n + 1].
    """

    keys: NDArray[np.uint64]
    positions: NDArray[np.uint32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Seeds of n reads: the minimizers that occur in the reference, but not too often.

    Attributes
    ----------
    positions
        uint32[s]: as in `Minimizers`.
    spans
        uint8[s]: bases of the k-mer in the read; more than k if homopolymers are compressed.
    is_tandem
        uint8[s], 0 or 1: a neighbouring minimizer of the read has the same hash.
    first_occurrences
        int64[s], into `MinimizerIndex.occurrences`.
    occurrence_counts
        int32[s], at least 1.
    offsets
        int64[n + 1].
    repeat_lengths
        int32[n]: bases of the read covered by minimizers dropped as repetitive (tag `rl`).
    """

    positions: NDArray[np.uint32]
    spans: NDArray[np.uint8]
    is_tandem: NDArray[np.uint8]
    first_occurrences: NDArray[np.int64]
    occurrence_counts: NDArray[np.int32]
    offsets: NDArray[np.int64]
    repeat_lengths: NDArray[np.int32]

    def part(self, first: int, end: int) -> Seeds:
        """Return the seeds of the reads from `first` to `end`, sharing memory."""
        offsets = self.offsets[first : end + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        return Seeds(
            self.positions[rows],
            self.spans[rows],
            self.is_tandem[rows],
            self.first_occurrences[rows],
            self.occurrence_counts[rows],
            offsets - offsets[0],
            self.repeat_lengths[first:end],
        )


@dataclass(frozen=True, slots=True)
class Anchors:
    """K-mers that n reads share with the reference; each read's sorted by x as minimap2 sorts.

    Attributes
    ----------
    x
        uint64[a]: `REVERSE` for the reverse strand, then reference sequence << 32 | position.
    y
        uint64[a]: flags, then span << 32 | position in the read, or in the reverse-complemented
        read if x has `REVERSE`.
    offsets
        int64[n + 1].
    """

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def part(self, first: int, end: int) -> Anchors:
        """Return the anchors of the reads from `first` to `end`, sharing memory."""
        offsets = self.offsets[first : end + 1]
        rows = slice(int(offsets[0]), int(offsets[-1]))
        return Anchors(self.x[rows], self.y[rows], offsets - offsets[0])

    def halves(self) -> list[Anchors]:
        """Split the batch between reads in two; return nothing for fewer than two reads."""
        middle = len(self) // 2
        return [self.part(0, middle), self.part(middle, len(self))] if middle else []

    def pieces(self, size: int) -> list[Anchors]:
        """Split the batch between reads into at least one piece, each of about `size` anchors."""
        total = int(self.offsets[-1])
        cuts = np.unique(np.searchsorted(self.offsets, np.arange(size, total, size))).tolist()
        return [self.part(*span) for span in pairwise([0, *cuts, len(self)])]


@dataclass(frozen=True, slots=True)
class ChainScores:
    """Scores and predecessors of anchors: the best chain that ends at each anchor.

    Attributes
    ----------
    scores
        int32[a]: score of the chain.
    predecessors
        int32[a]: the previous anchor, numbered within the read; -1 if the chain starts here.
    """

    scores: NDArray[np.int32]
    predecessors: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains of n reads, each read's in the order of their first anchors.

    Attributes
    ----------
    x, y
        uint64[a]: the anchors of all chains, ascending in each chain.
    anchor_offsets
        int64[c + 1]: chain j has the anchors `anchor_offsets[j]` to `anchor_offsets[j + 1]`.
    scores
        int32[c].
    offsets
        int64[n + 1]: read i has the chains `offsets[i]` to `offsets[i + 1]`.
    """

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    anchor_offsets: NDArray[np.int64]
    scores: NDArray[np.int32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AnchorChains:
    """Scores and chains of the a anchors of n reads.

    Attributes
    ----------
    scores
        int32[a]: score of the best chain that ends at each anchor.
    predecessors
        int32[a]: previous anchor in that chain, numbered within the read; -1 if there is none.
    chains
        Chains of the reads, each read's in the order of their first anchors.
    """

    scores: NDArray[np.int32]
    predecessors: NDArray[np.int32]
    chains: Chains

    @classmethod
    def concatenated(cls, parts: Sequence[AnchorChains]) -> AnchorChains:
        """Concatenate the results of at least one part of the reads."""
        chains = [part.chains for part in parts]
        return cls(
            np.concatenate([part.scores for part in parts]),
            np.concatenate([part.predecessors for part in parts]),
            Chains(
                np.concatenate([each.x for each in chains]),
                np.concatenate([each.y for each in chains]),
                _joined_offsets([each.anchor_offsets for each in chains]),
                np.concatenate([each.scores for each in chains]),
                _joined_offsets([each.offsets for each in chains]),
            ),
        )


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in parts]))


@dataclass(frozen=True, slots=True)
class NamedReads:
    """Names and lengths of n reads.

    Attributes
    ----------
    text
        uint8: text with the names.
    name_starts, name_lengths
        int32[n]: the names in the text.
    lengths
        int32[n]: numbers of bases.
    """

    text: NDArray[np.uint8]
    name_starts: NDArray[np.int32]
    name_lengths: NDArray[np.int32]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return self.lengths.size


@dataclass(frozen=True, slots=True)
class Mappings:
    """Mappings of n reads, the best of each read first.

    `parents` are numbered within the read from 0; a primary mapping is its own parent. Coordinates
    are half-open; in the read, they are on its forward strand.

    Attributes
    ----------
    scores, counts
        int32[r]: score and number of anchors.
    sequences
        int32[r]: number of the reference sequence.
    is_reverse
        uint8[r], 0 or 1.
    query_starts, query_ends, target_starts, target_ends
        int32[r].
    matches, lengths
        int32[r]: columns 10 and 11 of PAF.
    parents, second_scores, n_sub
        int32[r]: parent; for a primary, the best score of its secondaries (`s2`) and the number of
        secondaries with at least as many anchors.
    is_retained
        uint8[r], 0 or 1: kept only because its strand differs from its parent's.
    seeds_matched, seeds_expected
        int32[r]: seeds of the read in the chain, and seeds of the read that could be in it.
    offsets
        int64[n + 1].
    mean_spans
        float32[n]: mean span of the seeds of each read.
    repeat_lengths
        int32[n]: as in `Seeds`.
    """

    scores: NDArray[np.int32]
    counts: NDArray[np.int32]
    sequences: NDArray[np.int32]
    is_reverse: NDArray[np.uint8]
    query_starts: NDArray[np.int32]
    query_ends: NDArray[np.int32]
    target_starts: NDArray[np.int32]
    target_ends: NDArray[np.int32]
    matches: NDArray[np.int32]
    lengths: NDArray[np.int32]
    parents: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    n_sub: NDArray[np.int32]
    is_retained: NDArray[np.uint8]
    seeds_matched: NDArray[np.int32]
    seeds_expected: NDArray[np.int32]
    offsets: NDArray[np.int64]
    mean_spans: NDArray[np.float32]
    repeat_lengths: NDArray[np.int32]


class MappingColumns(NamedTuple):
    """The columns of `Mappings`, read-only, for compiled code."""

    scores: NDArray[np.int32]
    counts: NDArray[np.int32]
    sequences: NDArray[np.int32]
    is_reverse: NDArray[np.uint8]
    query_starts: NDArray[np.int32]
    query_ends: NDArray[np.int32]
    target_starts: NDArray[np.int32]
    target_ends: NDArray[np.int32]
    matches: NDArray[np.int32]
    lengths: NDArray[np.int32]
    parents: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    n_sub: NDArray[np.int32]
    is_retained: NDArray[np.uint8]
    seeds_matched: NDArray[np.int32]
    seeds_expected: NDArray[np.int32]
    offsets: NDArray[np.int64]
    mean_spans: NDArray[np.float32]
    repeat_lengths: NDArray[np.int32]

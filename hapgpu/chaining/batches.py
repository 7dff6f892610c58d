"""What the stages of chaining hand to each other: arrays of whole batches of reads.

    Minimizers ──► Seeds ──► Anchors ──► ChainScores ──► Chains ──► Mappings

Each class holds arrays of NumPy or, with the same dtypes, of CuPy on one device; the stages on
the CPU and on a GPU have the same signatures. Rows of read i are `offsets[i]` to
`offsets[i + 1]`. Positions are 0-based, and that of a k-mer is the one of its **last** base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

REVERSE: Final = 1 << 63
"""Bit of `Anchors.x`: the read lies reverse-complemented on the reference."""
SPAN_SHIFT: Final = 32
"""Where the eight bits of the span begin in `Anchors.y`."""
TANDEM: Final = 1 << 42
"""Bit of `Anchors.y`: a neighbouring minimizer of the read is the same k-mer."""


@dataclass(frozen=True, slots=True)
class Minimizers:
    """Minimizers of n sequences, in the order in which minimap2 finds them.

    Attributes
    ----------
    keys
        uint64[m]: hash << 8 | span.
    places
        uint32[m]: position << 1 | strand; strand 1 where the reverse complement is the smaller.
    offsets
        int64[n + 1].
    """

    keys: NDArray[np.uint64]
    places: NDArray[np.uint32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Minimizers of n reads that are looked up: those with hits that are not too many.

    Attributes
    ----------
    places
        uint32[s]: as in `Minimizers`.
    spans
        uint8[s]: bases of the k-mer in the read, more than k where runs of bases count as one.
    is_tandem
        uint8[s], 0 or 1: a neighbour among the read's minimizers has the same key.
    first_hits
        int64[s], into `MinimizerIndex.hits`.
    hit_counts
        int32[s], at least 1.
    offsets
        int64[n + 1].
    repeat_lengths
        int32[n]: bases of the read under minimizers that were dropped as repetitive (tag `rl`).
    """

    places: NDArray[np.uint32]
    spans: NDArray[np.uint8]
    is_tandem: NDArray[np.uint8]
    first_hits: NDArray[np.int64]
    hit_counts: NDArray[np.int32]
    offsets: NDArray[np.int64]
    repeat_lengths: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Anchors:
    """K-mers shared by a read and the reference, of each read sorted by x as minimap2 sorts.

    Attributes
    ----------
    x
        uint64[a]: `REVERSE` if so, then reference sequence << 32 | position in it.
    y
        uint64[a]: flags, then span << 32 | position in the read; where x has `REVERSE`, the
        position in the reverse-complemented read.
    offsets
        int64[n + 1].
    """

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return self.offsets.size - 1


@dataclass(frozen=True, slots=True)
class ChainScores:
    """Best chains that end at each anchor.

    Attributes
    ----------
    scores
        int32[a].
    predecessors
        int32[a]: counted within the read; -1 if the chain begins here.
    """

    scores: NDArray[np.int32]
    predecessors: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Chains:
    """Chains of n reads, of each read in the order of their first anchors.

    Attributes
    ----------
    x, y
        uint64[a]: the anchors of all chains, ascending in each.
    anchor_offsets
        int64[c + 1]: those of chain j are `anchor_offsets[j]` to `anchor_offsets[j + 1]`.
    scores
        int32[c].
    offsets
        int64[n + 1]: the chains of read i are `offsets[i]` to `offsets[i + 1]`.
    """

    x: NDArray[np.uint64]
    y: NDArray[np.uint64]
    anchor_offsets: NDArray[np.int64]
    scores: NDArray[np.int32]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Mappings:
    """Chains to report of n reads, the best of each read first.

    Of a mapping of read i, `parents` counts within the read from 0; a primary is its own parent.
    Coordinates are half-open, those of the read on its forward strand.

    Attributes
    ----------
    scores, counts
        int32[r]: score and number of anchors.
    sequences
        int32[r]: of the reference.
    is_reverse
        uint8[r], 0 or 1.
    query_starts, query_ends, target_starts, target_ends
        int32[r].
    matches, lengths
        int32[r]: columns 10 and 11 of PAF.
    parents, second_scores, rivals
        int32[r]: of a primary, the best score among the secondaries (`s2`), and how many of these
        have at least as many anchors.
    is_retained
        uint8[r]: kept only because it lies on the other strand than its parent.
    seeds_matched, seeds_expected
        int32[r]: seeds of the read that are in the chain, and that lie under it.
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
    rivals: NDArray[np.int32]
    is_retained: NDArray[np.uint8]
    seeds_matched: NDArray[np.int32]
    seeds_expected: NDArray[np.int32]
    offsets: NDArray[np.int64]
    mean_spans: NDArray[np.float32]
    repeat_lengths: NDArray[np.int32]

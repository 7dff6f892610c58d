"""Scores and chains of ready-made anchors, computed in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import offsets_of
from hapgpu.chaining.batches import Anchors, Chains


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


def reads_of(anchors: Anchors, first: int, end: int) -> Anchors:
    """Return the anchors of the reads from `first` to `end`, sharing memory."""
    offsets = anchors.offsets[first : end + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    return Anchors(anchors.x[span], anchors.y[span], offsets - offsets[0])


def pieces_of(anchors: Anchors, size: int) -> list[Anchors]:
    """Split a batch between reads into at least one piece, each of about `size` anchors."""
    total = int(anchors.offsets[-1])
    cuts = np.unique(np.searchsorted(anchors.offsets, np.arange(size, total, size))).tolist()
    return [reads_of(anchors, *span) for span in pairwise([0, *cuts, len(anchors)])]


def concatenated(pieces: Sequence[AnchorChains]) -> AnchorChains:
    """Concatenate the results of at least one piece."""
    results = [piece.chains for piece in pieces]
    return AnchorChains(
        np.concatenate([piece.scores for piece in pieces]),
        np.concatenate([piece.predecessors for piece in pieces]),
        Chains(
            np.concatenate([result.x for result in results]),
            np.concatenate([result.y for result in results]),
            _joined_offsets([result.anchor_offsets for result in results]),
            np.concatenate([result.scores for result in results]),
            _joined_offsets([result.offsets for result in results]),
        ),
    )


def _joined_offsets(pieces: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(offsets) for offsets in pieces]))

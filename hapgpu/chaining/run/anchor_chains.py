"""What comes of ready-made anchors, piece by piece."""

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
    """What comes of the a anchors of n reads.

    Attributes
    ----------
    scores
        int32[a]: of the best chain that ends at each anchor.
    predecessors
        int32[a]: the anchor before it in that chain, counted within the read; -1 if none is.
    chains
        Of each read, in the order of their first anchors.
    """

    scores: NDArray[np.int32]
    predecessors: NDArray[np.int32]
    chains: Chains


def reads_of(anchors: Anchors, first: int, behind: int) -> Anchors:
    """Return the anchors of the reads from `first` to `behind`, sharing memory."""
    offsets = anchors.offsets[first : behind + 1]
    span = slice(int(offsets[0]), int(offsets[-1]))
    return Anchors(anchors.x[span], anchors.y[span], offsets - offsets[0])


def pieces_of(anchors: Anchors, size: int) -> list[Anchors]:
    """Cut a batch between reads into pieces, at least one, of about `size` anchors."""
    total = int(anchors.offsets[-1])
    cuts = np.unique(np.searchsorted(anchors.offsets, np.arange(size, total, size))).tolist()
    return [reads_of(anchors, *span) for span in pairwise([0, *cuts, len(anchors)])]


def concatenated(parts: Sequence[AnchorChains]) -> AnchorChains:
    """Put the reads of several pieces, at least one, behind each other."""
    chains = [part.chains for part in parts]
    return AnchorChains(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.predecessors for part in parts]),
        Chains(
            np.concatenate([part.x for part in chains]),
            np.concatenate([part.y for part in chains]),
            _joined_offsets([part.anchor_offsets for part in chains]),
            np.concatenate([part.scores for part in chains]),
            _joined_offsets([part.offsets for part in chains]),
        ),
    )


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return offsets_of(np.concatenate([np.diff(part) for part in parts]))

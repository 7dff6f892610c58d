"""Straight alignments of pairs whose end cells are known, and merged batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import MATCH, SOFT_CLIP
from hapgpu.realign.align.losses import EndCells
from hapgpu.realign.scoring import Overhang, Scoring


def straight_alignments(
    pairs: PairBatch, ends: EndCells, scoring: Scoring, overhang: Overhang
) -> AlignmentBatch:
    """Return the alignments of n pairs that are the diagonals of their end cells.

    `overhang` is one with free ends.
    """
    rows, columns = ends.rows.astype(np.int64), ends.columns.astype(np.int64)
    lengths, scores = pairs.query_lengths, ends.scores(pairs, scoring)
    if overhang is Overhang.IGNORE:
        cigars = Ragged.from_lengths((lengths << 4 | MATCH).astype(np.uint32), np.ones_like(rows))
        return AlignmentBatch(scores, (rows - columns).astype(np.int32), cigars)
    inside = np.minimum(rows, columns)
    runs = np.stack((columns - inside, inside, lengths - columns), axis=1)
    operations = np.array([SOFT_CLIP, MATCH, SOFT_CLIP])
    elements = (runs << 4 | operations).astype(np.uint32)
    cigars = Ragged.from_lengths(elements[runs > 0], np.count_nonzero(runs, axis=1))
    return AlignmentBatch(scores, (rows - inside).astype(np.int32), cigars)


def merged(
    is_first: NDArray[np.bool_], first: AlignmentBatch, second: AlignmentBatch
) -> AlignmentBatch:
    """Return n alignments: the next of `first` where `is_first`, bool[n], else of `second`."""
    if not len(second):
        return first
    order = np.empty(is_first.size, dtype=np.int64)
    order[is_first] = np.arange(len(first))
    order[~is_first] = np.arange(len(first), is_first.size)
    return AlignmentBatch.concatenate([first, second]).take(order)

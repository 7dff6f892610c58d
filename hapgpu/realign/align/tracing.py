"""Alignments of pairs whose end cells are known: straight ones, and windows to trace back in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.encoding import MATCH, SOFT_CLIP
from hapgpu.realign.align.bands import Band, gap_bounds
from hapgpu.realign.align.losses import EndCells
from hapgpu.realign.scoring import Overhang, Scoring


@dataclass(frozen=True, slots=True)
class Windows:
    """Parts of n matrices that hold the best alignments, which end in their last cells.

    Attributes
    ----------
    pairs
        The parts of the sequences.
    starts
        int64[n], the first row of each, in the whole reference.
    lowest, highest
        int64[n]: the diagonals, row - column of the part, that the alignments stay within.
    """

    pairs: PairBatch
    starts: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def order(self) -> NDArray[np.int64]:
        """Return row numbers, int64[n]: windows side by side have similar diagonals."""
        widths = np.log2(self.highest - self.lowest + 1).astype(np.int64)
        return np.lexsort((self.lowest + self.highest, widths))[::-1]

    def band(self, rows: NDArray[np.int64]) -> Band:
        """Return a band that holds the alignments of `rows`, int64[k], at least one."""
        return Band(int(self.lowest[rows].min()), int(self.highest[rows].max()))


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


def windows_of(pairs: PairBatch, ends: EndCells, scoring: Scoring) -> Windows:
    """Return the windows of n pairs with known end cells."""
    rows, columns = ends.rows.astype(np.int64), ends.columns.astype(np.int64)
    scores, lengths = ends.scores(pairs, scoring), pairs.query_lengths
    deleted, inserted = gap_bounds(scoring.match * columns - scores, scoring)
    margins = (scoring.match * lengths - scores) // scoring.match  # of the bands of `bands`
    lowest = np.maximum(rows - columns - deleted, -margins)
    highest = np.minimum(rows - columns + inserted, pairs.reference_lengths - lengths + margins)
    starts = np.maximum(lowest, 0)
    references, queries = pairs.references, pairs.queries
    first = references.offsets[pairs.reference_index] + starts
    numbers = np.arange(len(pairs), dtype=np.int32)
    parts = PairBatch(
        Ragged.gather(references.data, first, rows - starts),
        Ragged.gather(queries.data, queries.offsets[pairs.query_index], columns),
        numbers,
        numbers,
    )
    return Windows(parts, starts, lowest - starts, highest - starts)


def merged(
    is_first: NDArray[np.bool_], first: AlignmentBatch, second: AlignmentBatch
) -> AlignmentBatch:
    """Return n alignments: the next of `first` where `is_first`, bool[n], else of `second`."""
    order = np.empty(is_first.size, dtype=np.int64)
    order[is_first] = np.arange(len(first))
    order[~is_first] = np.arange(len(first), is_first.size)
    return AlignmentBatch.concatenate([first, second]).take(order)

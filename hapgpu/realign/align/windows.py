"""Windows: the parts of matrices that hold the best alignments of pairs with known end cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.vectors import LANES
from hapgpu.realign.align.bands import Band, gap_bounds
from hapgpu.realign.align.loss_lanes import LENGTHS_BYTES
from hapgpu.realign.align.losses import EndCells
from hapgpu.realign.scoring import Scoring


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
    clipped
        int64[n]: bases of the queries after the parts.
    most_runs
        int64[n]: CIGARs have at most so many runs.
    """

    pairs: PairBatch
    starts: NDArray[np.int64]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    clipped: NDArray[np.int64]
    most_runs: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Windows:
        """Gather windows by `rows`, int64[k]; the sequences share memory."""
        columns = (self.starts, self.lowest, self.highest, self.clipped, self.most_runs)
        return Windows(self.pairs.take(rows), *(column[rows] for column in columns))

    def order(self) -> NDArray[np.int64]:
        """Return row numbers, int64[n]: windows side by side have similar diagonals."""
        widths = np.log2(self.highest - self.lowest + 1).astype(np.int64)
        return np.lexsort((self.lowest + self.highest, widths))[::-1]

    def band(self, rows: NDArray[np.int64]) -> Band:
        """Return a band that holds the alignments of `rows`, int64[k], at least one."""
        return Band(int(self.lowest[rows].min()), int(self.highest[rows].max()))

    def fit(self, rows: NDArray[np.int64], width: int, most: int) -> NDArray[np.bool_]:
        """Return bool[k]: `rows`, int64[k], are in groups that need at most so many bytes."""
        sizes = self.scratch_bytes(rows, width)
        return np.repeat(sizes <= most, LANES)[: rows.size]

    def scratch_bytes(self, rows: NDArray[np.int64], width: int) -> NDArray[np.int64]:
        """Return int64[g]: the bytes that the groups of `rows`, int64[k], are traced in.

        A group is of LANES windows; `width` is the bytes of a loss.
        """
        starts = np.arange(0, rows.size, LANES)
        if not rows.size:
            return starts
        most = np.maximum.reduceat
        lengths = most(self.pairs.reference_lengths[rows], starts)
        columns = most(self.pairs.query_lengths[rows], starts)
        lowest, highest = -most(-self.lowest[rows], starts), most(self.highest[rows], starts)
        vectors = (lengths + 1) * (highest - lowest + 2) + 3 * (columns + 1) + 1
        sizes: NDArray[np.int64] = vectors * width * LANES + LENGTHS_BYTES
        return sizes


def windows_of(pairs: PairBatch, ends: EndCells, scoring: Scoring) -> Windows:
    """Return the windows of n pairs with known end cells."""
    rows, columns = ends.rows.astype(np.int64), ends.columns.astype(np.int64)
    scores, lengths = ends.scores(pairs, scoring), pairs.query_lengths
    deficits = scoring.match * columns - scores
    deleted, inserted = gap_bounds(deficits, scoring)
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
    # A gap loses -gap_open or more. Runs of matches are between gaps, and both ends may be clipped.
    most_runs = 2 * (deficits // -scoring.gap_open) + 3
    return Windows(parts, starts, lowest - starts, highest - starts, lengths - columns, most_runs)

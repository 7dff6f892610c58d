"""Steps in which pieces are aligned on a GPU: large fills one after the other.

The remaining fills of a mapping are not needed after a dropped one. That is known too late for
small fills, of which a GPU aligns many at once. A large fill takes longer than they all do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import chosen_rows
from hapgpu.longread.align.batches import (
    FILL,
    PLAN,
    AlignedPieces,
    PieceAlignments,
    Pieces,
    PlannedPieces,
)
from hapgpu.longread.align.pipeline import no_alignment
from hapgpu.longread.cuda.align.alignments import join, take
from hapgpu.longread.cuda.align.rows import column_of
from hapgpu.runtime.gpu_array import GpuArray

_LARGE: Final = 1 << 22
"""Cells of the smallest large fill."""


def align_in_steps(
    planned: PlannedPieces, align: Callable[[Pieces], tuple[PieceAlignments, GpuArray]]
) -> AlignedPieces:
    """Align and test pieces, of each mapping one large fill per step, until one is dropped.

    Waits for the GPU.

    Parameters
    ----------
    planned
        Pieces of mappings, on the current GPU.
    align
        Returns the alignments of some pieces, and the results of their tests.
    """
    pieces = planned.pieces
    is_fill = pieces.kinds == FILL
    is_large = is_fill & (pieces.query_lengths.astype(np.int64) * pieces.target_lengths >= _LARGE)
    large = chosen_rows(is_large)
    if large.size == 0:
        return AlignedPieces(planned, *align(pieces))
    queue = _LargeFills(_first_pieces(planned), cupy.asnumpy(large))
    places = cupy.zeros(pieces.kinds.size, dtype=np.int64)  # 0: not aligned
    parts = [PieceAlignments._make(map(cupy.asarray, no_alignment()))]
    tests = [cupy.zeros(1, dtype=np.uint8)]
    rows, count = chosen_rows(~is_large), 1
    while rows.size:
        alignments, found = align(pieces.take(rows))
        places[rows] = count + cupy.arange(rows.size)
        count += rows.size
        parts.append(alignments)
        tests.append(found)
        dropped = rows[chosen_rows(is_fill[rows] & (alignments.is_dropped == 1))]
        rows = cupy.asarray(queue.next(cupy.asnumpy(dropped)))
    return AlignedPieces(planned, take(join(parts), places), cupy.concatenate(tests)[places])


def _first_pieces(planned: PlannedPieces) -> NDArray[np.int64]:
    """Return int64[m] on the host: the first piece of each mapping."""
    left, fill = (column_of(planned.plans, PLAN, name) for name in ("left", "first_fill"))
    first: NDArray[np.int32] = cupy.asnumpy(cupy.where(left >= 0, left, fill))
    return first.astype(np.int64)


class _LargeFills:
    """Large fills that may be needed.

    Parameters
    ----------
    first_pieces
        int64[m]: the first piece of each mapping, ascending.
    fills
        int64[l]: the large fills, ascending.
    """

    def __init__(self, first_pieces: NDArray[np.int64], fills: NDArray[np.int64]) -> None:
        self._first_pieces = first_pieces
        self._fills = fills
        self._mappings = self._mapping_of(fills)

    def _mapping_of(self, pieces: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.searchsorted(self._first_pieces, pieces, side="right") - 1

    def next(self, dropped: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take the next fill of each mapping, without those behind a dropped one.

        Parameters
        ----------
        dropped
            int64[d]: fills that were dropped since the last call.

        Returns
        -------
        int64[n], ascending.
        """
        ends = np.full(self._first_pieces.size, np.iinfo(np.int64).max)
        np.minimum.at(ends, self._mapping_of(dropped), dropped)
        self._keep(self._fills < ends[self._mappings])
        _, first = np.unique(self._mappings, return_index=True)
        taken = self._fills[first]
        is_left = np.ones(self._fills.size, dtype=np.bool_)
        is_left[first] = False
        self._keep(is_left)
        return taken

    def _keep(self, is_kept: NDArray[np.bool_]) -> None:
        self._fills, self._mappings = self._fills[is_kept], self._mappings[is_kept]

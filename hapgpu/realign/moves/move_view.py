"""The columns of moves that records receive, as an argument of compiled functions."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.realign.moves.moves import Moves


class MoveView(NamedTuple):
    """The columns of `Moves`, read-only."""

    flags: NDArray[np.uint16]
    old_positions: NDArray[np.int32]
    old_ends: NDArray[np.int32]
    positions: NDArray[np.int32]
    ends: NDArray[np.int32]
    scores: NDArray[np.int32]
    second_scores: NDArray[np.int32]
    edit_distances: NDArray[np.int32]
    mismatches: RaggedView
    cigars: RaggedView

    @classmethod
    def of(cls, moves: Moves) -> Self:
        """View moves."""
        return cls(
            read_only(moves.flags),
            read_only(moves.old_positions),
            read_only(moves.old_ends),
            read_only(moves.positions),
            read_only(moves.ends),
            read_only(moves.scores),
            read_only(moves.second_scores),
            read_only(moves.edit_distances),
            view_of(moves.mismatches),
            view_of(moves.cigars),
        )

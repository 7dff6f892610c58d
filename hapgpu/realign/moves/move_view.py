"""Columns of moves as addresses, for compiled functions."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.realign.moves.moves import Moves


class MoveView(NamedTuple):
    """Addresses of the columns of `Moves`, which the caller must hold.

    Threads share the columns. Numba would count references to arrays for each record, and the
    threads would wait for the counters of each other.
    """

    flags: int
    old_positions: int
    old_ends: int
    positions: int
    ends: int
    scores: int
    second_scores: int
    edit_distances: int
    mismatches: int
    mismatch_offsets: int
    cigars: int
    cigar_offsets: int

    @classmethod
    def of(cls, moves: Moves) -> Self:
        """Return the addresses of the columns of moves."""
        return cls(
            address_of(moves.flags),
            address_of(moves.old_positions),
            address_of(moves.old_ends),
            address_of(moves.positions),
            address_of(moves.ends),
            address_of(moves.scores),
            address_of(moves.second_scores),
            address_of(moves.edit_distances),
            address_of(moves.mismatches.data),
            address_of(moves.mismatches.offsets),
            address_of(moves.cigars.data),
            address_of(moves.cigars.offsets),
        )


def address_of(column: NDArray[Any]) -> int:
    """Return the address of an array without gaps.

    Raises
    ------
    ValueError
        The array has gaps.
    """
    if not column.flags.c_contiguous:
        raise ValueError("an array with gaps has no rows at consecutive addresses")
    return int(np.asarray(column).ctypes.data)

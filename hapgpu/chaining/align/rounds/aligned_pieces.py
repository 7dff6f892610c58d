"""Pieces with their alignments and tests, and their reuse in the next round."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.chaining.align.batches import PieceAlignments, Pieces, PlannedPieces


class AlignedPieces(NamedTuple):
    """Pieces with their final alignments.

    Attributes
    ----------
    pieces
        Pieces.
    alignments
        Their alignments; the second ones of fills whose test found a drop.
    drops
        uint8[p]: results of the tests.
    """

    pieces: Pieces
    alignments: PieceAlignments
    drops: NDArray[np.uint8]


def take_pieces(pieces: Pieces, rows: NDArray[Any]) -> Pieces:
    """Return some pieces: a boolean mask, or row numbers in any order."""
    return Pieces(*(getattr(pieces, field.name)[rows] for field in fields(Pieces)))


def take_alignments(alignments: PieceAlignments, rows: NDArray[np.int64]) -> PieceAlignments:
    """Return the alignments of some pieces, in any order."""
    operations = Ragged(alignments.operations, alignments.offsets).take(rows)
    columns = {name: getattr(alignments, name)[rows] for name in _NUMBERS}
    return PieceAlignments(**columns, operations=operations.data, offsets=operations.offsets)


def join_alignments(parts: list[PieceAlignments]) -> PieceAlignments:
    """Return alignments of pieces, part by part."""
    operations = Ragged.concatenate([Ragged(each.operations, each.offsets) for each in parts])
    columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in _NUMBERS}
    return PieceAlignments(**columns, operations=operations.data, offsets=operations.offsets)


_NUMBERS = [
    field.name for field in fields(PieceAlignments) if field.name not in {"operations", "offsets"}
]
"""The columns with one number per piece."""


def pieces_behind_splits(
    planned: PlannedPieces, aligned: AlignedPieces, is_split: NDArray[np.bool_]
) -> AlignedPieces:
    """Return fills and right extensions of split mappings, which their second parts have too.

    Parameters
    ----------
    planned, aligned
        Pieces of a round.
    is_split
        bool[m]: the mappings of the plans that were split.
    """
    plans = planned.plans[is_split]
    ends = np.zeros(len(planned.pieces) + 1, dtype=np.int64)
    np.add.at(ends, plans["first_fill"], 1)
    np.add.at(ends, plans["first_fill"] + plans["fills"], -1)
    is_kept = np.cumsum(ends[:-1]) > 0
    is_kept[plans["right"][plans["right"] >= 0]] = True
    rows = np.flatnonzero(is_kept)
    return AlignedPieces(
        take_pieces(aligned.pieces, rows),
        take_alignments(aligned.alignments, rows),
        aligned.drops[rows],
    )


def known_rows(pieces: Pieces, known: Pieces) -> NDArray[np.int64]:
    """Return int64[p]: an equal piece among the known ones, or -1.

    Of known pieces with the same first bases, only one is compared: an equal one can be missed.
    """
    if not len(known):
        return np.full(len(pieces), -1)
    keys, known_keys = (each.query_starts ^ each.target_starts << 32 for each in (pieces, known))
    order = np.argsort(known_keys)
    rows = order[np.searchsorted(known_keys[order], keys).clip(max=order.size - 1)]
    is_equal = np.ones(len(pieces), dtype=np.bool_)
    for field in fields(Pieces):
        is_equal &= getattr(pieces, field.name) == getattr(known, field.name)[rows]
    return np.where(is_equal, rows, -1)

"""Chains to pieces of dynamic programming, on the CPU.

The pieces are those of minimap2 2.30's `mm_align1` (Li 2018, Bioinformatics 34:3094): an extension
at each end of a chain, and fills between its cut points, most of them at least `min_piece` bases
apart.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.longread.align.batches import (
    FILL,
    LEFT,
    LONG_JOIN,
    PLAN,
    RIGHT,
    MappedAnchors,
    Pieces,
    PlannedPieces,
    Row,
    SequenceCodes,
)
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring, costs_of
from hapgpu.longread.align.piece_anchors import (
    end_of_reliable,
    first_reliable,
    has_flag,
    mark_bad_seeds,
)
from hapgpu.longread.align.piece_bounds import (
    ANCHOR,
    CUT_COLUMNS,
    LIMITS,
    QUERY,
    TARGET,
    list_bounds,
    query_start,
    target_start,
)
from hapgpu.runtime.jit import njit

_MIN_FILTERED: Final = 3
"""Fewest anchors of a mapping whose ends are filtered."""


def plan_pieces(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    anchors: MappedAnchors,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PlannedPieces:
    """Return the pieces to align of some mappings.

    Parameters
    ----------
    mappings
        `MAPPING`[r], before alignment: `matches` is the estimate from the anchors.
    rows
        int64[m]: the mappings to plan; each has anchors.
    anchors
        Anchors of the mappings; `y` gets the bits `LONG_JOIN` and `IGNORED`.
    sequences
        Bases of the reads and of the reference.
    scoring, parameters
        Scores and parameters of base alignment.

    Returns
    -------
    PlannedPieces
        Mapping by mapping: the left extension, the fills and the right extension.
    """
    anchors = MappedAnchors(read_only(anchors.x), anchors.y, read_only(anchors.offsets))
    mappings, rows = read_only(mappings), read_only(rows)
    most_bounds = int(mappings["anchors"][rows].sum()) + LIMITS * rows.size
    bounds = np.empty((CUT_COLUMNS, most_bounds), dtype=np.int32)
    plans = np.empty(rows.size, dtype=PLAN)
    count = _plan(mappings, rows, anchors, sequences, scoring, parameters, bounds, plans)
    planned = _no_pieces(int(count), plans)
    _fill(mappings, anchors, sequences, parameters, bounds, planned)
    return planned


def _no_pieces(count: int, plans: NDArray[np.void]) -> PlannedPieces:
    """Return space for pieces."""
    starts, numbers = np.empty((2, count), dtype=np.int64), np.empty((5, count), dtype=np.int32)
    (query_starts, target_starts), (query_lengths, target_lengths, bands, drops, ends) = (
        starts,
        numbers,
    )
    kinds = np.empty(count, dtype=np.uint8)
    pieces = Pieces(kinds, query_starts, query_lengths, target_starts, target_lengths, bands, drops)
    return PlannedPieces(pieces, plans, ends)


@njit
def _plan(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    anchors: MappedAnchors,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
    bounds: NDArray[np.int32],
    plans: NDArray[np.void],
) -> Integer:
    """Choose the anchors, bound the pieces and number them; return the number of pieces."""
    costs = costs_of(scoring)
    gapped = np.empty(bounds.shape[1], dtype=np.int64)
    pieces: Integer = np.int64(0)
    at: Integer = np.int64(0)
    for row in range(rows.size):
        mapping, plan = mappings[rows[row]], plans[row]
        first = mapping["first_anchor"]
        end = first + mapping["anchors"]
        if parameters.filters_ends and end - first >= _MIN_FILTERED:
            first = first_reliable(anchors, first, end, mapping["matches"], parameters)
            end = end_of_reliable(anchors, first, end, mapping["matches"], parameters)
        mark_bad_seeds(anchors, first, end, parameters.max_gap, gapped)
        plan["mapping"], plan["first_anchor"], plan["anchors"] = rows[row], first, end - first
        bounds_end = list_bounds(mapping, plan, anchors, sequences, parameters, costs, bounds, at)
        pieces = _number_pieces(plan, bounds, at, bounds_end, pieces)
        at = bounds_end
    return pieces


@njit
def _number_pieces(
    plan: Row, bounds: NDArray[np.int32], at: Integer, end: Integer, pieces: Integer
) -> Integer:
    """Set the rows of the pieces of a mapping, from `pieces` on; return their end.

    There is always a right extension, as the last cut point is before the end of its k-mer.

    Parameters
    ----------
    at, end
        The bounds of the mapping.
    """
    query, target = bounds[QUERY, at + 1], bounds[TARGET, at + 1]
    plan["query_start"], plan["target_start"] = query, target
    fills = end - at - LIMITS - 1
    has_left = query > 0 and target > 0
    plan["first_fill"], plan["fills"] = pieces + has_left, fills
    plan["left"] = pieces if has_left else -1
    plan["right"] = pieces + has_left + fills
    next_piece: Integer = plan["right"] + 1
    return next_piece


@njit
def _fill(
    mappings: NDArray[np.void],
    anchors: MappedAnchors,
    sequences: SequenceCodes,
    parameters: AlignParameters,
    bounds: NDArray[np.int32],
    planned: PlannedPieces,
) -> None:
    """Fill in the numbered pieces of all mappings."""
    at = np.int64(0)
    pieces = planned.pieces
    for row in range(planned.plans.size):
        plan = planned.plans[row]
        mapping = mappings[plan["mapping"]]
        query_at, target_at = query_start(sequences, mapping), target_start(sequences, mapping)
        if plan["left"] >= 0:
            has_lower_drop = mapping["is_split_inversion"]
            drop = parameters.inversion_drop if has_lower_drop else parameters.drop
            _put_place(pieces, np.int64(plan["left"]), bounds, at, query_at, target_at)
            _put_limits(planned, np.int64(plan["left"]), LEFT, parameters.band, drop, -1)
        for fill in range(plan["first_fill"], plan["first_fill"] + plan["fills"]):
            at += 1
            _put_place(pieces, fill, bounds, at, query_at, target_at)
            band: Integer = parameters.long_band
            anchor = np.int64(bounds[ANCHOR, at + 1])
            if has_flag(anchors, plan["first_anchor"] + anchor, LONG_JOIN):
                band = np.int64(max(pieces.query_lengths[fill], pieces.target_lengths[fill]))
            _put_limits(planned, fill, FILL, band, parameters.drop, anchor)
        at += 1
        _put_place(pieces, np.int64(plan["right"]), bounds, at, query_at, target_at)
        _put_limits(planned, np.int64(plan["right"]), RIGHT, parameters.band, parameters.drop, -1)
        at += LIMITS


@njit
def _put_place(
    pieces: Pieces,
    piece: Integer,
    bounds: NDArray[np.int32],
    at: Integer,
    query_at: Integer,
    target_at: Integer,
) -> None:
    """Write the place of the piece between bound `at` and the next one."""
    query, target = bounds[QUERY, at], bounds[TARGET, at]
    pieces.query_starts[piece] = query_at + query
    pieces.target_starts[piece] = target_at + target
    pieces.query_lengths[piece] = bounds[QUERY, at + 1] - query
    pieces.target_lengths[piece] = bounds[TARGET, at + 1] - target


@njit
def _put_limits(
    planned: PlannedPieces,
    piece: Integer,
    kind: int,
    band: Integer,
    drop: Integer,
    end_anchor: Integer,
) -> None:
    pieces = planned.pieces
    pieces.kinds[piece], pieces.bands[piece], pieces.drops[piece] = kind, band, drop
    planned.end_anchors[piece] = end_anchor

"""Chains to pieces of dynamic programming, on the CPU.

The pieces are those of minimap2 2.30's `mm_align1` (Li 2018, Bioinformatics 34:3094): an extension
at each end of a chain, and fills between its cut points, most of them at least `min_piece` bases
apart.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import (
    FILL,
    LEFT,
    LONG_JOIN,
    PLAN,
    RIGHT,
    MappedAnchors,
    Pieces,
    PlannedPieces,
    ReadCodes,
    TargetCodes,
)
from hapgpu.chaining.align.parameters import AlignParameters, AlignScoring
from hapgpu.chaining.align.pieces.anchors import (
    AnchorArrays,
    end_of_reliable,
    first_reliable,
    has_flag,
    mark_bad_seeds,
)
from hapgpu.chaining.align.pieces.bounds import (
    ANCHOR,
    CUT_COLUMNS,
    LIMITS,
    QUERY,
    TARGET,
    LimitParameters,
    Sequences,
    list_bounds,
    query_start,
    sequences_of,
    target_start,
)
from hapgpu.runtime.jit import njit

_MIN_FILTERED: Final = 3
"""Fewest anchors of a mapping whose ends are filtered."""


def plan_pieces(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    anchors: MappedAnchors,
    reads: ReadCodes,
    targets: TargetCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PlannedPieces:
    """Return the pieces to align of some mappings.

    Parameters
    ----------
    mappings
        MAPPING[r], before alignment: `matches` is the estimate from the anchors.
    rows
        int64[m]: the mappings to plan; each has anchors.
    anchors
        Anchors of the mappings; `y` gets the bits `LONG_JOIN` and `IGNORED`.
    reads, targets
        Bases of the reads and of the reference.
    scoring, parameters
        Scores and parameters of base alignment.

    Returns
    -------
    PlannedPieces
        Mapping by mapping: the left extension, the fills and the right extension.
    """
    arrays = AnchorArrays(read_only(anchors.x), anchors.y, read_only(anchors.offsets))
    sequences = sequences_of(reads, targets)
    limit_parameters = LimitParameters(
        parameters.max_gap,
        parameters.min_anchors,
        scoring.match,
        scoring.gap_open,
        scoring.gap_extend,
    )
    most_bounds = int(mappings["anchors"][rows].sum()) + LIMITS * rows.size
    bounds = np.empty((CUT_COLUMNS, most_bounds), dtype=np.int32)
    plans = np.empty(rows.size, dtype=PLAN)
    mappings = read_only(mappings)
    count = _plan(
        mappings,
        read_only(rows),
        arrays,
        sequences,
        parameters,
        limit_parameters,
        bounds,
        plans,
    )
    table = empty_table(count)
    fill_table(mappings, plans, arrays, sequences, parameters, bounds, table)
    pieces, end_anchors = pieces_of(table)
    return PlannedPieces(pieces, plans, end_anchors)


@njit
def _plan(
    mappings: NDArray[np.void],
    rows: NDArray[np.int64],
    anchors: AnchorArrays,
    sequences: Sequences,
    parameters: AlignParameters,
    limit_parameters: LimitParameters,
    bounds: NDArray[np.int32],
    plans: NDArray[np.void],
) -> Any:
    """Choose the anchors, bound the pieces and number them; return the number of pieces."""
    gapped = np.empty(bounds.shape[1], dtype=np.int64)
    pieces = at = np.int64(0)
    for row in range(rows.size):
        mapping, plan = mappings[rows[row]], plans[row]
        first = mapping["first_anchor"]
        end = first + mapping["anchors"]
        if parameters.filters_ends and end - first >= _MIN_FILTERED:
            first = first_reliable(anchors, first, end, mapping["matches"], parameters)
            end = end_of_reliable(anchors, first, end, mapping["matches"], parameters)
        mark_bad_seeds(anchors, first, end, parameters.max_gap, gapped)
        plan["mapping"], plan["first_anchor"], plan["anchors"] = rows[row], first, end - first
        bounds_end = list_bounds(
            mapping, plan, anchors, sequences, parameters, limit_parameters, bounds, at
        )
        pieces = number_pieces(plan, bounds, at, bounds_end, pieces)
        at = bounds_end
    return pieces


_COLUMNS: Final = 5
_QUERY_LENGTH, _TARGET_LENGTH, _BAND, _DROP, _END_ANCHOR = range(_COLUMNS)


class PieceTable(NamedTuple):
    """`Pieces` and the anchors at their ends, for compiled code.

    Attributes
    ----------
    kinds
        uint8[p].
    starts
        int64[2, p]: rows `QUERY` and `TARGET`.
    numbers
        int32[5, p]: lengths of query and target, band, drop, and the anchor at the end.
    """

    kinds: NDArray[np.uint8]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]


def empty_table(pieces: int) -> PieceTable:
    """Return space for a number of pieces."""
    return PieceTable(
        np.empty(pieces, dtype=np.uint8),
        np.empty((2, pieces), dtype=np.int64),
        np.empty((_COLUMNS, pieces), dtype=np.int32),
    )


def pieces_of(table: PieceTable) -> tuple[Pieces, NDArray[np.int32]]:
    """Return the pieces and the anchors at their ends, sharing memory."""
    numbers = table.numbers
    pieces = Pieces(
        kinds=table.kinds,
        query_starts=table.starts[QUERY],
        query_lengths=numbers[_QUERY_LENGTH],
        target_starts=table.starts[TARGET],
        target_lengths=numbers[_TARGET_LENGTH],
        bands=numbers[_BAND],
        drops=numbers[_DROP],
    )
    return pieces, numbers[_END_ANCHOR]


@njit
def number_pieces(
    plan: Any, bounds: NDArray[np.int32], at: Integer, end: Integer, pieces: Integer
) -> Any:
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
    return plan["right"] + 1


@njit
def fill_table(
    mappings: NDArray[np.void],
    plans: NDArray[np.void],
    anchors: AnchorArrays,
    sequences: Sequences,
    parameters: AlignParameters,
    bounds: NDArray[np.int32],
    table: PieceTable,
) -> None:
    """Fill the table with the numbered pieces of all mappings."""
    at = np.int64(0)
    for row in range(plans.size):
        plan = plans[row]
        mapping = mappings[plan["mapping"]]
        query_at, target_at = query_start(sequences, mapping), target_start(sequences, mapping)
        if plan["left"] >= 0:
            has_lower_drop = mapping["is_split_inversion"]
            drop = parameters.inversion_drop if has_lower_drop else parameters.drop
            _put_place(table, np.int64(plan["left"]), bounds, at, query_at, target_at)
            _put_limits(table, np.int64(plan["left"]), LEFT, parameters.band, drop, -1)
        for fill in range(plan["first_fill"], plan["first_fill"] + plan["fills"]):
            at += 1
            _put_place(table, fill, bounds, at, query_at, target_at)
            anchor, band = np.int64(bounds[ANCHOR, at + 1]), parameters.long_band
            if has_flag(anchors, plan["first_anchor"] + anchor, LONG_JOIN):
                band = _longer(table, fill)
            _put_limits(table, fill, FILL, band, parameters.drop, anchor)
        at += 1
        _put_place(table, np.int64(plan["right"]), bounds, at, query_at, target_at)
        _put_limits(table, np.int64(plan["right"]), RIGHT, parameters.band, parameters.drop, -1)
        at += LIMITS


@njit
def _put_place(
    table: PieceTable,
    piece: Integer,
    bounds: NDArray[np.int32],
    at: Integer,
    query_at: Integer,
    target_at: Integer,
) -> None:
    """Write the place of the piece between bound `at` and the next one."""
    starts, numbers = table.starts, table.numbers
    query, target = bounds[QUERY, at], bounds[TARGET, at]
    starts[QUERY, piece], starts[TARGET, piece] = query_at + query, target_at + target
    numbers[_QUERY_LENGTH, piece] = bounds[QUERY, at + 1] - query
    numbers[_TARGET_LENGTH, piece] = bounds[TARGET, at + 1] - target


@njit
def _longer(table: PieceTable, piece: Integer) -> Any:
    """Return the length of the longer sequence of a piece."""
    numbers = table.numbers
    return np.int64(max(numbers[_QUERY_LENGTH, piece], numbers[_TARGET_LENGTH, piece]))


@njit
def _put_limits(
    table: PieceTable, piece: Integer, kind: int, band: Integer, drop: Integer, anchor: Integer
) -> None:
    table.kinds[piece] = kind
    numbers = table.numbers
    numbers[_BAND, piece], numbers[_DROP, piece] = band, drop
    numbers[_END_ANCHOR, piece] = anchor

"""Chains to pieces of dynamic programming, on the CPU.

The pieces are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094): an extension at each end of
a chain, and fills between its cut points, most of them at least `min_piece` bases apart.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import read_only
from hapgpu.chaining.align.batches import (
    PLAN,
    MappedAnchors,
    PlannedPieces,
    ReadCodes,
    TargetCodes,
)
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.pieces.bad_seeds import mark_bad_seeds
from hapgpu.chaining.align.pieces.bounds import LIMITS, list_bounds
from hapgpu.chaining.align.pieces.cuts import CUT_COLUMNS
from hapgpu.chaining.align.pieces.fields import AnchorArrays
from hapgpu.chaining.align.pieces.limits import LimitParameters
from hapgpu.chaining.align.pieces.sequences import Sequences, sequences_of
from hapgpu.chaining.align.pieces.table import empty_table, fill_table, number_pieces, pieces_of
from hapgpu.chaining.align.pieces.trimming import end_of_reliable, first_reliable
from hapgpu.chaining.align.scoring import AlignScoring
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

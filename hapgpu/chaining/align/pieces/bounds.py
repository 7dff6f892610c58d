"""Bounds of the pieces of a mapping: the limits of its extensions, and its cut points between."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.pieces.cuts import QUERY, TARGET, list_cuts
from hapgpu.chaining.align.pieces.fields import AnchorArrays
from hapgpu.chaining.align.pieces.limits import LimitParameters, end_limits, start_limits
from hapgpu.chaining.align.pieces.sequences import Sequences, lengths, query_start, target_start
from hapgpu.runtime.jit import njit

LIMITS: Final = 2
"""Bounds of a mapping besides its cut points: the first and the last one."""


@njit
def list_bounds(
    mapping: Any,
    plan: Any,
    anchors: AnchorArrays,
    sequences: Sequences,
    parameters: AlignParameters,
    limit_parameters: LimitParameters,
    bounds: NDArray[np.int32],
    at: Integer,
) -> Any:
    """List the bounds of the pieces of a mapping; return the end of the list.

    Parameters
    ----------
    mapping, plan
        Elements of MAPPING and PLAN; of `plan`, only the anchors are set.
    bounds, at
        int32[CUT_COLUMNS, n]: space from `at` on, for `LIMITS` columns and one per anchor.
    """
    query_length, target_length = lengths(sequences, mapping)
    query_at, target_at = query_start(sequences, mapping), target_start(sequences, mapping)
    query = sequences.reads.codes[query_at : query_at + query_length]
    target = sequences.targets.codes[target_at : target_at + target_length]
    first, end = plan["first_anchor"], plan["first_anchor"] + plan["anchors"]
    limit = list_cuts(anchors, first, end, query, target, parameters, bounds, at + 1)
    read, mapped = mapping["read"], mapping["first_anchor"]
    bounds[QUERY, at], bounds[TARGET, at] = start_limits(
        anchors,
        mapped,
        anchors.offsets[read],
        bounds[QUERY, at + 1],
        bounds[TARGET, at + 1],
        limit_parameters,
    )
    bounds[QUERY, limit], bounds[TARGET, limit] = end_limits(
        anchors,
        mapped + mapping["anchors"] - 1,
        anchors.offsets[read + 1],
        bounds[QUERY, limit - 1],
        bounds[TARGET, limit - 1],
        query_length,
        target_length,
        limit_parameters,
    )
    return limit + 1

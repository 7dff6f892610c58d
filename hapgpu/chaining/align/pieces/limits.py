"""How far the extensions at the ends of a chain may go."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.pieces.fields import (
    AnchorArrays,
    is_beside,
    query_of,
    span_of,
    target_of,
)
from hapgpu.runtime.jit import njit

_NO_LIMIT: Final = 1 << 40


class LimitParameters(NamedTuple):
    """Parameters of the limits.

    Attributes
    ----------
    max_gap, min_anchors
        As in `AlignParameters`.
    match, gap_open, gap_extend
        As in `AlignScoring`.
    """

    max_gap: int
    min_anchors: int
    match: int
    gap_open: int
    gap_extend: int


@njit
def start_limits(
    anchors: AnchorArrays,
    first: Integer,
    read_first: Integer,
    query_cut: Integer,
    target_cut: Integer,
    parameters: LimitParameters,
) -> tuple[Integer, Integer]:
    """Return the lowest query and target position of the extension to lower positions.

    Parameters
    ----------
    first, read_first
        The first anchors of the mapping and of the read.
    query_cut, target_cut
        The first cut point.
    """
    if query_cut == 0 or target_cut == 0:
        return query_cut, target_cut
    span = span_of(anchors, first)
    query_start = query_of(anchors, first) + 1 - span
    target_start = max(target_of(anchors, first) + 1 - span, 0)
    reach = _reach_of_earlier(anchors, first, read_first, query_start, target_start, parameters)
    query_length = min(query_cut, parameters.max_gap)
    target_length = min(_with_gap(query_length, parameters), parameters.max_gap, target_cut)
    query_limit = max(query_start - reach, query_cut - query_length)
    target_limit = max(target_start - reach, target_cut - target_length)
    return min(query_start, query_limit), min(target_start, target_limit, target_cut)


@njit
def end_limits(
    anchors: AnchorArrays,
    last: Integer,
    read_end: Integer,
    query_cut: Integer,
    target_cut: Integer,
    query_size: Integer,
    target_size: Integer,
    parameters: LimitParameters,
) -> tuple[Integer, Integer]:
    """Return the query and target end of the extension to higher positions.

    Parameters
    ----------
    last, read_end
        The last anchor of the mapping, and the end of the read's anchors.
    query_cut, target_cut
        The last cut point.
    query_size, target_size
        Lengths of the read and of the reference sequence.
    """
    query_end, target_end = query_of(anchors, last) + 1, target_of(anchors, last) + 1
    reach = _reach_of_later(anchors, last, read_end, parameters)
    query_length = min(query_size - query_cut, parameters.max_gap)
    target_length = min(
        _with_gap(query_length, parameters), parameters.max_gap, target_size - target_cut
    )
    query_limit = min(query_end + reach, query_cut + query_length)
    target_limit = min(target_end + reach, target_cut + target_length)
    return max(query_end, query_limit), max(target_end, target_limit)


@njit
def _with_gap(length: Integer, parameters: LimitParameters) -> Integer:
    """Return bases of the reference for some of the read, with the longest gap that could pay."""
    score = length * parameters.match
    if score <= parameters.gap_open:
        return length
    return length + (score - parameters.gap_open) // parameters.gap_extend


@njit
def _reach_of_earlier(
    anchors: AnchorArrays,
    first: Integer,
    read_first: Integer,
    query_start: Integer,
    target_start: Integer,
    parameters: LimitParameters,
) -> Any:
    """Return the distance to the start of the `min_anchors` + 1 th anchor before the mapping."""
    before = 0
    for anchor in range(first - 1, read_first - 1, -1):
        if not is_beside(anchors, anchor, first):
            break
        span = span_of(anchors, anchor)
        query = query_start - (query_of(anchors, anchor) + 1 - span)
        target = target_start - (target_of(anchors, anchor) + 1 - span)
        if query > 0 and target > 0:
            before += 1
            if before > parameters.min_anchors:
                return max(query, target)
    return _NO_LIMIT


@njit
def _reach_of_later(
    anchors: AnchorArrays,
    last: Integer,
    read_end: Integer,
    parameters: LimitParameters,
) -> Any:
    """Return the distance to the end of the `min_anchors` + 1 th anchor behind the mapping."""
    behind = 0
    for anchor in range(last + 1, read_end):
        if not is_beside(anchors, anchor, last):
            break
        query = query_of(anchors, anchor) - query_of(anchors, last)
        target = target_of(anchors, anchor) - target_of(anchors, last)
        if query > 0 and target > 0:
            behind += 1
            if behind > parameters.min_anchors:
                return max(query, target)
    return _NO_LIMIT

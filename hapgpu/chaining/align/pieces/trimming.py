"""Unreliable anchors at the ends of a chain: those beyond a gap that is long for what follows."""

from __future__ import annotations

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.batches import LONG_JOIN
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.pieces.fields import (
    AnchorArrays,
    has_flag,
    query_of,
    span_of,
    target_of,
)
from hapgpu.runtime.jit import njit


@njit
def first_reliable(
    anchors: AnchorArrays,
    first: Integer,
    end: Integer,
    matches: Integer,
    parameters: AlignParameters,
) -> Integer:
    """Return the first anchor to use of the anchors `first` to `end` of a mapping."""
    kept = first
    length = matched = span_of(anchors, first)
    for anchor in range(first + 1, end - 1):
        if has_flag(anchors, anchor, LONG_JOIN):
            break
        shorter, longer = _distances(anchors, anchor)
        if longer - shorter > length >> 1:
            kept = anchor
        length += shorter
        matched += min(shorter, span_of(anchors, anchor))
        if _is_enough(length, matched, matches, parameters):
            break
    return kept


@njit
def end_of_reliable(
    anchors: AnchorArrays,
    first: Integer,
    end: Integer,
    matches: Integer,
    parameters: AlignParameters,
) -> Integer:
    """Return the end of the anchors to use of the anchors `first` to `end` of a mapping."""
    kept = end
    length = matched = span_of(anchors, end - 1)
    for anchor in range(end - 1, first + 1, -1):
        if has_flag(anchors, anchor, LONG_JOIN):
            break
        shorter, longer = _distances(anchors, anchor)
        if longer - shorter > length >> 1:
            kept = anchor
        length += shorter
        matched += min(shorter, span_of(anchors, anchor))
        if _is_enough(length, matched, matches, parameters):
            break
    return kept


@njit
def _distances(anchors: AnchorArrays, anchor: Integer) -> tuple[Integer, Integer]:
    """Return the shorter and the longer distance between an anchor and the one before."""
    target = target_of(anchors, anchor) - target_of(anchors, anchor - 1)
    query = query_of(anchors, anchor) - query_of(anchors, anchor - 1)
    return min(target, query), max(target, query)


@njit
def _is_enough(
    length: Integer, matched: Integer, matches: Integer, parameters: AlignParameters
) -> bool:
    """Return whether the anchors visited are long enough to be relied on."""
    bandwidth = parameters.bandwidth
    min_matched = max(2 * parameters.min_chain_score, bandwidth)
    return bool(length >= 2 * bandwidth or matched >= min_matched or matched >= matches >> 1)

"""Anchors that make gaps which a plain alignment would not have: they become no cut points."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.batches import IGNORED, LONG_JOIN
from hapgpu.chaining.align.pieces.fields import (
    AnchorArrays,
    query_of,
    set_flag,
    span_of,
    target_of,
)
from hapgpu.runtime.jit import njit

_MIN_GAP: Final = 10
_MIN_CANCELLED: Final = 40
_MAX_STEPS: Final = 10
_MIN_LONG_GAP: Final = 30


@njit
def mark_bad_seeds(
    anchors: AnchorArrays,
    first: Integer,
    end: Integer,
    max_gap: Integer,
    gapped: NDArray[np.int64],
) -> None:
    """Set `IGNORED` and `LONG_JOIN` in `y` for the anchors `first` to `end`.

    Parameters
    ----------
    gapped
        Space for `end - first` anchors.
    """
    reach = max_gap // 2
    count = _list_gapped(anchors, first, end, _MIN_GAP, gapped)
    if count > 1:
        _ignore_cancelling(anchors, gapped, count, reach)
    count = _list_gapped(anchors, first, end, _MIN_LONG_GAP, gapped)
    if count > 1:
        _ignore_between_long(anchors, gapped, count, reach)


@njit
def _gap_before(anchors: AnchorArrays, anchor: Integer) -> Any:
    """Return the bases inserted between an anchor and the one before; negative if deleted."""
    query = query_of(anchors, anchor) - query_of(anchors, anchor - 1)
    return query - (target_of(anchors, anchor) - target_of(anchors, anchor - 1))


@njit
def _list_gapped(
    anchors: AnchorArrays,
    first: Integer,
    end: Integer,
    min_gap: Integer,
    gapped: NDArray[np.int64],
) -> Integer:
    """List the anchors behind gaps longer than `min_gap`; return their number."""
    count = 0
    for anchor in range(first + 1, end):
        if abs(_gap_before(anchors, anchor)) > min_gap:
            gapped[count] = anchor
            count += 1
    return count


@njit
def _ignore(anchors: AnchorArrays, first: Integer, end: Integer) -> None:
    for anchor in range(first, end):
        set_flag(anchors, anchor, IGNORED)


@njit
def _ignore_cancelling(
    anchors: AnchorArrays,
    gapped: NDArray[np.int64],
    count: Integer,
    reach: Integer,
) -> None:
    """Ignore the anchors between insertions and deletions that cancel each other.

    Of ranges that begin within one another, the one that cancels most is ignored.
    """
    best = first = end = 0
    for k in range(count):
        if k >= end:
            if end > 0:
                _ignore(anchors, gapped[first], gapped[end])
            best = first = end = 0
        cancelled, last = _most_cancelled(anchors, gapped, count, k, reach)
        if cancelled > _MIN_CANCELLED and cancelled > best:
            best, first, end = cancelled, k, last
    if end > 0:
        _ignore(anchors, gapped[first], gapped[end])


@njit
def _most_cancelled(
    anchors: AnchorArrays,
    gapped: NDArray[np.int64],
    count: Integer,
    k: Integer,
    reach: Integer,
) -> tuple[Any, Any]:
    """Return the most bases that gaps from gap k on cancel, and the last of these gaps."""
    start = gapped[k] - 1
    max_query = query_of(anchors, start) + reach
    max_target = target_of(anchors, start) + reach
    gap = _gap_before(anchors, gapped[k])
    inserted, deleted = max(gap, 0), max(-gap, 0)
    best = last = 0
    for other in range(k + 1, min(k + _MAX_STEPS + 1, count)):
        anchor = gapped[other]
        if query_of(anchors, anchor) > max_query or target_of(anchors, anchor) > max_target:
            break
        gap = _gap_before(anchors, anchor)
        inserted += max(gap, 0)
        deleted += max(-gap, 0)
        cancelled = 2 * min(inserted, deleted)
        if cancelled > best:
            best, last = cancelled, other
    return best, last


@njit
def _ignore_between_long(
    anchors: AnchorArrays,
    gapped: NDArray[np.int64],
    count: Integer,
    reach: Integer,
) -> None:
    """Ignore the anchors between long gaps that are longer than what matches between them.

    The anchor behind the last of these gaps gets `LONG_JOIN`.
    """
    k = 0
    while k < count:
        before = gapped[k]
        following = k + 1
        while following < count and _are_joined(anchors, before, gapped[following], reach):
            before = gapped[following]
            following += 1
        if following > k + 1:
            _ignore(anchors, gapped[k], before)
            set_flag(anchors, before, LONG_JOIN)
        k = following


@njit
def _are_joined(
    anchors: AnchorArrays,
    one: Integer,
    other: Integer,
    reach: Integer,
) -> bool:
    """Return whether the gaps before two anchors are longer than the match between the gaps."""
    target, query = target_of(anchors, one), query_of(anchors, one)
    if query_of(anchors, other) - query > reach or target_of(anchors, other) - target > reach:
        return False
    span = span_of(anchors, other - 1)
    matched_target = target_of(anchors, other - 1) + span - target
    matched_query = query_of(anchors, other - 1) + span - query
    gaps = abs(_gap_before(anchors, one)) + abs(_gap_before(anchors, other))
    return bool(min(matched_target, matched_query) <= gaps)

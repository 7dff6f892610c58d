"""Anchors of a mapping: their fields, and the unreliable ones, which become no cut points.

The rules are minimap2's: `mm_filter_bad_seeds` and `mm_filter_bad_seeds_alt` for anchors between
gaps that a plain alignment would not have, `mm_fix_bad_ends` for those at the ends of a chain,
beyond a gap that is long for what follows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.align.batches import IGNORED, LONG_JOIN, MappedAnchors
from hapgpu.longread.align.parameters import AlignParameters
from hapgpu.longread.batches import SPAN_SHIFT
from hapgpu.runtime.jit import njit, njit_inlined

_POSITION: Final = np.uint64(0xFFFFFFFF)
_SPAN: Final = np.uint64(0xFF)
_SHIFT: Final = np.uint64(SPAN_SHIFT)


@njit_inlined
def query_of(anchors: MappedAnchors, anchor: Integer) -> Any:
    """Return the position of the last base in the read, on the strand of the mapping."""
    return np.int64(anchors.y[anchor] & _POSITION)


@njit_inlined
def target_of(anchors: MappedAnchors, anchor: Integer) -> Any:
    """Return the position of the last base in the reference sequence."""
    return np.int64(anchors.x[anchor] & _POSITION)


@njit_inlined
def span_of(anchors: MappedAnchors, anchor: Integer) -> Any:
    """Return the number of bases in the read."""
    return np.int64(anchors.y[anchor] >> _SHIFT & _SPAN)


@njit_inlined
def is_beside(anchors: MappedAnchors, one: Integer, other: Integer) -> bool:
    """Return whether two anchors have the same strand and reference sequence."""
    return bool(anchors.x[one] >> _SHIFT == anchors.x[other] >> _SHIFT)


@njit_inlined
def has_flag(anchors: MappedAnchors, anchor: Integer, flags: int) -> bool:
    """Return whether any of some bits is set."""
    return bool(anchors.y[anchor] & np.uint64(flags) != 0)


@njit_inlined
def set_flag(anchors: MappedAnchors, anchor: Integer, flag: int) -> None:
    """Set a bit."""
    anchors.y[anchor] |= np.uint64(flag)


_MIN_GAP: Final = 10
_MIN_CANCELLED: Final = 40
_MAX_STEPS: Final = 10
_MIN_LONG_GAP: Final = 30


@njit
def mark_bad_seeds(
    anchors: MappedAnchors,
    first: Integer,
    end: Integer,
    max_gap: Integer,
    gapped: NDArray[np.int64],
) -> None:
    """Set `IGNORED` and `LONG_JOIN` in `y` for the anchors `first` to `end`.

    Parameters
    ----------
    gapped
        int64: space for `end - first` anchors.
    """
    reach = max_gap // 2
    count = _list_gapped(anchors, first, end, _MIN_GAP, gapped)
    if count > 1:
        _ignore_cancelling(anchors, gapped, count, reach)
    count = _list_gapped(anchors, first, end, _MIN_LONG_GAP, gapped)
    if count > 1:
        _ignore_between_long(anchors, gapped, count, reach)


@njit
def _gap_before(anchors: MappedAnchors, anchor: Integer) -> Any:
    """Return the bases inserted between an anchor and the one before; negative if deleted."""
    query = query_of(anchors, anchor) - query_of(anchors, anchor - 1)
    return query - (target_of(anchors, anchor) - target_of(anchors, anchor - 1))


@njit
def _list_gapped(
    anchors: MappedAnchors,
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
def _ignore(anchors: MappedAnchors, first: Integer, end: Integer) -> None:
    for anchor in range(first, end):
        set_flag(anchors, anchor, IGNORED)


@njit
def _ignore_cancelling(
    anchors: MappedAnchors,
    gapped: NDArray[np.int64],
    count: Integer,
    reach: Integer,
) -> None:
    """Ignore the anchors between insertions and deletions that cancel each other.

    Of ranges that begin within one another, the one that cancels most is ignored.
    """
    best: Integer = 0
    first: Integer = 0
    end: Integer = 0
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
    anchors: MappedAnchors,
    gapped: NDArray[np.int64],
    count: Integer,
    k: Integer,
    reach: Integer,
) -> tuple[Integer, Integer]:
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
    anchors: MappedAnchors,
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
    anchors: MappedAnchors,
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


@njit
def first_reliable(
    anchors: MappedAnchors,
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
    anchors: MappedAnchors,
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
def _distances(anchors: MappedAnchors, anchor: Integer) -> tuple[Integer, Integer]:
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

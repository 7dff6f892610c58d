"""Bounds of the pieces of a mapping: the limits of its extensions, and its cut points between.

Cut points are those of minimap2's `mm_adjust_minier`, limits those of `mm_align1`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.longread.align.batches import IGNORED, LONG_JOIN, MappedAnchors, Row, SequenceCodes
from hapgpu.longread.align.parameters import AlignParameters, Costs
from hapgpu.longread.align.piece_anchors import has_flag, is_beside, query_of, span_of, target_of
from hapgpu.longread.batches import TANDEM
from hapgpu.runtime.jit import njit


@njit
def query_start(sequences: SequenceCodes, mapping: Row) -> Integer:
    """Return the first code of the read, on the strand of the mapping."""
    reads, read = sequences.reads, mapping["read"]
    start: Integer = reads.starts[read]
    return start + reads.lengths[read] if mapping["is_reverse"] else start


@njit
def target_start(sequences: SequenceCodes, mapping: Row) -> Integer:
    """Return the first code of the reference sequence of the mapping."""
    start: Integer = sequences.targets.starts[mapping["sequence"]]
    return start


@njit
def lengths(sequences: SequenceCodes, mapping: Row) -> tuple[Integer, Integer]:
    """Return the lengths of the read and of the reference sequence of a mapping."""
    query_length = np.int64(sequences.reads.lengths[mapping["read"]])
    return query_length, np.int64(sequences.targets.lengths[mapping["sequence"]])


LIMITS: Final = 2
"""Bounds of a mapping besides its cut points: the first and the last one."""


@njit
def list_bounds(
    mapping: Row,
    plan: Row,
    anchors: MappedAnchors,
    sequences: SequenceCodes,
    parameters: AlignParameters,
    costs: Costs,
    bounds: NDArray[np.int32],
    at: Integer,
) -> Integer:
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
        parameters,
        costs,
    )
    bounds[QUERY, limit], bounds[TARGET, limit] = end_limits(
        anchors,
        mapped + mapping["anchors"] - 1,
        anchors.offsets[read + 1],
        bounds[QUERY, limit - 1],
        bounds[TARGET, limit - 1],
        query_length,
        target_length,
        parameters,
        costs,
    )
    return limit + 1


CUT_COLUMNS: Final = 3
QUERY: Final = 0
"""Column of cut points: position in the read, on the strand of the mapping."""
TARGET: Final = 1
"""Column: position in the reference sequence."""
ANCHOR: Final = 2
"""Column: the anchor, counted from the first one used."""


@njit
def list_cuts(
    anchors: MappedAnchors,
    first: Integer,
    end: Integer,
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    parameters: AlignParameters,
    cuts: NDArray[np.int32],
    at: Integer,
) -> Integer:
    """List the cut points of the anchors `first` to `end`; return the end of the list.

    The first and the last anchor are always cut points.

    Parameters
    ----------
    query, target
        uint8: codes of the strand of the read, and of the reference sequence.
    cuts, at
        int32[CUT_COLUMNS, n]: space, at least one column per anchor from `at` on.
    """
    min_piece = parameters.min_piece
    query_cut = _query_cut(query_of(anchors, first), query, parameters)
    target_cut = _target_cut(target_of(anchors, first), target, parameters)
    cuts[QUERY, at], cuts[TARGET, at], cuts[ANCHOR, at] = query_cut, target_cut, 0
    at += 1
    for anchor in range(first + 1, end):
        query_position, target_position = query_of(anchors, anchor), target_of(anchors, anchor)
        is_needed = anchor == end - 1 or (
            has_flag(anchors, anchor, LONG_JOIN) and not has_flag(anchors, anchor, IGNORED | TANDEM)
        )
        # A cut point is never behind its anchor: most anchors are too near to look further.
        if not is_needed and (
            query_position - query_cut < min_piece
            or target_position - target_cut < min_piece
            or has_flag(anchors, anchor, IGNORED | TANDEM)
        ):
            continue
        next_query = _query_cut(query_position, query, parameters)
        next_target = _target_cut(target_position, target, parameters)
        if is_needed or (
            next_query - query_cut >= min_piece and next_target - target_cut >= min_piece
        ):
            query_cut, target_cut = next_query, next_target
            cuts[QUERY, at], cuts[TARGET, at] = query_cut, target_cut
            cuts[ANCHOR, at] = anchor - first
            at += 1
    return at


@njit
def _query_cut(position: Integer, query: NDArray[np.uint8], parameters: AlignParameters) -> Integer:
    """Return the middle of a k-mer, or the start of its last homopolymer.

    As in minimap2, a homopolymer never starts before base 1, unless the k-mer ends at base 0.
    """
    if not parameters.is_hpc:
        return position - (parameters.k >> 1)
    start = position
    while start > 1 and query[start - 1] == query[position]:
        start -= 1
    return start


@njit
def _target_cut(
    position: Integer, target: NDArray[np.uint8], parameters: AlignParameters
) -> Integer:
    """Return the middle of a k-mer, or the start of its last homopolymer."""
    if not parameters.is_hpc:
        return position - (parameters.k >> 1)
    start = position
    while start > 0 and target[start - 1] == target[position]:
        start -= 1
    return start


_NO_LIMIT: Final = 1 << 40


@njit
def start_limits(
    anchors: MappedAnchors,
    first: Integer,
    read_first: Integer,
    query_cut: Integer,
    target_cut: Integer,
    parameters: AlignParameters,
    costs: Costs,
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
    target_length = min(_with_gap(query_length, costs), parameters.max_gap, target_cut)
    query_limit = max(query_start - reach, query_cut - query_length)
    target_limit = max(target_start - reach, target_cut - target_length)
    return min(query_start, query_limit), min(target_start, target_limit, target_cut)


@njit
def end_limits(
    anchors: MappedAnchors,
    last: Integer,
    read_end: Integer,
    query_cut: Integer,
    target_cut: Integer,
    query_size: Integer,
    target_size: Integer,
    parameters: AlignParameters,
    costs: Costs,
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
        _with_gap(query_length, costs), parameters.max_gap, target_size - target_cut
    )
    query_limit = min(query_end + reach, query_cut + query_length)
    target_limit = min(target_end + reach, target_cut + target_length)
    return max(query_end, query_limit), max(target_end, target_limit)


@njit
def _with_gap(length: Integer, costs: Costs) -> Integer:
    """Return bases of the reference for some of the read, with the longest gap that could pay."""
    score = length * costs.match
    if score <= costs.gap_open:
        return length
    return length + (score - costs.gap_open) // costs.gap_extend


@njit
def _reach_of_earlier(
    anchors: MappedAnchors,
    first: Integer,
    read_first: Integer,
    query_start: Integer,
    target_start: Integer,
    parameters: AlignParameters,
) -> Integer:
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
                reach: Integer = max(query, target)
                return reach
    return _NO_LIMIT


@njit
def _reach_of_later(
    anchors: MappedAnchors,
    last: Integer,
    read_end: Integer,
    parameters: AlignParameters,
) -> Integer:
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
                reach: Integer = max(query, target)
                return reach
    return _NO_LIMIT

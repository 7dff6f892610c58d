"""Assembly of the alignments of pieces to alignments of mappings, and splits at dropped fills.

Coordinates and scores of the two parts of a split mapping are those of minimap2 2.30's `mm_align1`
and `mm_split_reg` (Li 2018, Bioinformatics 34:3094).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import length_of, operation_of
from hapgpu.longread.align.batches import (
    MAPPING,
    REFILL,
    TEMPORARY_PRIMARY,
    AlignedMappings,
    AlignedPieces,
    MappedAnchors,
    Row,
)
from hapgpu.longread.align.drops import INVERSION_DROP
from hapgpu.longread.align.parameters import AlignParameters
from hapgpu.longread.mappings.mappings import measure_chain
from hapgpu.runtime.jit import njit, njit_inlined

_POSITION = np.uint64(0xFFFFFFFF)

# Rows of the table of pieces.
_GAIN, _QUERY, _TARGET, _IS_DROPPED, _FROM_INVERSION, _END_ANCHOR, _COLUMNS = range(7)


class _Pieces(NamedTuple):
    """What the pieces add to their mappings."""

    table: NDArray[np.int32]
    """int32[_COLUMNS, p]: score; bases of query and target; results of the tests; last anchor."""
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]


class _End(NamedTuple):
    """End of an alignment: its operations, and the position on the strand of the mapping."""

    operations: Any
    query: Integer
    target: Integer
    score: Integer


class Assembly(NamedTuple):
    """Mappings after a round.

    Attributes
    ----------
    mappings
        `MAPPING`[r + s]: the mappings, and behind them s second parts without an alignment.
    operations
        uint32[c]: operations of the mappings of the round, from row `first_operation` on.
    """

    mappings: NDArray[np.void]
    operations: NDArray[np.uint32]


def assemble(
    mappings: NDArray[np.void],
    aligned: AlignedPieces,
    anchors: MappedAnchors,
    lengths: NDArray[np.int32],
    parameters: AlignParameters,
    first_operation: int,
) -> Assembly:
    """Assemble the alignments of mappings; split each mapping at its first dropped fill.

    The mappings of the plans are changed in place.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: all mappings so far.
    aligned
        Pieces of some of them, with their alignments.
    anchors
        Anchors of the mappings.
    lengths
        int32[n]: bases of each read.
    parameters
        Parameters of base alignment.
    first_operation
        Number of operations of earlier rounds, which precede those of this one.
    """
    pieces = _Pieces(
        read_only(_piece_table(aligned)),
        read_only(aligned.alignments.operations),
        read_only(aligned.alignments.offsets),
    )
    operations = np.empty(pieces.operations.size, dtype=np.uint32)
    parts = np.empty(aligned.planned.plans.size, dtype=MAPPING)
    used, count = _assemble(
        mappings,
        read_only(aligned.planned.plans),
        pieces,
        read_only(anchors.x),
        read_only(anchors.y),
        read_only(lengths),
        parameters.min_anchors,
        first_operation,
        operations,
        parts,
    )
    return Assembly(np.concatenate([mappings, parts[:count]]), operations[:used])


def _piece_table(aligned: AlignedPieces) -> NDArray[np.int32]:
    """Return int32[_COLUMNS, p]: what each piece adds to its mapping."""
    pieces, alignments = aligned.planned.pieces, aligned.alignments
    is_fill = pieces.kinds <= REFILL
    is_whole = is_fill & (alignments.is_dropped == 0)
    reaches_end = alignments.reaches_end == 1
    query = np.where(is_whole | reaches_end, pieces.query_lengths, alignments.max_queries + 1)
    extended = np.where(reaches_end, alignments.query_end_targets, alignments.max_targets) + 1
    table = np.empty((_COLUMNS, pieces.kinds.size), dtype=np.int32)
    table[_GAIN] = np.where(is_whole, alignments.scores, alignments.max_scores)
    table[_QUERY] = query
    table[_TARGET] = np.where(is_whole, pieces.target_lengths, extended)
    table[_IS_DROPPED] = alignments.is_dropped
    table[_FROM_INVERSION] = aligned.drops == INVERSION_DROP
    table[_END_ANCHOR] = aligned.planned.end_anchors
    return table


@njit
def _assemble(
    mappings: NDArray[np.void],
    plans: NDArray[np.void],
    pieces: _Pieces,
    x: NDArray[np.uint64],
    y: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    min_anchors: Integer,
    first_operation: Integer,
    operations: NDArray[np.uint32],
    parts: NDArray[np.void],
) -> tuple[Integer, Integer]:
    """Assemble the mappings of all plans; return the numbers of operations and of new parts."""
    used: Integer = 0
    count = 0
    for row in range(plans.size):
        plan = plans[row]
        mapping = mappings[plan.mapping]
        start, end, dropped = _join_pieces(plan, pieces, operations, used)
        if dropped >= 0:
            last = _last_anchor(plan, pieces, dropped, end.target, x)
            if plan.anchors - (last + 1) >= min_anchors:
                kept = plan.first_anchor + last + 1 - mapping.first_anchor
                parts[count] = mapping
                _split(mapping, parts[count], kept, x, y)
                parts[count].is_split_inversion = pieces.table[_FROM_INVERSION, dropped]
                mapping.next = mappings.size + count
                count += 1
        mapping.first_operation = first_operation + used
        mapping.operations = end.operations - used
        mapping.dp_score = end.score
        mapping.target_start, mapping.target_end = start.target, end.target
        _set_query(mapping, start.query, end.query, lengths[mapping.read])
        used = end.operations
    return used, count


@njit_inlined
def _set_query(mapping: Row, start: Integer, end: Integer, length: Integer) -> None:
    """Set the positions in the read, given on the strand of the mapping."""
    is_reverse = mapping.is_reverse != 0
    mapping.query_start = length - end if is_reverse else start
    mapping.query_end = length - start if is_reverse else end


@njit
def _join_pieces(
    plan: Row, pieces: _Pieces, operations: NDArray[np.uint32], first: Integer
) -> tuple[_End, _End, Integer]:
    """Append the pieces up to the first dropped fill; return start, end and this fill, or -1."""
    query, target = np.int64(plan.query_start), np.int64(plan.target_start)
    start = end = _End(np.int64(first), query, target, np.int64(0))
    if plan.left >= 0:
        left = _extended(end, pieces, np.int64(plan.left), operations, first)
        start = _End(first, 2 * query - left.query, 2 * target - left.target, 0)
        end = _End(left.operations, query, target, left.score)
    for fill in range(plan.first_fill, plan.first_fill + plan.fills):
        end = _extended(end, pieces, fill, operations, first)
        if pieces.table[_IS_DROPPED, fill]:
            return start, end, np.int64(fill)
    if plan.right >= 0:
        end = _extended(end, pieces, np.int64(plan.right), operations, first)
    return start, end, np.int64(-1)


@njit
def _extended(
    end: _End,
    pieces: _Pieces,
    piece: Integer,
    operations: NDArray[np.uint32],
    first: Integer,
) -> _End:
    """Append the operations of a piece; return the new end."""
    at = end.operations
    for k in range(pieces.offsets[piece], pieces.offsets[piece + 1]):
        operation = pieces.operations[k]
        if at > first and operation_of(operation) == operation_of(operations[at - 1]):
            operations[at - 1] += length_of(operation) << 4
        else:
            operations[at] = operation
            at += 1
    return _End(
        at,
        end.query + pieces.table[_QUERY, piece],
        end.target + pieces.table[_TARGET, piece],
        end.score + pieces.table[_GAIN, piece],
    )


@njit
def _last_anchor(
    plan: Row, pieces: _Pieces, fill: Integer, end: Integer, x: NDArray[np.uint64]
) -> Integer:
    """Return the last anchor before the end of a dropped fill, counted from the plan's first."""
    anchor = np.int64(pieces.table[_END_ANCHOR, fill]) - 1
    while anchor > 0 and np.int64(x[plan.first_anchor + anchor] & _POSITION) >= end:
        anchor -= 1
    return anchor


@njit
def _split(
    mapping: Row, part: Row, kept: Integer, x: NDArray[np.uint64], y: NDArray[np.uint64]
) -> None:
    """Split a mapping behind its first `kept` anchors; the part is a copy of it."""
    anchors = np.int64(mapping.anchors)
    ratio = np.float32(anchors - kept) / np.float32(anchors)
    score = np.int64(np.float64(np.float32(mapping.score) * ratio) + 0.499)
    if mapping.parent == mapping.number:
        part.parent = TEMPORARY_PRIMARY
    part.number = -1
    part.first_anchor += kept
    part.anchors = anchors - kept
    part.score = score
    part.split |= 2
    mapping.split |= 1
    mapping.anchors = kept
    mapping.score -= score
    _measure(mapping, x, y)
    _measure(part, x, y)


@njit
def _measure(mapping: Row, x: NDArray[np.uint64], y: NDArray[np.uint64]) -> None:
    """Estimate matching bases and alignment length from the anchors."""
    first = mapping.first_anchor
    matches, length = measure_chain(x, y, first, first + mapping.anchors)
    mapping.matches, mapping.length = matches, length


@njit
def _listed_rows(
    following: NDArray[np.int32],
    heads: NDArray[np.int64],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """List the rows of each read, from its first row on; count them."""
    at = 0
    for read in range(heads.size):
        row, first = heads[read], at
        while row >= 0:
            rows[at] = row
            at += 1
            row = np.int64(following[row])
        counts[read] = at - first


def in_order(
    mappings: NDArray[np.void],
    initial: int,
    operations: NDArray[np.uint32],
    reads: int,
) -> AlignedMappings:
    """Return mappings in the order in which `next` links them.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: the initial rows sorted by read, each read's linked from its first row on;
        behind them rows that were inserted.
    initial
        Number of initial rows.
    operations
        uint32[c]: operations of the mappings, anywhere.
    reads
        Number of reads.
    """
    own = mappings["read"][:initial]
    heads = np.searchsorted(own, np.arange(reads + 1))
    is_mapped = heads[1:] > heads[:-1]
    rows = np.empty(mappings.size, dtype=np.int64)
    counts = np.empty(reads, dtype=np.int64)
    _listed_rows(
        np.ascontiguousarray(mappings["next"]),
        np.where(is_mapped, heads[:-1], -1),
        rows,
        counts,
    )
    ordered, offsets = mappings[rows], offsets_of(counts)
    gathered = Ragged.gather(operations, ordered["first_operation"], ordered["operations"])
    ordered["first_operation"] = gathered.offsets[:-1]
    ordered["next"] = np.arange(1, rows.size + 1)
    ordered["next"][offsets[1:][counts > 0] - 1] = -1
    return AlignedMappings(ordered, gathered.data, offsets)

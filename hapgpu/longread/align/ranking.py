"""Ranking of aligned mappings: filters, order, selection, rescaled scores, qualities.

The rules are those of minimap2 2.30 (Li 2018, Bioinformatics 34:3094; Li 2021, Bioinformatics
37:4572): `mm_filter_regs`, `mm_update_dp_max`, `mm_hit_sort` and `mm_set_mapq2`. If a read maps
nearly as well to several places, mismatches and gaps cost less the more it differs from its best
mapping.

Parents of aligned mappings, the selection of secondary ones, and the first primary are those of
`mm_set_parent`, `mm_select_sub` and `mm_set_sam_pri`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.cigar.encoding import MATCH, length_of, operation_of
from hapgpu.longread.align.batches import AlignedMappings, Row
from hapgpu.longread.align.cigars import identity_of, logarithm
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.mappings.quality import (
    ONE,
    ROUNDING,
    SCALE,
    cost_of_secondaries,
    limited,
    unique_fraction_of,
    weight_of,
)
from hapgpu.longread.mappings.selection import (
    CHAIN,
    COLUMNS,
    COUNT,
    IS_REVERSE,
    NO_SCORE,
    QUERY_END,
    QUERY_START,
    SCORE,
    SEQUENCE,
    TARGET_END,
    TARGET_START,
    SelectionLimits,
    find_parents,
    numbers_of_parents,
    select_rows,
)
from hapgpu.longread.options import MappingOptions
from hapgpu.longread.seed.radix_sort import radix_sort, sort_descending
from hapgpu.runtime.jit import njit, njit_inlined

_FIELDS: Final = {
    SCORE: "score",
    COUNT: "anchors",
    SEQUENCE: "sequence",
    IS_REVERSE: "is_reverse",
    QUERY_START: "query_start",
    QUERY_END: "query_end",
    TARGET_START: "target_start",
    TARGET_END: "target_end",
}

_32: Final = np.uint64(32)
MIN_LENGTH: Final = 500
"""Shortest read whose scores are rescaled."""
MIN_FRACTION: Final = float(np.float32(0.9))
"""Fraction of the read that the best mapping must cover, and of its score that another has."""
MIN_DIVERGENCE: Final = 0.02
_ROUNDING: Final = 0.499
_PER_MATCH: Final = np.float32(6.02)


def set_parents(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    options: MappingOptions,
    k: int,
    near_score: int,
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Set the parents of aligned mappings, and select the primaries and the best of the others.

    Parameters
    ----------
    mappings
        `MAPPING`[r]: the aligned mappings of n reads, the best of each read first; changed.
    offsets
        int64[n + 1].
    options
        Options for mappings.
    k
        K-mer length in bases.
    near_score
        A secondary mapping with `dp_max` at most so far below its parent's is a rival.

    Returns
    -------
    `MAPPING`[s] and int64[n + 1]: the selected mappings, in the same order.
    """
    table = read_only(_table_of(mappings))
    parents = np.empty(mappings.size, dtype=np.int64)
    find_parents(table, read_only(offsets), np.float32(options.mask_level), parents)
    _count_secondaries(mappings, offsets, parents, near_score)
    limits = SelectionLimits(
        score_ratio=np.float32(options.score_ratio),
        max_secondary=options.max_secondary,
        near_score=2 * k,
        strand_score=NO_SCORE,
    )
    # Inversions are selected in any case, as primaries are.
    selecting = np.where(mappings["is_inversion"], np.arange(mappings.size), parents)
    rows, new_offsets, _ = select_rows(table, offsets, selecting, limits)
    selected = mappings[rows]
    selected["parent"] = numbers_of_parents(rows, new_offsets, parents)
    _number(selected, new_offsets)
    return selected, new_offsets


def _table_of(mappings: NDArray[np.void]) -> NDArray[np.int32]:
    table = np.empty((COLUMNS, mappings.size), dtype=np.int32)
    for column, field in _FIELDS.items():
        table[column] = mappings[field]
    table[CHAIN] = 0
    return table


@njit
def _count_secondaries(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    parents: NDArray[np.int64],
    near_score: Integer,
) -> None:
    """Set the best scores of the secondaries of each primary, and their number.

    Scores and, of the first mapping, numbers are carried on from chaining, as in minimap2.
    """
    for read in range(offsets.size - 1):
        for row in range(offsets[read], offsets[read + 1]):
            mapping = mappings[row]
            if parents[row] == row:
                mapping.second_dp_max = 0
                if row > offsets[read]:
                    mapping.n_sub = 0
                continue
            parent = mappings[parents[row]]
            parent.second_score = max(parent.second_score, mapping.score)
            is_counted = mapping.anchors >= parent.anchors
            if not _is_at_same_place(mapping, parent):
                parent.second_dp_max = max(parent.second_dp_max, mapping.dp_max)
                is_counted |= parent.dp_max - mapping.dp_max <= near_score
            parent.n_sub += is_counted


@njit_inlined
def _is_at_same_place(mapping: Row, parent: Row) -> bool:
    """Return True for the same bases of the reference and, of the shorter mapping, of the read."""
    start = max(mapping.query_start, parent.query_start)
    end = min(mapping.query_end, parent.query_end)
    shorter = min(mapping.query_end - mapping.query_start, parent.query_end - parent.query_start)
    return bool(
        mapping.sequence == parent.sequence
        and mapping.target_start == parent.target_start
        and mapping.target_end == parent.target_end
        and end - start == shorter
    )


@njit
def _number(mappings: NDArray[np.void], offsets: NDArray[np.int64]) -> None:
    """Set the numbers of the mappings within each read, and mark its first primary."""
    for read in range(offsets.size - 1):
        has_primary = False
        for row in range(offsets[read], offsets[read + 1]):
            mapping = mappings[row]
            mapping.number = row - offsets[read]
            is_primary = mapping.parent == mapping.number
            mapping.is_first_primary = is_primary and not has_primary
            has_primary |= is_primary


def rank(
    aligned: AlignedMappings,
    lengths: NDArray[np.int32],
    repeat_lengths: NDArray[np.int32],
    options: MappingOptions,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> AlignedMappings:
    """Return the mappings to report, in the order of their lines, with parents and qualities.

    Parameters
    ----------
    aligned
        Mappings of n reads with final alignments; not changed.
    lengths
        int32[n]: lengths of the reads in bases.
    repeat_lengths
        int32[n]: bases of each read that dropped seeds cover.
    options
        Options for mappings.
    scoring, parameters
        Scores and parameters of alignment.

    Returns
    -------
    AlignedMappings
        With the same `operations`. A read may have no mapping. With `all_chains`, no mapping gets
        another number or parent, so that only parts of split mappings are primary, as in minimap2.
    """
    mappings, offsets = _without_poor(aligned.mappings, aligned.offsets, parameters)
    if not options.all_chains:
        rescale(mappings, offsets, read_only(aligned.operations), read_only(lengths), scoring)
        mappings, offsets = _without_poor(mappings, offsets, parameters)
    mappings = mappings[_best_first(mappings, offsets)]
    mappings["second_dp_max"] = mappings["is_first_primary"] = 0
    if not options.all_chains:
        near_score = 2 * scoring.match + scoring.mismatch
        mappings, offsets = set_parents(mappings, offsets, options, parameters.k, near_score)
    set_qualities(
        mappings, offsets, read_only(repeat_lengths), scoring.match, parameters.min_chain_score
    )
    return AlignedMappings(mappings, aligned.operations, offsets)


def _without_poor(
    mappings: NDArray[np.void], offsets: NDArray[np.int64], parameters: AlignParameters
) -> tuple[NDArray[np.void], NDArray[np.int64]]:
    """Return copies of the mappings with enough anchors, matches and score.

    A mapping without alignment scores 0.
    """
    is_good = (mappings["anchors"] >= parameters.min_anchors) | (mappings["is_inversion"] != 0)
    is_good &= mappings["matches"] >= parameters.min_chain_score
    is_good &= mappings["dp_max"] >= parameters.min_score
    is_good &= mappings["operations"] > 0
    kept = np.zeros(mappings.size + 1, dtype=np.int64)
    np.cumsum(is_good, out=kept[1:])
    return mappings[is_good], kept[offsets]


def _best_first(mappings: NDArray[np.void], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the rows of each read in descending order of score; a hash breaks ties."""
    keys = mappings["dp_max"].astype(np.uint64) << _32 | mappings["hash"]
    rows = np.arange(mappings.size, dtype=np.uint64)
    _sort(keys, rows, offsets)
    return rows


@njit
def _sort(keys: NDArray[np.uint64], rows: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None:
    for read in range(offsets.size - 1):
        sort_descending(keys, rows, offsets[read], offsets[read + 1])


@njit
def rescale(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    operations: NDArray[np.uint32],
    lengths: NDArray[np.int32],
    scoring: AlignScoring,
) -> None:
    """Set `dp_max` of the mappings of reads with two or more good mappings.

    Parameters
    ----------
    mappings, offsets, operations
        As in `AlignedMappings`, of n reads; `mappings` are changed.
    lengths
        int32[n]: bases of each read.
    scoring
        Scores.
    """
    for read in range(lengths.size):
        start, end = offsets[read], offsets[read + 1]
        length = np.float64(lengths[read])
        if length < MIN_LENGTH or end - start < 2:
            continue
        best, second_score = _best_and_second_score(mappings, start, end)
        if mappings[best].query_end - mappings[best].query_start < length * MIN_FRACTION:
            continue
        if second_score < np.float64(mappings[best].dp_max) * MIN_FRACTION:
            continue
        divergence = max(1.0 - identity_of(mappings[best]), MIN_DIVERGENCE)
        cost = 0.5 / divergence
        if cost * scoring.match < scoring.mismatch:
            cost = scoring.match / scoring.mismatch
        for row in range(start, end):
            mappings[row].dp_max = _rescaled(mappings[row], operations, cost, scoring.match)


@njit_inlined
def _best_and_second_score(
    mappings: NDArray[np.void], start: Integer, end: Integer
) -> tuple[Integer, Integer]:
    """Return the row of the highest `dp_max`, the first of equals, and the second highest one."""
    best, second_score = start, np.int64(-1)
    for row in range(start + 1, end):
        score = np.int64(mappings[row].dp_max)
        if score > mappings[best].dp_max:
            second_score = np.int64(mappings[best].dp_max)
            best = row
        elif score > second_score:
            second_score = score
    return best, second_score


@njit_inlined
def _rescaled(mapping: Row, operations: NDArray[np.uint32], cost: float, match: Integer) -> Integer:
    """Return the score of an alignment with this cost of a mismatch and of opening a gap."""
    gap_costs = np.float64(0)
    for k in range(mapping.first_operation, mapping.first_operation + mapping.operations):
        if operation_of(operations[k]) != MATCH:
            gap_costs += cost + np.float64(logarithm(length_of(operations[k]) + 1))
    mismatches = mapping.length + mapping.ambiguous - mapping.matches - mapping.gap_bases
    score = mapping.matches - cost * mismatches - gap_costs
    return max(np.int64(match * score + _ROUNDING), np.int64(0))


@njit
def set_qualities(
    mappings: NDArray[np.void],
    offsets: NDArray[np.int64],
    repeat_lengths: NDArray[np.int32],
    match: Integer,
    min_chain_score: Integer,
) -> None:
    """Set `quality`: of primaries by their scores, of inversions by their neighbours, else 0.

    Parameters
    ----------
    mappings, offsets
        As in `AlignedMappings`, of n reads; `mappings` are changed.
    repeat_lengths
        int32[n]: tag rl.
    match, min_chain_score
        Score of equal bases, and minimum score of a chain.
    """
    for read in range(repeat_lengths.size):
        start, end = offsets[read], offsets[read + 1]
        total = np.int64(0)
        has_inversion = False
        for row in range(start, end):
            mapping = mappings[row]
            mapping.quality = 0
            has_inversion |= mapping.is_inversion != 0
            if mapping.parent == mapping.number:
                total += mapping.score
        unique_fraction = unique_fraction_of(total, repeat_lengths[read])
        for row in range(start, end):
            mapping = mappings[row]
            if mapping.parent == mapping.number and not mapping.is_inversion:
                weight = weight_of(mapping.score, mapping.anchors, unique_fraction)
                mapping.quality = _quality(mapping, weight, match, min_chain_score)
        if has_inversion:
            _set_qualities_of_inversions(mappings, start, end)


@njit_inlined
def _quality(mapping: Row, weight: np.float32, match: Integer, min_chain_score: Integer) -> Any:
    """Return the mapping quality of a primary mapping, in float32."""
    identity = np.float32(np.float32(mapping.matches) / np.float32(mapping.length))
    scale = np.float32(np.float32(identity * weight) * SCALE)
    dp_max, second = np.int64(mapping.dp_max), np.int64(mapping.second_dp_max)
    per_match = np.float32(np.float32(dp_max) / np.float32(match))
    logarithm = np.float32(math.log(per_match))
    chain_score = np.float32(max(np.int64(mapping.second_score), min_chain_score))
    if second > 0 and dp_max > 0:
        ratio = np.float32(np.float32(second) * chain_score)
        ratio = np.float32(ratio / np.float32(dp_max))
        ratio = np.float32(ratio / np.float32(mapping.first_score))
        distinctness = np.float32(ONE - np.float32(ratio * ratio))
        quality = np.int64(np.float32(np.float32(scale * distinctness) * logarithm))
        difference = np.float32(np.float32(_PER_MATCH * identity) * identity)
        difference = np.float32(difference * np.float32(dp_max - second))
        difference = np.float32(difference / np.float32(match))
        quality = min(quality, np.int64(np.float32(difference + ROUNDING)))
    else:
        distinctness = np.float32(ONE - np.float32(chain_score / np.float32(mapping.first_score)))
        quality = np.int64(np.float32(np.float32(scale * distinctness) * logarithm))
    quality = limited(quality - cost_of_secondaries(mapping.n_sub))
    return max(quality, np.int64(dp_max > second))


@njit
def _set_qualities_of_inversions(mappings: NDArray[np.void], start: Integer, end: Integer) -> None:
    """Set the quality of an inversion to the lower one of its neighbours on the reference.

    Neighbours are primary; there must be one on both sides.
    """
    keys = np.empty(end - start, dtype=np.uint64)
    rows = np.empty(end - start, dtype=np.uint64)
    count = np.int64(0)
    for row in range(start, end):
        mapping = mappings[row]
        if mapping.parent == row - start or mapping.parent < 0:
            keys[count] = np.uint64(mapping.sequence) << _32 | np.uint64(mapping.target_start)
            rows[count] = np.uint64(row)
            count += 1
    radix_sort(keys, rows, 0, count)
    for k in range(1, count - 1):
        mapping = mappings[np.int64(rows[k])]
        if mapping.is_inversion:
            before, behind = mappings[np.int64(rows[k - 1])], mappings[np.int64(rows[k + 1])]
            mapping.quality = min(before.quality, behind.quality)

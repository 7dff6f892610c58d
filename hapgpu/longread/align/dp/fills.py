"""Global alignments of many pairs of sequences: the pieces between anchors.

The alignments are those of minimap2's `ksw_extd2_sse41`. Most pairs are similar and some 200 bases
long. They are aligned side by side in a narrow band of diagonals, which the scores of the groups
before suggest, and again in one of twice the width if the alignment is not certainly that of the
whole matrix.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import memory_of, part_of
from hapgpu.arrays.vectors import LANES
from hapgpu.longread.align.batches import Pieces, SequenceCodes
from hapgpu.longread.align.dp.bands import is_certified
from hapgpu.longread.align.dp.lanes import (
    LaneBand,
    Lanes,
    PairCodes,
    allocate_lanes,
    count_directions,
    fill_lanes,
    fits_lanes,
    lanes_for,
    pack_codes,
    trace_lane,
)
from hapgpu.longread.align.parameters import AlignScoring, Costs, costs_of
from hapgpu.longread.seed.radix_sort import radix_sort
from hapgpu.runtime.jit import njit


class Width(NamedTuple):
    """Width of bands: diagonals beyond those of the first and the last cells, on each side.

    A band of a longer target than `target_length` is wider in proportion, because it has the more
    errors. No band is wider than the matrix.
    """

    diagonals: Integer
    target_length: Integer


MAX_DIRECTIONS: Final = 16 << 20
"""Largest number of direction bytes of a group: more would take long to store and to load."""

MIN_LANES: Final = 8
"""Smaller groups take longer side by side than pair by pair."""

_FIRST_WIDTH: Final = Width(16, 220)
"""Of the first group's band; the scores of a group decide on the next one."""

_ALIGNED, _PENDING, _REMAINING = 0, 1, 2


class FillAlignments(NamedTuple):
    """Alignments of pairs.

    Attributes
    ----------
    states
        uint8[pairs]: whether a pair is aligned.
    scores
        int32[pairs].
    spans
        int64[pairs, 2]: start and end of the BAM operations of each pair.
    """

    states: NDArray[np.uint8]
    scores: NDArray[np.int32]
    spans: NDArray[np.int64]


class Buffers(NamedTuple):
    """Buffers that grow: `used` of the `operations`, uint32, are those of pairs, in any order."""

    lanes: Lanes
    operations: NDArray[np.uint32]
    used: Integer


@njit
def align_fills(
    pieces: Pieces, sequences: SequenceCodes, scoring: AlignScoring
) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Align pairs of sequences globally.

    Parameters
    ----------
    pieces, sequences
        The pairs: pieces of reads and of the reference.
    scoring
        The scores.

    Returns
    -------
    scores
        int32[pairs]; 0 for a pair that is not aligned.
    operations, offsets
        uint32, int64[pairs + 1]: the BAM operations of each pair, none if a sequence is empty. Of
        equal scores minimap2's choice, from the end back: two bases rather than a deletion, that
        rather than an insertion, either rather than a long one, and a gap rather ends than goes on.
    remaining
        int64: pairs not aligned here, ascending: too long, too few of their kind, or with scores
        that do not fit in bytes.
    """
    costs = costs_of(scoring)
    target_lengths, query_lengths = pieces.target_lengths, pieces.query_lengths
    count = query_lengths.size
    alignments = FillAlignments(
        np.zeros(count, np.uint8), np.zeros(count, np.int32), np.zeros((count, 2), np.int64)
    )
    state = _PENDING if fits_lanes(costs) else _REMAINING
    for pair in range(count):
        if query_lengths[pair] > 0 and target_lengths[pair] > 0:
            alignments.states[pair] = state
    buffers = Buffers(allocate_lanes(0, 0, 0), np.empty(0, np.uint32), 0)

    width, min_diagonals = _FIRST_WIDTH, 1
    while True:
        order = _in_state(alignments.states, _PENDING)
        if order.size == 0:
            break
        sort_pairs(order, target_lengths, query_lengths, width)
        buffers, mean = _align_run(
            pieces, sequences, order, width, min_diagonals, costs, alignments, buffers
        )
        min_diagonals = 2 * max(min_diagonals, mean)
        width = Width(min_diagonals, width.target_length)
    operations, offsets = _in_order(alignments.spans, buffers.operations)
    remaining = _in_state(alignments.states, _REMAINING)
    return alignments.scores, operations, offsets, remaining


@njit
def _in_state(states: NDArray[np.uint8], state: int) -> NDArray[np.int64]:
    """Return the pairs in a state, ascending."""
    chosen = np.empty(states.size, np.int64)
    count = 0
    for pair in range(states.size):
        chosen[count] = pair
        count += states[pair] == state
    return chosen[:count]


@njit
def _align_run(
    pieces: Pieces,
    sequences: SequenceCodes,
    order: NDArray[np.int64],
    width: Width,
    min_diagonals: Integer,
    costs: Costs,
    alignments: FillAlignments,
    buffers: Buffers,
) -> tuple[Buffers, int]:
    """Align sorted pairs in bands, as far as they are certified.

    Parameters
    ----------
    pieces, sequences, costs
        The pairs, and their scores.
    order
        int64: the pairs to align, as `sort_pairs` sorts them.
    width, min_diagonals
        Width of the first band, and the least number of diagonals of the others' widths.
    alignments
        Receives states, scores and spans of these pairs.
    buffers
        Their operations are appended; the lanes are used again.

    Returns
    -------
    buffers : Buffers
        The buffers, which may have been replaced by larger ones.
    mean : int
        Mean number of diagonals of the widths.
    """
    lanes, operations, used = buffers
    targets, reads = memory_of(sequences.targets.codes), memory_of(sequences.reads.codes)
    first: Integer = 0
    groups, diagonals = 0, 0
    while first < order.size:
        end, band = next_group(order, first, pieces.target_lengths, pieces.query_lengths, width)
        group = order[first:end]
        first = end
        if group.size < MIN_LANES or count_directions(band) > MAX_DIRECTIONS:
            for pair in group:
                alignments.states[pair] = _REMAINING
                alignments.scores[pair] = 0
            continue
        lanes = lanes_for(band, lanes)
        _fill_group(lanes, band, pieces, sequences, group, costs, alignments.scores)
        room = used + group.size * (band.rows + band.query_length)
        if room > operations.size:
            grown = np.empty(2 * room, np.uint32)
            for k in range(used):
                grown[k] = operations[k]
            operations = grown
        for lane in range(group.size):
            pair = group[lane]
            codes = PairCodes(
                part_of(targets, pieces.target_starts[pair], np.int64(pieces.target_lengths[pair])),
                part_of(reads, pieces.query_starts[pair], np.int64(pieces.query_lengths[pair])),
            )
            if _is_certified(np.int64(alignments.scores[pair]), codes, band, costs):
                alignments.states[pair] = _ALIGNED
                alignments.spans[pair, 0] = used
                used = _append_path(lanes, band, lane, codes, operations, used)
                alignments.spans[pair, 1] = used
        width = next_width(
            width, alignments.scores, group, pieces.target_lengths, pieces.query_lengths, costs
        )
        width = Width(max(width.diagonals, min_diagonals), width.target_length)
        groups += 1
        diagonals += width.diagonals
    return Buffers(lanes, operations, used), diagonals // max(groups, 1)


@njit
def _fill_group(
    lanes: Lanes,
    band: LaneBand,
    pieces: Pieces,
    sequences: SequenceCodes,
    group: NDArray[np.int64],
    costs: Costs,
    scores: NDArray[np.int32],
) -> None:
    """Fill the band of a group, and set its scores."""
    lengths = np.empty((2, group.size), np.int32)
    ambiguous = 0
    for lane in range(group.size):
        pair = group[lane]
        lengths[0, lane] = pieces.target_lengths[pair]
        lengths[1, lane] = pieces.query_lengths[pair]
        ambiguous += pack_codes(
            sequences.targets.codes,
            pieces.target_starts[pair],
            lengths[0, lane],
            lane,
            lanes.targets,
        )
        ambiguous += pack_codes(
            sequences.reads.codes, pieces.query_starts[pair], lengths[1, lane], lane, lanes.queries
        )
    group_scores = np.empty(group.size, np.int32)
    fill_lanes(lanes, band, lengths, costs, ambiguous > 0, group_scores)
    for lane in range(group.size):
        scores[group[lane]] = group_scores[lane]


@njit
def _is_certified(score: Integer, codes: PairCodes, band: LaneBand, costs: Costs) -> bool:
    return is_certified(
        score,
        codes.target.size,
        codes.query.size,
        band.max_diagonal - band.columns + 1,
        band.max_diagonal,
        costs,
    )


@njit
def _append_path(
    lanes: Lanes,
    band: LaneBand,
    lane: Integer,
    codes: PairCodes,
    operations: NDArray[np.uint32],
    used: Integer,
) -> Integer:
    """Append the operations of a pair; return the number of operations in use."""
    end = used + codes.target.size + codes.query.size
    start = trace_lane(lanes.directions, band, lane, codes, operations[:end])
    for k in range(start, end):
        operations[used] = operations[k]
        used += 1
    return used


@njit
def _in_order(
    spans: NDArray[np.int64], operations: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return the operations in the order of the pairs, and their offsets."""
    offsets = np.zeros(spans.shape[0] + 1, np.int64)
    for pair in range(spans.shape[0]):
        offsets[pair + 1] = offsets[pair] + spans[pair, 1] - spans[pair, 0]
    ordered = np.empty(offsets[-1], np.uint32)
    for pair in range(spans.shape[0]):
        shift = spans[pair, 0] - offsets[pair]
        for k in range(offsets[pair], offsets[pair + 1]):
            ordered[k] = operations[k + shift]
    return ordered, offsets


_MAX_WASTE: Final = 1.5
"""A group fills at most so many times the cells that its pairs need."""

_MIN_TOGETHER: Final = 2
_WIDTH_FRACTION: Final = 6
"""Pairs whose last diagonals differ by less than a fraction of the width are sorted by length."""

_NO_DIFFERENCE: Final = np.int64(1 << 31)


@njit
def sort_pairs(
    pairs: NDArray[np.int64],
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    width: Width,
) -> None:
    """Sort pairs by the diagonal of their last cell, as far as it matters, then by length.

    `pairs` are int64[m], numbers of pairs, and `target_lengths` and `query_lengths` are int32[n].
    """
    together = max(_MIN_TOGETHER, width.diagonals // _WIDTH_FRACTION)
    keys = np.empty(pairs.size, np.uint64)
    for k in range(pairs.size):
        pair = pairs[k]
        difference = np.int64(target_lengths[pair]) - np.int64(query_lengths[pair])
        diagonal = (difference + _NO_DIFFERENCE) // together
        keys[k] = np.uint64(diagonal << 31 | np.int64(target_lengths[pair]))
    radix_sort(keys, pairs.view(np.uint64), 0, pairs.size)


@njit
def next_group(
    pairs: NDArray[np.int64],
    first: Integer,
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    width: Width,
) -> tuple[Integer, LaneBand]:
    """Return the end of the group that starts at `first` of the sorted pairs, and its band.

    The arrays are as in `sort_pairs`.
    """
    max_target: Integer = 0
    max_query: Integer = 0
    min_difference: Integer = 0
    max_difference: Integer = 0
    needed: Integer = 0
    end = first
    while end < pairs.size and end - first < LANES:
        target_length = np.int64(target_lengths[pairs[end]])
        query_length = np.int64(query_lengths[pairs[end]])
        difference = target_length - query_length
        needed += target_length * (abs(difference) + 2 * width_of(target_length, width) + 1)
        grown_target = max(max_target, target_length)
        grown_min = min(min_difference, difference)
        grown_max = max(max_difference, difference)
        columns = grown_max - grown_min + 2 * width_of(grown_target, width) + 1
        if grown_target * columns * (end + 1 - first) > _MAX_WASTE * needed:
            break
        max_target, min_difference, max_difference = grown_target, grown_min, grown_max
        max_query = max(max_query, query_length)
        end += 1
    reach = width_of(max_target, width)
    max_diagonal = min(max_difference + reach, max_target)
    min_diagonal = max(min_difference - reach, -max_query)
    return end, LaneBand(max_target, max_diagonal - min_diagonal + 1, max_diagonal, max_query)


@njit
def width_of(target_length: Integer, width: Width) -> Integer:
    """Return the diagonals that a band for a target has on each side."""
    return width.diagonals * max(target_length, width.target_length) // width.target_length


_STEP: Final = 4

_MAX_GROWTH: Final = 3
"""Of a width from one group to the next: scores in a band that is too narrow say little."""


@njit
def next_width(
    width: Width,
    scores: NDArray[np.int32],
    pairs: NDArray[np.int64],
    target_lengths: NDArray[np.int32],
    query_lengths: NDArray[np.int32],
    costs: Costs,
) -> Width:
    """Return the width for the next group of pairs, halfway to that which suits the last one.

    A band of the latter would certify nine tenths of the group.

    Parameters
    ----------
    width
        Width of the group's band.
    scores, target_lengths, query_lengths
        int32[all pairs]: scores, which may be too low, and lengths.
    pairs
        int64: the pairs of the group.
    costs
        The costs.
    """
    diagonals: Integer = 0
    certified: Integer = -1
    while certified * 10 < pairs.size * 9 and diagonals < _MAX_GROWTH * width.diagonals:
        diagonals += _STEP
        certified = 0
        for pair in pairs:
            target_length = np.int64(target_lengths[pair])
            query_length = np.int64(query_lengths[pair])
            difference: Integer = target_length - query_length
            reach = width_of(target_length, Width(diagonals, width.target_length))
            certified += is_certified(
                np.int64(scores[pair]),
                target_length,
                query_length,
                min(0, difference) - reach,
                max(0, difference) + reach,
                costs,
            )
    return Width((width.diagonals + diagonals) // 2, width.target_length)

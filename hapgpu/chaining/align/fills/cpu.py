"""Global alignments of many pairs of sequences: the pieces between anchors.

Most pairs are similar and some 200 bases long. They are aligned side by side in a narrow band of
diagonals, and again in one of twice the width if the alignment is not certainly that of the whole
matrix.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.chaining.align.fills.certificate import is_certified
from hapgpu.chaining.align.fills.groups import next_group, sort_pairs
from hapgpu.chaining.align.fills.paths import Sequences, trace_lane
from hapgpu.chaining.align.fills.lanes import (
    Band,
    Lanes,
    allocate_lanes,
    fill_lanes,
    fits_lanes,
    has_room,
    pack_codes,
)
from hapgpu.chaining.align.fills.vectors import LANES
from hapgpu.chaining.align.scoring import AlignScoring
from hapgpu.runtime.jit import njit

MAX_DIRECTIONS: Final = 64 << 20
"""Largest number of direction bytes of a group."""

MIN_LANES: Final = 4
"""Smaller groups take longer side by side than pair by pair."""

_MIN_CERTIFIED: Final = 0.5
"""If fewer pairs of a band's first groups are certified, the others start with the next band."""


class Pairs(NamedTuple):
    """Pairs of sequences: pieces of arrays of codes (0 to 3, `AMBIGUOUS`).

    Attributes
    ----------
    query_codes, target_codes
        uint8: codes.
    query_starts, target_starts
        int64[pairs]: first code of each sequence.
    query_lengths, target_lengths
        int32[pairs]: number of codes of each sequence.
    """

    query_codes: NDArray[np.uint8]
    query_starts: NDArray[np.int64]
    query_lengths: NDArray[np.int32]
    target_codes: NDArray[np.uint8]
    target_starts: NDArray[np.int64]
    target_lengths: NDArray[np.int32]


@njit
def align_fills(
    query_codes: NDArray[np.uint8],
    query_starts: NDArray[np.int64],
    query_lengths: NDArray[np.int32],
    target_codes: NDArray[np.uint8],
    target_starts: NDArray[np.int64],
    target_lengths: NDArray[np.int32],
    scoring: AlignScoring,
    first_width: Integer,
) -> Any:
    """Align pairs of sequences globally.

    Parameters
    ----------
    query_codes, target_codes
        uint8: codes of bases, 0 to 3 or `AMBIGUOUS`.
    query_starts, target_starts
        int64[pairs]: first code of each sequence.
    query_lengths, target_lengths
        int32[pairs]: number of codes of each sequence.
    scoring
        The scores.
    first_width
        The first band reaches so many diagonals, at least 1, beyond those of the first and last
        cells. A suitable one saves time; the alignments are the same with any.

    Returns
    -------
    scores
        int32[pairs]; 0 for a pair without alignment.
    operations, offsets
        uint32, int64[pairs + 1]: the BAM operations of each pair, none for an empty sequence.
        Equal scores are chosen between as in minimap2: a pair before a deletion before an
        insertion, gaps as far right as possible.
    remaining
        int64: pairs not aligned here, ascending: too long, too few of their kind, or with scores
        that do not fit in bytes.
    """
    pairs = Pairs(
        query_codes, query_starts, query_lengths, target_codes, target_starts, target_lengths
    )
    scores = np.zeros(query_lengths.size, np.int32)
    spans = np.zeros((2, query_lengths.size), np.int64)
    remaining = np.zeros(query_lengths.size, np.bool_)
    operations, used = np.empty(0, np.uint32), 0
    lanes = allocate_lanes(Band(0, 0, 0, 0))
    pending = _not_empty(query_lengths, target_lengths)
    if not fits_lanes(scoring):
        remaining[pending] = True
        pending = pending[:0]
    width = first_width
    while pending.size:
        sort_pairs(pending, target_lengths, query_lengths)
        repeated = np.zeros(pending.size, np.bool_)
        first, certified = 0, 0
        while first < pending.size:
            if first >= 2 * LANES and certified < _MIN_CERTIFIED * first:
                repeated[first:] = True
                break
            end, band = next_group(pending, first, target_lengths, query_lengths, width)
            group = pending[first:end]
            if group.size < MIN_LANES or band.rows * band.columns * LANES > MAX_DIRECTIONS:
                remaining[group] = True
                certified += group.size
            else:
                if not has_room(lanes, band):
                    lanes = allocate_lanes(band)
                _align_group(lanes, band, pairs, group, scoring, scores)
                for lane in range(group.size):
                    repeated[first + lane] = not _is_certified(
                        scores, pairs, group[lane], band, scoring
                    )
                operations, used = _trace_group(
                    lanes, band, pairs, group, repeated[first:end], spans, operations, used
                )
                certified += group.size - repeated[first:end].sum()
            first = end
        pending = pending[repeated]
        width *= 2
    scores[remaining] = 0
    ordered, offsets = _in_order(spans, operations)
    return scores, ordered, offsets, np.flatnonzero(remaining)


@njit
def _not_empty(query_lengths: NDArray[np.int32], target_lengths: NDArray[np.int32]) -> Any:
    return np.flatnonzero((query_lengths > 0) & (target_lengths > 0)).astype(np.uint64)


@njit
def _align_group(
    lanes: Lanes,
    band: Band,
    pairs: Pairs,
    group: NDArray[np.uint64],
    scoring: AlignScoring,
    scores: NDArray[np.int32],
) -> None:
    """Fill the band of a group, and set its scores."""
    has_ambiguous = False
    for lane in range(group.size):
        pair = group[lane]
        has_ambiguous |= pack_codes(
            pairs.target_codes,
            pairs.target_starts[pair],
            pairs.target_lengths[pair],
            lane,
            lanes.targets,
        )
        has_ambiguous |= pack_codes(
            pairs.query_codes,
            pairs.query_starts[pair],
            pairs.query_lengths[pair],
            lane,
            lanes.queries,
        )
    target_lengths, query_lengths = pairs.target_lengths[group], pairs.query_lengths[group]
    group_scores = np.empty(group.size, np.int32)
    fill_lanes(lanes, band, target_lengths, query_lengths, scoring, has_ambiguous, group_scores)
    scores[group] = group_scores


@njit
def _is_certified(
    scores: NDArray[np.int32], pairs: Pairs, pair: Integer, band: Band, scoring: AlignScoring
) -> Any:
    return is_certified(
        np.int64(scores[pair]),
        np.int64(pairs.target_lengths[pair]),
        np.int64(pairs.query_lengths[pair]),
        band.max_diagonal - band.columns + 1,
        band.max_diagonal,
        scoring,
    )


@njit
def _trace_group(
    lanes: Lanes,
    band: Band,
    pairs: Pairs,
    group: NDArray[np.uint64],
    repeated: NDArray[np.bool_],
    spans: NDArray[np.int64],
    operations: NDArray[np.uint32],
    used: Integer,
) -> Any:
    """Append the operations of the certified pairs; return all of them and their number."""
    room = group.size * (band.rows + band.query_length)
    if used + room > operations.size:
        grown = np.empty(2 * operations.size + room, np.uint32)
        grown[:used] = operations[:used]
        operations = grown
    for lane in range(group.size):
        if repeated[lane]:
            continue
        pair = group[lane]
        target_length = np.int64(pairs.target_lengths[pair])
        query_length = np.int64(pairs.query_lengths[pair])
        end = used + target_length + query_length
        sequences = Sequences(
            pairs.target_codes.ctypes.data + pairs.target_starts[pair],
            pairs.query_codes.ctypes.data + pairs.query_starts[pair],
            target_length,
            query_length,
        )
        start = trace_lane(lanes.directions, band, lane, sequences, operations[:end])
        spans[0, pair], spans[1, pair] = used, used + end - start
        for k in range(start, end):
            operations[used] = operations[k]
            used += 1
    return operations, used


@njit
def _in_order(spans: NDArray[np.int64], operations: NDArray[np.uint32]) -> Any:
    """Return the operations in the order of the pairs, and their offsets."""
    offsets = np.zeros(spans.shape[1] + 1, np.int64)
    offsets[1:] = (spans[1] - spans[0]).cumsum()
    ordered = np.empty(offsets[-1], np.uint32)
    for pair in range(spans.shape[1]):
        start = spans[0, pair]
        for k in range(offsets[pair], offsets[pair + 1]):
            ordered[k] = operations[start + k - offsets[pair]]
    return ordered, offsets

"""Alignment of pieces on the CPU (minimap2: `mm_align_pair`): fills side by side, others alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import columns_of, read_only
from hapgpu.longread.align.batches import (
    FILL,
    INVERSION,
    LEFT,
    REFILL,
    PieceAlignments,
    Pieces,
    SequenceCodes,
)
from hapgpu.longread.align.dp import results
from hapgpu.longread.align.dp.fills import align_fills
from hapgpu.longread.align.dp.pairs import align_pair
from hapgpu.longread.align.dp.results import PairOptions, clear_result, new_scratch
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.runtime.jit import njit, njit_inlined


def align_pieces(
    pieces: Pieces,
    sequences: SequenceCodes,
    scoring: AlignScoring,
    parameters: AlignParameters,
) -> PieceAlignments:
    """Align pieces, as minimap2 2.30 does one by one.

    A fill whose band covers the matrix is aligned in a narrower band, if that certainly gives the
    alignment of the whole matrix.

    Parameters
    ----------
    pieces
        Pieces of p mappings' alignments.
    sequences
        Codes of the reads and of the reference.
    scoring, parameters
        Scores and other parameters.
    """
    longest = np.maximum(pieces.query_lengths, pieces.target_lengths)
    cells = pieces.query_lengths.astype(np.int64) * pieces.target_lengths
    is_capped = (cells > parameters.max_cells) & (parameters.max_cells > 0)
    is_whole = (pieces.kinds == FILL) & (pieces.bands >= longest - 1) & ~is_capped
    fills = np.flatnonzero(is_whole)
    fill_scores, fill_operations, fill_offsets, remaining = align_fills(
        columns_of(Pieces, pieces.take(fills)), sequences, scoring
    )
    is_done = np.zeros(is_whole.size, dtype=np.bool_)
    is_done[fills] = True
    is_done[fills[remaining]] = False
    others = np.flatnonzero(~is_done & ~is_capped)
    table = np.empty((is_whole.size, results.RESULT_COLUMNS), dtype=np.int32)
    _clear(table, read_only(is_capped))
    table[fills, results.SCORE] = fill_scores
    operations, counts = _align_one_by_one(
        columns_of(Pieces, pieces),
        sequences,
        read_only(others),
        scoring,
        parameters.end_bonus,
        table,
    )
    none = Ragged(np.empty(0, dtype=np.uint32), np.zeros(2, dtype=np.int64))
    aligned = [Ragged(fill_operations, fill_offsets), Ragged(operations, offsets_of(counts)), none]
    rows = np.full(is_whole.size, fills.size + others.size)
    rows[fills] = np.arange(fills.size)
    rows[others] = fills.size + np.arange(others.size)
    return _alignments(table, Ragged.concatenate(aligned).take(rows))


@njit
def _clear(table: NDArray[np.int32], is_capped: NDArray[np.bool_]) -> None:
    for piece in range(is_capped.size):
        clear_result(table[piece])
        table[piece, results.DROPPED] = is_capped[piece]


@njit
def _align_one_by_one(
    pieces: Pieces,
    sequences: SequenceCodes,
    rows: NDArray[np.int64],
    scoring: AlignScoring,
    end_bonus: Integer,
    table: NDArray[np.int32],
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Align some pieces; return their operations, end to end, and the number of each."""
    scratch = new_scratch()
    operations = np.empty(1 << 10, dtype=np.uint32)
    counts = np.empty(rows.size, dtype=np.int64)
    at: Integer = np.int64(0)
    for k in range(rows.size):
        row = rows[k]
        kind = pieces.kinds[row]
        query_start, target_start = pieces.query_starts[row], pieces.target_starts[row]
        options = _pair_options(kind, pieces.bands[row], pieces.drops[row], end_bonus)
        start = at
        scratch, operations, at = align_pair(
            sequences.reads.codes[query_start : query_start + pieces.query_lengths[row]],
            sequences.targets.codes[target_start : target_start + pieces.target_lengths[row]],
            options,
            scoring,
            scratch,
            table[row],
            operations,
            at,
        )
        counts[k] = at - start
    return operations[:at], counts


@njit_inlined
def _pair_options(kind: Integer, band: Integer, drop: Integer, end_bonus: Integer) -> PairOptions:
    """Return the options for a kind of piece."""
    modes, bonus = np.int64(results.EXTENSION), np.int64(-1)
    if kind == FILL:
        modes = np.int64(results.APPROXIMATE)
    elif kind == REFILL:
        modes = np.int64(0)
    elif kind != INVERSION:
        bonus = np.int64(end_bonus)
    if kind == LEFT:
        modes |= results.RIGHT | results.REVERSED_OPERATIONS | results.BACKWARDS
    return PairOptions(modes, np.int64(band), np.int64(drop), bonus)


def _alignments(table: NDArray[np.int32], operations: Ragged) -> PieceAlignments:
    return PieceAlignments(
        scores=table[:, results.SCORE].copy(),
        max_scores=table[:, results.MAX_SCORE].copy(),
        max_targets=table[:, results.MAX_TARGET].copy(),
        max_queries=table[:, results.MAX_QUERY].copy(),
        query_end_targets=table[:, results.QUERY_END_TARGET].copy(),
        reaches_end=table[:, results.REACHES_END].astype(np.uint8),
        is_dropped=table[:, results.DROPPED].astype(np.uint8),
        operations=operations.data,
        offsets=operations.offsets,
    )

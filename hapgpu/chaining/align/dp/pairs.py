"""Alignment of pairs of sequences, one by one."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, row_of, view_of, with_room
from hapgpu.chaining.align.dp import results
from hapgpu.chaining.align.dp.antidiagonals import fill_matrix, set_codes
from hapgpu.chaining.align.dp.bands import Band, has_narrow_bands, max_directions
from hapgpu.chaining.align.dp.certificate import is_certified
from hapgpu.chaining.align.dp.results import RESULT_COLUMNS, PairOptions, clear_result
from hapgpu.chaining.align.dp.scratch import Scratch, new_scratch, with_room_for
from hapgpu.chaining.align.dp.traceback import end_cell, trace
from hapgpu.chaining.align.scoring import AlignScoring, costs_of
from hapgpu.runtime.jit import njit

_MIN_WIDTH: Final = 32
_WIDTH_FRACTION: Final = 16
_WIDTH_STEP: Final = 16
_MAX_WIDENING: Final = 4
_MIN_SAVING: Final = 2


class AlignedPairs(NamedTuple):
    """Alignments of n pairs.

    Attributes
    ----------
    results
        int32[n, 10]: the columns of `results`.
    operations
        uint32: BAM operations of all pairs, length << 4 | code.
    offsets
        int64[n + 1]: offsets of the pairs in `operations`.
    """

    results: NDArray[np.int32]
    operations: NDArray[np.uint32]
    offsets: NDArray[np.int64]


def align_pairs(
    queries: Ragged, targets: Ragged, options: PairOptions, scoring: AlignScoring
) -> AlignedPairs:
    """Align pairs as `align_pair` does, in one thread.

    Parameters
    ----------
    queries, targets
        Rows of n pairs: uint8 codes of bases, 0 to 4.
    options, scoring
        Options and scores of all pairs.
    """
    return AlignedPairs(*_align_rows(view_of(queries), view_of(targets), options, scoring))


@njit
def _align_rows(
    queries: RaggedView, targets: RaggedView, options: PairOptions, scoring: AlignScoring
) -> Any:
    pairs = queries.offsets.size - 1
    rows = np.empty((pairs, RESULT_COLUMNS), dtype=np.int32)
    operations = np.empty(pairs, dtype=np.uint32)
    offsets = np.zeros(pairs + 1, dtype=np.int64)
    scratch = new_scratch()
    for k in range(pairs):
        scratch, operations, offsets[k + 1] = align_pair(
            row_of(queries, k),
            row_of(targets, k),
            options,
            scoring,
            scratch,
            rows[k],
            operations,
            offsets[k],
        )
    return rows, operations[: offsets[pairs]], offsets


@njit
def align_pair(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    options: PairOptions,
    scoring: AlignScoring,
    scratch: Scratch,
    result: NDArray[np.int32],
    operations: NDArray[np.uint32],
    at: Integer,
) -> Any:
    """Align a pair as minimap2 2.30's `ksw_extd2_sse41`, with equal gap costs `ksw_extz2_sse41`.

    Parameters
    ----------
    query, target
        Codes of bases, 0 to 4. If one is empty, the pair is not aligned, and neither if a mismatch
        costs more than twice the cost of a gap of one base.
    options
        Options.
    scoring
        Scores.
    scratch
        Memory.
    result
        int32[10]: set to the columns of `results`.
    operations
        uint32: BAM operations are written from `at` on, in the order of the bases.
    at
        Offset of the first operation.

    Returns
    -------
    scratch : Scratch
        Memory for the next pair.
    operations : uint32 array
        The same array, or a larger copy.
    end : int
        The offset after the last operation; `at` if the pair is not aligned.
    """
    clear_result(result)
    worst = max(scoring.mismatch, scoring.transition, scoring.ambiguous)
    if query.size == 0 or target.size == 0 or worst > 2 * (scoring.gap_open + scoring.gap_extend):
        return scratch, operations, at
    longest = max(query.size, target.size)
    bandwidth = options.bandwidth if options.bandwidth >= 0 else longest
    has_all_cells = bandwidth >= longest - 1
    wants_path_only = options.modes & ~_OF_PATHS == results.APPROXIMATE
    if has_all_cells and wants_path_only and has_narrow_bands(costs_of(scoring)):
        scratch = _fill_certified(query, target, options, scoring, scratch, result)
    else:
        band = Band(query.size, target.size, -bandwidth, bandwidth, not has_all_cells)
        scratch = fill_band(query, target, band, options, scoring, scratch, result)
    if options.modes & results.SCORE_ONLY:
        return scratch, operations, at
    i, j = end_cell(query.size, target.size, options, result)
    if i < 0 or j < 0:
        return scratch, operations, at
    operations = with_room(operations, at + i + j + 2)
    return scratch, operations, trace(scratch, i, j, options.modes, operations, at)


_OF_PATHS: Final = results.SCORE_ONLY | results.REVERSED_OPERATIONS | results.BACKWARDS
"""Modes that do not change the path."""


@njit
def fill_band(  # noqa: PLR0917  (Numba: no keyword-only arguments)
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    band: Band,
    options: PairOptions,
    scoring: AlignScoring,
    scratch: Scratch,
    result: NDArray[np.int32],
) -> Scratch:
    """Fill the cells of a band; return the memory."""
    scratch = with_room_for(scratch, query.size, target.size, max_directions(band))
    set_codes(query, target, options.modes, scratch)
    fill_matrix(band, scoring, options, scratch, result)
    return scratch


@njit
def _fill_certified(
    query: NDArray[np.uint8],
    target: NDArray[np.uint8],
    options: PairOptions,
    scoring: AlignScoring,
    scratch: Scratch,
    result: NDArray[np.int32],
) -> Scratch:
    """Fill a band that has the path of the whole matrix, certainly; return the memory.

    The width of the first band is a guess. A score certifies some wider band beforehand, because
    the score of a wider band is as high or higher. Then that band is the next, but at most
    `_MAX_WIDENING` times as wide. A band that saves little is the whole matrix instead.
    """
    difference = target.size - query.size
    longest = max(query.size, target.size)
    width = max(_MIN_WIDTH, longest // _WIDTH_FRACTION)
    while True:
        lowest, highest = min(0, difference) - width, max(0, difference) + width
        cells = (query.size + target.size) * (highest - lowest) // 2
        if _MIN_SAVING * cells >= query.size * target.size:
            band = Band(query.size, target.size, -longest, longest, leaks=False)
            return fill_band(query, target, band, options, scoring, scratch, result)
        band = Band(query.size, target.size, lowest, highest, leaks=False)
        scratch = fill_band(query, target, band, options, scoring, scratch, result)
        score, widest = np.int64(result[results.SCORE]), _MAX_WIDENING * width
        if is_certified(score, target.size, query.size, lowest, highest, scoring):
            return scratch
        while width < widest and not is_certified(
            score,
            target.size,
            query.size,
            min(0, difference) - width,
            max(0, difference) + width,
            scoring,
        ):
            width += _WIDTH_STEP

# ruff: noqa: PLR0917  (Numba takes no keywords, and calls with state cost the vectors)
"""The recurrence of `coefficients.py`, many pairs side by side.

The innermost axis is the lane, so that the compiler makes vectors of pairs. A step takes two
rows through four columns, its values in registers in between. On its way along a row each lane
carries the deletion of the row before and what the next match draws on; kept from row to row are
M' and I' alone.

Reads end together: shorter ones wait in rows of zeros. Haplotypes begin together; what stands
right of a shorter one flows nowhere. So a value depends neither on its lane nor on its
neighbours. All is in flat arrays, so that distances are constants: with dimensions unknown to
the compiler, it guards each vector loop against overlaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.pairhmm.forward.coefficients import (
    FIELDS,
    LETTER,
    A,
    B,
    C,
    Coefficients,
    E,
    R,
    letter_number,
)
from hapgpu.pairhmm.forward.subnormals import flush_subnormals, restore
from hapgpu.pairhmm.model import TRUSTED_GROWTH
from hapgpu.runtime.jit import njit, njit_contracting

LANES = 32
"""Pairs side by side; fewer are slower, more gain nothing and leave more lanes empty."""

STEP_ROWS, STEP_COLUMNS = 2, 4

_STATES = 3
_LETTER, _M, _I = 0, LANES, 2 * LANES
_COLUMN = _STATES * LANES
_ROW = FIELDS * LANES

_U0, _U2, _U3 = np.uint64(0), np.uint64(2), np.uint64(3)
_U_LANES, _U_M, _U_I = np.uint64(LANES), np.uint64(_M), np.uint64(_I)
_U_ROW, _U_COLUMN = np.uint64(_ROW), np.uint64(_COLUMN)
_U_STEP_ROWS, _U_STEP_COLUMNS = np.uint64(STEP_ROWS), np.uint64(STEP_COLUMNS)
_U_A, _U_B, _U_C, _U_E, _U_R, _U_LETTER = (
    np.uint64(field * LANES) for field in (A, B, C, E, R, LETTER)
)

Floats = NDArray[np.floating[Any]]


class Pairs(NamedTuple):
    """Pairs as int64[n] row numbers of their reads and haplotypes."""

    reads: NDArray[np.int64]
    haplotypes: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> Pairs:
        """Gather pairs."""
        return Pairs(self.reads[rows], self.haplotypes[rows])


class LaneArrays(NamedTuple):
    """Memory of a thread; flat, in the type to compute in.

    `columns` [columns, (letter, M', I'), lanes]; `rows` [rows, FIELDS, lanes]; `carried`
    [(first row, second row), (diagonal, deletion), lanes]; `starts` [lanes], scale / n.
    `first_rows` int64[lanes] is the row of each read's first base.
    """

    columns: Floats
    rows: Floats
    carried: Floats
    starts: Floats
    first_rows: NDArray[np.int64]


def new_lane_arrays(rows: int, columns: int, dtype: Any) -> LaneArrays:
    """Allocate for reads of up to `rows` and haplotypes of up to `columns` bases."""
    return LaneArrays(
        np.empty((columns + STEP_COLUMNS) * _COLUMN, dtype=dtype),
        np.empty((rows + STEP_ROWS) * _ROW, dtype=dtype),
        np.empty(STEP_ROWS * 2 * LANES, dtype=dtype),
        np.empty(LANES, dtype=dtype),
        np.empty(LANES, dtype=np.int64),
    )


@njit
def lane_likelihoods(
    coefficients: Coefficients,
    read_offsets: NDArray[np.int64],
    haplotypes: RaggedView,
    pairs: Pairs,
    arrays: LaneArrays,
    scale: float,
    threshold: float,
) -> NDArray[np.float64]:
    """Return log10 likelihoods, float64[n], of pairs; NaN where they are not to be trusted.

    Pairs that follow each other should be of like size.
    """
    likelihoods = np.full(pairs.reads.shape[0], np.nan)
    control = flush_subnormals()
    for first in range(0, pairs.reads.shape[0], LANES):
        last = min(first + LANES, pairs.reads.shape[0])
        reads, texts = pairs.reads[first:last], pairs.haplotypes[first:last]
        rows = _pack_reads(coefficients, read_offsets, reads, arrays)
        columns = _pack_haplotypes(haplotypes, texts, scale, arrays)
        _fill(arrays, np.uint64(rows), np.uint64(columns))
        for lane in range(last - first):
            read = reads[lane]
            size = haplotypes.offsets[texts[lane] + 1] - haplotypes.offsets[texts[lane]]
            weight = coefficients.insertion_weights[read]
            total = _last_row_sum(arrays.columns, lane, size, weight)
            growth = max(coefficients.growths[read] / TRUSTED_GROWTH, 1.0)
            if np.isfinite(total) and total >= growth * threshold:
                log10_total = np.log10(total) - np.log10(scale)
                likelihoods[first + lane] = log10_total + coefficients.log10_matching[read]
    restore(control)
    return likelihoods


@njit
def _pack_reads(
    coefficients: Coefficients,
    read_offsets: NDArray[np.int64],
    reads: NDArray[np.int64],
    arrays: LaneArrays,
) -> int:
    """Write the rows of each read into its lane; return how many rows there are."""
    longest = 0
    for read in reads:
        longest = max(longest, read_offsets[read + 1] - read_offsets[read])
    rows = -(-longest // STEP_ROWS) * STEP_ROWS
    for lane in range(LANES):
        begin = end = 0
        if lane < reads.shape[0]:
            begin, end = read_offsets[reads[lane]], read_offsets[reads[lane] + 1]
        first_row = rows - (end - begin)
        arrays.first_rows[lane] = first_row
        for k in range(lane, first_row * _ROW, LANES):
            arrays.rows[k] = 0.0
        for k in range(end - begin):
            for field in range(FIELDS):
                value = coefficients.rows[begin + k, field]
                arrays.rows[(first_row + k) * _ROW + field * LANES + lane] = value
    return rows


@njit
def _pack_haplotypes(
    haplotypes: RaggedView, texts: NDArray[np.int64], scale: float, arrays: LaneArrays
) -> int:
    """Write each haplotype into its lane, and row 0; return how many columns there are."""
    longest = 0
    for text in texts:
        longest = max(longest, haplotypes.offsets[text + 1] - haplotypes.offsets[text])
    columns = -(-longest // STEP_COLUMNS) * STEP_COLUMNS
    for k in range(columns * _COLUMN):
        arrays.columns[k] = 0.0
    for lane in range(LANES):
        arrays.starts[lane] = 0.0
        if lane < texts.shape[0]:
            begin = haplotypes.offsets[texts[lane]]
            size = haplotypes.offsets[texts[lane] + 1] - begin
            arrays.starts[lane] = scale / size
            for j in range(size):
                letter = letter_number(haplotypes.data[begin + j])
                arrays.columns[j * _COLUMN + _LETTER + lane] = letter
    return columns


@njit
def _last_row_sum(columns: Floats, lane: int, size: int, insertion_weight: float) -> float:
    matches, insertions = 0.0, 0.0
    for k in range(lane, size * _COLUMN, _COLUMN):
        matches += columns[k + _M]
        insertions += columns[k + _I]
    return matches + insertion_weight * insertions


@njit_contracting
def _fill(arrays: LaneArrays, row_count: np.uint64, column_count: np.uint64) -> None:
    """Fill all rows. Unsigned indices, for signed ones might count from the end."""
    columns, rows, carried = arrays.columns, arrays.rows, arrays.carried
    one = columns.dtype.type(1.0)
    for i in range(_U0, row_count, _U_STEP_ROWS):
        _start_rows(arrays, int(i))
        row = i * _U_ROW
        for j in range(_U0, column_count, _U_STEP_COLUMNS):
            for lane in range(_U0, _U_LANES):
                first = _row_fields(rows, row + lane)
                second = _row_fields(rows, row + _U_ROW + lane)
                diagonal, deletion = carried[lane], carried[lane + _U_LANES]
                next_diagonal = carried[lane + _U2 * _U_LANES]
                next_deletion = carried[lane + _U3 * _U_LANES]
                for step in range(_U0, _U_STEP_COLUMNS):
                    k = (j + step) * _U_COLUMN + lane
                    letter = columns[k]
                    match, insertion, diagonal, deletion = _cell(
                        letter, first, columns[k + _U_M], columns[k + _U_I], diagonal, deletion, one
                    )
                    match, insertion, next_diagonal, next_deletion = _cell(
                        letter, second, match, insertion, next_diagonal, next_deletion, one
                    )
                    columns[k + _U_M] = match
                    columns[k + _U_I] = insertion
                carried[lane], carried[lane + _U_LANES] = diagonal, deletion
                carried[lane + _U2 * _U_LANES] = next_diagonal
                carried[lane + _U3 * _U_LANES] = next_deletion


@njit
def _start_rows(arrays: LaneArrays, row: int) -> None:
    """Set what is carried into the first column of two rows: something in a read's first row."""
    for step in range(STEP_ROWS):
        for lane in range(LANES):
            start = arrays.starts[lane] if arrays.first_rows[lane] == row + step else 0.0
            c = arrays.rows[(row + step) * _ROW + C * LANES + lane]
            arrays.carried[2 * step * LANES + lane] = c * start
            arrays.carried[(2 * step + 1) * LANES + lane] = start


@njit_contracting
def _row_fields(rows: Floats, k: np.uint64) -> tuple[Any, Any, Any, Any, Any, Any]:
    return (
        rows[k + _U_A],
        rows[k + _U_B],
        rows[k + _U_C],
        rows[k + _U_E],
        rows[k + _U_R],
        rows[k + _U_LETTER],
    )


@njit_contracting
def _cell(
    letter: Any,
    fields: Any,
    above: Any,
    above_insertion: Any,
    diagonal: Any,
    deletion: Any,
    one: Any,
) -> tuple[Any, Any, Any, Any]:
    """M' and I' of a cell, and what is carried on; small terms first, for rounding adds up."""
    a, b, c, e, r, base = fields
    match = diagonal * (r if (base < letter) | (base > letter) else one)
    insertion = above + b * above_insertion
    diagonal = above + (a * above_insertion + c * deletion)
    deletion = above + e * deletion
    return match, insertion, diagonal, deletion

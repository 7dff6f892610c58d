"""The recurrence of `exact.py` for many pairs, one per lane, where float64 has the range for it.

As `lanes.py`, but not normalised by row, so that reads of any qualities give the bits of
`exact.py`. No path counts more than once in the sum, if no row opens gaps with a probability above
1: what is lost below 2**-1022 is too little for the last bit of a sum above the threshold. A value
that overflows makes the sum infinite or not a number.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.pairhmm.arithmetic import fma, log10_scaled
from hapgpu.pairhmm.forward.coefficients import LETTER, A, B, C, E, R, ReadArrays, letter_number
from hapgpu.pairhmm.forward.exact import exact_row
from hapgpu.pairhmm.forward.lanes import (
    LANES,
    STEP_COLUMNS,
    STEP_ROWS,
    Float,
    Floats,
    LaneArrays,
    PairRows,
    flush_subnormals,
    pack_haplotypes,
    restore,
    start_rows,
    sum_last_row,
)
from hapgpu.pairhmm.model import (
    DOUBLE_SCALE,
    DOUBLE_SCALE_EXPONENT,
    DOUBLE_THRESHOLD,
    ERROR_PROBABILITIES,
)
from hapgpu.runtime.jit import njit

DOUBLE_FIELDS = 8
_ALPHA, _MATCHING = 6, 7
"""Fields of a row beside those of `coefficients.py`; R is the probability of a mismatch."""

_ROW = DOUBLE_FIELDS * LANES
_U0, _U2, _U3 = np.uint64(0), np.uint64(2), np.uint64(3)
_U_LANES, _U_M, _U_I = np.uint64(LANES), np.uint64(LANES), np.uint64(2 * LANES)
_U_ROW, _U_COLUMN = np.uint64(_ROW), np.uint64(3 * LANES)
_U_STEP_ROWS, _U_STEP_COLUMNS = np.uint64(STEP_ROWS), np.uint64(STEP_COLUMNS)
_U_A, _U_B, _U_C, _U_E, _U_R, _U_LETTER, _U_ALPHA, _U_MATCHING = (
    np.uint64(field * LANES) for field in (A, B, C, E, R, LETTER, _ALPHA, _MATCHING)
)
_RowFields = tuple[Float, Float, Float, Float, Float, Float, Float, Float]
"""The fields of a row: alpha, a, b, c, e, matching, differing, letter."""


@njit
def double_lane_likelihoods(
    reads: ReadArrays, haplotypes: RaggedView, pairs: PairRows, arrays: LaneArrays
) -> NDArray[np.float64]:
    """Return float64[n]: log10 likelihoods of pairs; NaN where float64 lacks the range for them.

    Fastest if consecutive pairs have similar sizes.

    Parameters
    ----------
    reads
        The reads.
    haplotypes
        uint8 text.
    pairs
        n pairs.
    arrays
        Work space of float64 for the longest read and haplotype, with `DOUBLE_FIELDS` fields.
    """
    likelihoods = np.full(pairs.reads.shape[0], np.nan)
    for first in range(0, pairs.reads.shape[0], LANES):
        last = min(first + LANES, pairs.reads.shape[0])
        rows = _pack_reads(reads, pairs.reads[first:last], arrays)
        control = flush_subnormals()
        columns = pack_haplotypes(haplotypes, pairs.haplotypes[first:last], DOUBLE_SCALE, arrays)
        _fill(arrays, np.uint64(rows), np.uint64(columns))
        sum_last_row(arrays, columns)
        restore(control)
        for lane in range(last - first):
            total = arrays.totals[lane]
            if total >= DOUBLE_THRESHOLD and total < np.inf:
                likelihoods[first + lane] = log10_scaled(total, -DOUBLE_SCALE_EXPONENT)
    return likelihoods


@njit
def _pack_reads(reads: ReadArrays, read_rows: NDArray[np.int64], arrays: LaneArrays) -> int:
    """Write the rows of each read into its lane; return the number of rows.

    The weight of I' is NaN for a read whose gaps open with a probability above 1.
    """
    longest = 0
    for read in read_rows:
        longest = max(longest, reads.offsets[read + 1] - reads.offsets[read])
    row_count = -(-longest // STEP_ROWS) * STEP_ROWS
    rows = arrays.rows
    for lane in range(LANES):
        start = end = 0
        arrays.weights[lane] = 0.0
        if lane < read_rows.shape[0]:
            start, end = reads.offsets[read_rows[lane]], reads.offsets[read_rows[lane] + 1]
            arrays.weights[lane] = ERROR_PROBABILITIES[reads.insertion_qualities[end - 1]]
        first_row = row_count - (end - start)
        arrays.first_rows[lane] = first_row
        for k in range(lane, first_row * _ROW, LANES):
            rows[k] = 0.0
        for k in range(start, end):
            row = exact_row(reads, start, k)
            at = (first_row + k - start) * _ROW + lane
            rows[at + A * LANES], rows[at + B * LANES], rows[at + C * LANES] = row.a, row.b, row.c
            rows[at + E * LANES], rows[at + R * LANES] = row.e, row.differing
            rows[at + LETTER * LANES] = letter_number(reads.bases[k])
            rows[at + _ALPHA * LANES], rows[at + _MATCHING * LANES] = row.alpha, row.matching
            insertion = ERROR_PROBABILITIES[reads.insertion_qualities[k]]
            if insertion + ERROR_PROBABILITIES[reads.deletion_qualities[k]] > 1.0:
                arrays.weights[lane] = np.nan
    return row_count


@njit
def _fill(arrays: LaneArrays, row_count: np.uint64, column_count: np.uint64) -> None:
    """Fill all rows. Indices are unsigned, because Numba lets signed ones count from the end."""
    columns, rows, carried = arrays.columns, arrays.rows, arrays.carried
    for i in range(_U0, row_count, _U_STEP_ROWS):
        start_rows(arrays, int(i), _ROW)
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
                        letter, first, columns[k + _U_M], columns[k + _U_I], diagonal, deletion
                    )
                    match, insertion, next_diagonal, next_deletion = _cell(
                        letter, second, match, insertion, next_diagonal, next_deletion
                    )
                    columns[k + _U_M] = match
                    columns[k + _U_I] = insertion
                carried[lane], carried[lane + _U_LANES] = diagonal, deletion
                carried[lane + _U2 * _U_LANES] = next_diagonal
                carried[lane + _U3 * _U_LANES] = next_deletion


@njit
def _row_fields(rows: Floats, k: np.uint64) -> _RowFields:
    return (
        rows[k + _U_ALPHA],
        rows[k + _U_A],
        rows[k + _U_B],
        rows[k + _U_C],
        rows[k + _U_E],
        rows[k + _U_MATCHING],
        rows[k + _U_R],
        rows[k + _U_LETTER],
    )


@njit
def _cell(
    letter: Float,
    fields: _RowFields,
    above: Float,
    above_insertion: Float,
    diagonal: Float,
    deletion: Float,
) -> tuple[Float, Float, Float, Float]:
    """Return M and I' of a cell, and the carried values."""
    alpha, a, b, c, e, matching, differing, base = fields
    match = diagonal * (differing if (base < letter) | (base > letter) else matching)
    insertion = fma(b, above_insertion, above)
    diagonal = fma(alpha, above, fma(a, above_insertion, c * deletion))
    deletion = fma(e, deletion, above)
    return match, insertion, diagonal, deletion

"""The recurrence of `coefficients.py` for many pairs, one per lane.

The lane is the innermost axis, so that the compiler vectorises over pairs. One step computes two
rows of four columns, with values in registers. Along a row each lane carries the deletion of the
previous row and the sum for the next match; from row to row only M' and I' are kept.

All reads end in the same row: shorter reads start with rows of zeros. All haplotypes start in the
same column; columns after the end of a shorter haplotype do not affect the result. So a value
depends neither on its lane nor on the other lanes. All arrays are flat, so that strides are
constants: otherwise the compiler guards each vector loop against overlaps.

`cuda/pairhmm/forward.cu` has the same operations in the same order, with fused multiply-adds in the
same places, so that each device computes the same bits.

The processor treats subnormal numbers as 0 here. Away from the diagonal the probabilities of the
pair-HMM become subnormal before they are 0. Some processors need 150 cycles for an operation on a
subnormal number instead of half a cycle; if a tenth of the operations have one, they take most of
the time. Only x86 needs this setting.
"""

from __future__ import annotations

import platform
from typing import Any, NamedTuple

import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hapgpu.arrays.ragged_view import RaggedView
from hapgpu.pairhmm.arithmetic import fma, log10_scaled
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
from hapgpu.pairhmm.model import FLOAT_SCALE, FLOAT_SCALE_EXPONENT
from hapgpu.runtime.jit import njit

_IS_X86 = platform.machine().lower() in {"x86_64", "amd64"}

_FLUSH = 0x8040
"""Bits of the control register MXCSR that treat subnormal results and operands as 0."""

_control_type = cgutils.ir.IntType(32)
_function_type = cgutils.ir.FunctionType(cgutils.ir.VoidType(), [cgutils.voidptr_t])

LANES = 32
"""Pairs per batch of lanes; fewer are slower, more gain nothing and leave more lanes empty."""
STEP_ROWS, STEP_COLUMNS = 2, 4
_STATES = 3
_LETTER, _M, _I = 0, LANES, 2 * LANES
_COLUMN = _STATES * LANES
_ROW = FIELDS * LANES
_U0, _U1, _U2, _U3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_U_FIELDS = np.uint64(FIELDS)
_U_LANES, _U_M, _U_I = np.uint64(LANES), np.uint64(_M), np.uint64(_I)
_U_ROW, _U_COLUMN = np.uint64(_ROW), np.uint64(_COLUMN)
_U_STEP_ROWS, _U_STEP_COLUMNS = np.uint64(STEP_ROWS), np.uint64(STEP_COLUMNS)
_U_A, _U_B, _U_C, _U_E, _U_R, _U_LETTER = (
    np.uint64(field * LANES) for field in (A, B, C, E, R, LETTER)
)
Float = np.floating[Any]
Floats = NDArray[Float]
RowFields = tuple[Float, Float, Float, Float, Float, Float]
"""The fields of a row: a, b, c, e, r, letter."""


def _call(builder: Any, name: str, pointer: Any) -> None:
    function = cgutils.get_or_insert_function(builder.module, _function_type, name)
    builder.call(function, [builder.bitcast(pointer, cgutils.voidptr_t)])


def _reading(_typing: Any) -> Any:
    """Return the control register, uint32; 0 where there is none."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        pointer = cgutils.alloca_once_value(builder, _control_type(0))
        if _IS_X86:
            _call(builder, "llvm.x86.sse.stmxcsr", pointer)
        return builder.load(pointer)

    return types.uint32(), generate


def _writing(_typing: Any, _control: Any) -> Any:
    """Set the control register from a uint32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = cgutils.alloca_once_value(builder, arguments[0])
        if _IS_X86:
            _call(builder, "llvm.x86.sse.ldmxcsr", pointer)
        return cgutils.get_null_value(_control_type)

    return types.uint32(types.uint32), generate


_read_control = intrinsic(_reading)
_write_control = intrinsic(_writing)


@njit
def flush_subnormals() -> int:
    """Treat subnormal numbers as 0 in this thread; return the previous state, for `restore`."""
    control = _read_control()
    _write_control(types.uint32(control | _FLUSH))
    return int(control)


@njit
def restore(control: int) -> None:
    """Restore the state that `flush_subnormals` returned."""
    _write_control(types.uint32(control))


class PairRows(NamedTuple):
    """Pairs as row numbers of reads and of haplotypes, int64[n] each."""

    reads: NDArray[np.int64]
    haplotypes: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> PairRows:
        """Gather pairs by their rows, int64[k]."""
        return PairRows(self.reads[rows], self.haplotypes[rows])


class LaneArrays(NamedTuple):
    """Working memory of a thread: flat arrays of the floating-point type.

    `columns` [columns, (letter, M', I'), lanes]; `rows` [rows, fields, lanes]; `carried`
    [(first row, second row), (diagonal, deletion), lanes]; `starts` [lanes], scale / n; `sizes`,
    `weights` and `totals` [lanes], n, w and the final sum. `first_rows` int64[lanes] is the row of
    each read's first base; `sources` int64[lanes] is scratch.
    """

    columns: Floats
    rows: Floats
    carried: Floats
    starts: Floats
    sizes: Floats
    weights: Floats
    totals: Floats
    first_rows: NDArray[np.int64]
    sources: NDArray[np.int64]


def new_lane_arrays(
    rows: int, columns: int, fields: int, dtype: type[np.float32 | np.float64]
) -> LaneArrays:
    """Allocate for reads of up to `rows` and haplotypes of up to `columns` bases."""
    return LaneArrays(
        np.empty((columns + STEP_COLUMNS) * _COLUMN, dtype=dtype),
        np.empty((rows + STEP_ROWS) * fields * LANES, dtype=dtype),
        np.empty(STEP_ROWS * 2 * LANES, dtype=dtype),
        np.empty(LANES, dtype=dtype),
        np.empty(LANES, dtype=dtype),
        np.empty(LANES, dtype=dtype),
        np.empty(LANES, dtype=dtype),
        np.empty(LANES, dtype=np.int64),
        np.empty(LANES, dtype=np.int64),
    )


@njit
def lane_likelihoods(
    coefficients: Coefficients,
    read_offsets: NDArray[np.int64],
    haplotypes: RaggedView,
    pairs: PairRows,
    arrays: LaneArrays,
) -> NDArray[np.float64]:
    """Return float64[n]: log10 likelihoods of pairs; NaN where float32 is not accurate.

    Fastest if consecutive pairs have similar sizes.

    Parameters
    ----------
    coefficients
        Coefficients of r reads.
    read_offsets
        int64[r + 1]: rows of the reads in the coefficients.
    haplotypes
        uint8 text.
    pairs
        n pairs.
    arrays
        Work space of float32 for the longest read and haplotype, with `FIELDS` fields.
    """
    likelihoods = np.full(pairs.reads.shape[0], np.nan)
    control = flush_subnormals()
    for first in range(0, pairs.reads.shape[0], LANES):
        last = min(first + LANES, pairs.reads.shape[0])
        reads, haplotype_rows = pairs.reads[first:last], pairs.haplotypes[first:last]
        rows = _pack_reads(coefficients, read_offsets, reads, arrays)
        columns = pack_haplotypes(haplotypes, haplotype_rows, FLOAT_SCALE, arrays)
        _fill(arrays, np.uint64(rows), np.uint64(columns))
        sum_last_row(arrays, columns)
        for lane in range(last - first):
            total = float(arrays.totals[lane])
            if total >= coefficients.thresholds[reads[lane]] and total < np.inf:
                product = total * coefficients.products[reads[lane]]
                likelihoods[first + lane] = log10_scaled(product, -FLOAT_SCALE_EXPONENT)
    restore(control)
    return likelihoods


@njit
def _pack_reads(
    coefficients: Coefficients,
    read_offsets: NDArray[np.int64],
    reads: NDArray[np.int64],
    arrays: LaneArrays,
) -> int:
    """Write the rows of each read into its lane, row by row; return the number of rows."""
    longest = 0
    for read in reads:
        longest = max(longest, read_offsets[read + 1] - read_offsets[read])
    row_count = -(-longest // STEP_ROWS) * STEP_ROWS
    first_rows, sources = arrays.first_rows, arrays.sources
    for lane in range(LANES):
        arrays.weights[lane], first_rows[lane], sources[lane] = 0.0, row_count, 0
        if lane < reads.shape[0]:
            start, end = read_offsets[reads[lane]], read_offsets[reads[lane] + 1]
            arrays.weights[lane] = coefficients.insertion_weights[reads[lane]]
            first_rows[lane] = row_count - (end - start)
            sources[lane] = start - first_rows[lane]
    rows, values = arrays.rows, coefficients.rows
    zero = rows.dtype.type(0.0)
    for row in range(row_count):
        for lane in range(LANES):
            k = np.uint64(row) * _U_ROW + np.uint64(lane)
            if row < first_rows[lane]:
                for _ in range(FIELDS):
                    rows[k] = zero
                    k += _U_LANES
            else:
                source = np.uint64(sources[lane] + row) * _U_FIELDS
                for _ in range(FIELDS):
                    rows[k] = values[source]
                    k += _U_LANES
                    source += _U1
    return row_count


@njit
def pack_haplotypes(
    haplotypes: RaggedView, haplotype_rows: NDArray[np.int64], scale: float, arrays: LaneArrays
) -> int:
    """Write each haplotype and row 0 into its lane; return the number of columns.

    Parameters
    ----------
    haplotypes
        uint8 text.
    haplotype_rows
        int64[n]: the rows of at most `LANES` haplotypes.
    scale
        The start value, in place of 1.
    arrays
        Work space for the longest haplotype.
    """
    longest = 0
    for row in haplotype_rows:
        longest = max(longest, haplotypes.offsets[row + 1] - haplotypes.offsets[row])
    column_count = -(-longest // STEP_COLUMNS) * STEP_COLUMNS
    columns, letters = arrays.columns, haplotypes.data
    zero = columns.dtype.type(0.0)
    for k in range(np.uint64(column_count) * _U_COLUMN):
        columns[k] = zero
    for lane in range(LANES):
        arrays.starts[lane] = arrays.sizes[lane] = zero
        if lane < haplotype_rows.shape[0]:
            start = haplotypes.offsets[haplotype_rows[lane]]
            size = haplotypes.offsets[haplotype_rows[lane] + 1] - start
            arrays.starts[lane] = scale / size
            arrays.sizes[lane] = size
            at = np.uint64(lane)
            for source in range(np.uint64(start), np.uint64(start + size)):
                columns[at] = letter_number(letters[source])
                at += _U_COLUMN
    return column_count


@njit
def sum_last_row(arrays: LaneArrays, column_count: int) -> None:
    """Set the totals: M' + w I' of the last row, from the first column to the last."""
    columns, sizes, weights, totals = arrays.columns, arrays.sizes, arrays.weights, arrays.totals
    zero = columns.dtype.type(0.0)
    totals[:] = zero
    for j in range(np.uint64(column_count)):
        column = columns.dtype.type(j)
        k = j * _U_COLUMN
        for lane in range(_U0, _U_LANES):
            term = fma(weights[lane], columns[k + lane + _U_I], columns[k + lane + _U_M])
            totals[lane] += term if column < sizes[lane] else zero


@njit
def _fill(arrays: LaneArrays, row_count: np.uint64, column_count: np.uint64) -> None:
    """Fill all rows. Indices are unsigned, because Numba lets signed ones count from the end."""
    columns, rows, carried = arrays.columns, arrays.rows, arrays.carried
    one = columns.dtype.type(1.0)
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
def start_rows(arrays: LaneArrays, row: int, row_size: int) -> None:
    """Set the values carried into the first column of two rows; 0 except in a read's first row.

    `row_size` is the number of values per row, in which `C` is a field.
    """
    for step in range(STEP_ROWS):
        for lane in range(LANES):
            start = arrays.starts[lane] if arrays.first_rows[lane] == row + step else 0.0
            c = arrays.rows[(row + step) * row_size + C * LANES + lane]
            arrays.carried[2 * step * LANES + lane] = c * start
            arrays.carried[(2 * step + 1) * LANES + lane] = start


@njit
def _row_fields(rows: Floats, k: np.uint64) -> RowFields:
    return (
        rows[k + _U_A],
        rows[k + _U_B],
        rows[k + _U_C],
        rows[k + _U_E],
        rows[k + _U_R],
        rows[k + _U_LETTER],
    )


@njit
def _cell(
    letter: Float,
    fields: RowFields,
    above: Float,
    above_insertion: Float,
    diagonal: Float,
    deletion: Float,
    one: Float,
) -> tuple[Float, Float, Float, Float]:
    """Return M' and I' of a cell, and the carried values."""
    a, b, c, e, r, base = fields
    match = diagonal * (r if (base < letter) | (base > letter) else one)
    insertion = fma(b, above_insertion, above)
    diagonal = fma(a, above_insertion, fma(c, deletion, above))
    deletion = fma(e, deletion, above)
    return match, insertion, diagonal, deletion

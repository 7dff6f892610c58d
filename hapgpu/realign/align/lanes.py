# ruff: noqa: FBT001, FURB136  (Numba: no keyword-only arguments; max() costs the vectors)
"""Recurrences and traceback of a group of pairs, one pair per lane.

The lane is the innermost axis, so that the compiler vectorises the recurrences of `reference.py`.
A cell has no step length but four bits: the source of its best path, and whether its insertion
and its deletion were extended. The length of a gap is 1 + the number of consecutive extended
cells before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.realign.align.bands import Band, end_column, first_column
from hapgpu.realign.scoring import Overhang
from hapgpu.runtime.jit import njit

# Direction bits of a cell; two columns share a byte, the odd one in the upper half.
_INSERTION, _DELETION, _SOURCE = np.uint8(1), np.uint8(2), np.uint8(3)
_INSERTION_EXTENDED, _DELETION_EXTENDED = np.uint8(4), np.uint8(8)
_NO_BITS = np.uint8(0)

_M, _I, _D = 0, 1, 2  # BAM operations

_SOFTCLIP, _INDEL, _LEADING_INDEL, _IGNORE = (int(overhang) for overhang in Overhang)

Array = NDArray[Any]


class Weights(NamedTuple):
    """Weights in the type of the scores, with GATK's two bounds."""

    match: Any
    mismatch: Any
    gap_open: Any
    gap_extend: Any
    unreachable: Any
    lowest: Any


class LanePairs(NamedTuple):
    """Sequences of a group as lanes: `references` [rows, lanes], `queries` [columns, lanes]."""

    references: Array
    queries: Array
    reference_lengths: Array
    query_lengths: Array


class State(NamedTuple):
    """The last filled row, and the values carried along a row.

    `scores` [columns + 1, lanes], `deletions` [columns, lanes], `insertions` and `diagonals`
    [lanes].
    """

    scores: Array
    deletions: Array
    insertions: Array
    diagonals: Array


class Trace(NamedTuple):
    """End cells, then the state of the traceback; all [lanes] except `runs` [lanes, capacity].

    `scores`, `rows` and `columns` are those of the best end cell; the traceback updates `rows` and
    `columns`. `gaps` is the gap that the next cell continues, _M if none; `runs` holds the CIGAR,
    the last run first, and `counts` its number of runs.
    """

    scores: Array
    rows: Array
    columns: Array
    gaps: Array
    runs: Array
    counts: Array


@njit
def pack_lanes(rows: Array, starts: Array, lengths: Array, lanes: Array) -> None:
    """Write each row into its lane; cells after the end of a row are not used."""
    for lane in range(lanes.shape[1]):
        for k in range(lengths[lane]):
            lanes[k, lane] = rows[starts[lane] + k]
        for k in range(lengths[lane], lanes.shape[0]):
            lanes[k, lane] = 0


@njit
def _border(position: int, weights: Weights, overhang: int) -> int:
    """Return the score of the cell at `position` of the first row or column."""
    if position == 0 or overhang in (_SOFTCLIP, _IGNORE):
        return 0
    return int(weights.gap_open) + (position - 1) * int(weights.gap_extend)


@njit
def set_first_row(
    state: State, weights: Weights, overhang: int, band: Band, starts_inside: NDArray[np.bool_]
) -> None:
    """Set the row before the first base of each reference.

    `starts_inside`, bool[lanes]: no alignment starts in this row, except at its first cell.
    """
    end = end_column(0, band, state.deletions.shape[0])
    for j in range(state.scores.shape[0]):
        border = _border(j, weights, overhang) if j <= end else weights.unreachable
        for lane in range(state.scores.shape[1]):
            state.scores[j, lane] = weights.unreachable if j and starts_inside[lane] else border
    for j in range(state.deletions.shape[0]):
        for lane in range(state.deletions.shape[1]):
            state.deletions[j, lane] = weights.unreachable


@njit
def _cell(
    matches: bool,
    diagonal: Any,
    above: Any,
    deletion: Any,
    left: Any,
    insertion: Any,
    weights: Weights,
    score_type: Any,
) -> tuple[Any, Any, Any, Any]:
    """Return score, insertion, deletion and direction bits of a cell (`_fill` of reference.py)."""
    through = score_type(diagonal + (weights.match if matches else weights.mismatch))
    deletion_opened = score_type(above + weights.gap_open)
    deletion = score_type(deletion + weights.gap_extend)
    deletion_bit = _DELETION_EXTENDED if deletion >= deletion_opened else _NO_BITS
    deletion = deletion if deletion >= deletion_opened else deletion_opened
    insertion_opened = score_type(left + weights.gap_open)
    insertion = score_type(insertion + weights.gap_extend)
    insertion_bit = _INSERTION_EXTENDED if insertion >= insertion_opened else _NO_BITS
    insertion = insertion if insertion >= insertion_opened else insertion_opened
    gap = insertion if insertion >= deletion else deletion
    source = _INSERTION if insertion >= deletion else _DELETION
    source = _NO_BITS if through >= gap else source
    score = through if through >= gap else gap
    score = score if score >= weights.lowest else weights.lowest
    return score, insertion, deletion, np.uint8(source | insertion_bit | deletion_bit)


@njit
def _start_row(state: State, i: int, first: int, weights: Weights, overhang: int) -> None:
    """Set what is before the first column of a row."""
    border = _border(i + 1, weights, overhang) if first == 0 else weights.unreachable
    for lane in range(state.insertions.shape[0]):
        state.insertions[lane] = weights.unreachable
        state.diagonals[lane] = state.scores[first, lane]
        state.scores[first, lane] = border


@njit
def fill_rows(
    pairs: LanePairs,
    state: State,
    directions: Array | None,
    trace: Trace,
    weights: Weights,
    overhang: int,
    block: tuple[int, int],
    band: Band,
    find_ends: bool,
) -> None:
    """Fill the cells of a band in the rows of a block.

    `directions` [row, column pair of the band, lane], or None for scores only. A step fills two
    columns, because the compiler does not vectorise steps of one column.
    """
    first, last = block
    scores, deletions, insertions, diagonals = state
    references, queries = pairs.references, pairs.queries
    score_type = scores.dtype.type
    lanes = references.shape[1]
    for i in range(first, last):
        first_in_row = first_column(i, band)
        end_in_row = end_column(i, band, queries.shape[0])
        _start_row(state, i, first_in_row, weights, overhang)
        for j in range(first_in_row, end_in_row, 2):
            for lane in range(lanes):
                base = references[i, lane]
                above, above_next = scores[j + 1, lane], scores[j + 2, lane]
                score, insertion, deletion, bits = _cell(
                    base == queries[j, lane],
                    diagonals[lane],
                    above,
                    deletions[j, lane],
                    scores[j, lane],
                    insertions[lane],
                    weights,
                    score_type,
                )
                scores[j + 1, lane] = score
                deletions[j, lane] = deletion
                score, insertion, deletion, bits_next = _cell(
                    base == queries[j + 1, lane],
                    above,
                    above_next,
                    deletions[j + 1, lane],
                    score,
                    insertion,
                    weights,
                    score_type,
                )
                scores[j + 2, lane] = score
                deletions[j + 1, lane] = deletion
                insertions[lane] = insertion
                diagonals[lane] = above_next
                if directions is not None:
                    both = np.uint8(bits | np.uint8(bits_next << np.uint8(4)))
                    directions[i - first, (j - first_in_row) >> 1, lane] = both
        if find_ends:
            _find_ends(pairs, scores, trace, overhang, i + 1, (first_in_row, end_in_row))


@njit
def _find_ends(
    pairs: LanePairs,
    scores: Array,
    trace: Trace,
    overhang: int,
    row: int,
    filled: tuple[int, int],
) -> None:
    """Update the best end cells by a row (1-based; `_end_cell` of reference.py).

    `filled` is the range of its columns that are filled, from 0.
    """
    for lane in range(scores.shape[1]):
        rows = pairs.reference_lengths[lane]
        if row > rows:
            continue
        last_column = pairs.query_lengths[lane]
        is_filled = filled[0] < last_column <= filled[1]
        score = scores[last_column, lane]
        if (row == rows) if overhang == _INDEL else is_filled and (score >= trace.scores[lane]):
            trace.scores[lane] = score
            trace.rows[lane] = row
        if row == rows and overhang in (_SOFTCLIP, _IGNORE):
            _search_last_row(scores, trace, lane, row, (filled[0], min(filled[1], last_column)))


@njit
def _search_last_row(
    scores: Array, trace: Trace, lane: int, row: int, columns: tuple[int, int]
) -> None:
    for j in range(columns[0] + 1, columns[1] + 1):
        score = scores[j, lane]
        nearer_diagonal = abs(row - j) < abs(trace.rows[lane] - trace.columns[lane])
        if score > trace.scores[lane] or (score == trace.scores[lane] and nearer_diagonal):
            trace.scores[lane] = score
            trace.rows[lane] = row
            trace.columns[lane] = j


@njit
def trace_block(trace: Trace, directions: Array, first: int, band: Band) -> None:
    """Follow the directions of each lane to a border of its matrix, or to the block above."""
    for lane in range(trace.rows.shape[0]):
        row, column, gap = trace.rows[lane], trace.columns[lane], trace.gaps[lane]
        count = trace.counts[lane]
        run = trace.runs[lane, count - 1] if count else np.uint32(0)
        while row > first and column > 0:
            in_band = column - 1 - first_column(row - 1, band)
            byte = directions[row - 1 - first, in_band >> 1, lane]
            bits = byte >> np.uint8(4) if column % 2 == 0 else byte
            source = gap or bits & _SOURCE
            operation = _M
            if source == _INSERTION:
                operation = _I
                column -= 1
                gap = _INSERTION if bits & _INSERTION_EXTENDED else _NO_BITS
            elif source == _DELETION:
                operation = _D
                row -= 1
                gap = _DELETION if bits & _DELETION_EXTENDED else _NO_BITS
            else:
                row -= 1
                column -= 1
            if count == 0 or run & 15 != operation:
                if count:
                    trace.runs[lane, count - 1] = run
                run = np.uint32(operation)
                count += 1
            run += np.uint32(1 << 4)
        if count:
            trace.runs[lane, count - 1] = run
        trace.counts[lane] = count
        trace.rows[lane], trace.columns[lane], trace.gaps[lane] = row, column, gap

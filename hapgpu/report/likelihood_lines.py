"""Lines of tables of likelihoods to columns, in compiled code."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.memory import Memory, memory_of, read_u8
from hapgpu.report.line_blocks import name_digest, read_decimal
from hapgpu.runtime.jit import njit

_TAB, _NEWLINE, _ZERO, _NINE, _BLANK = b"\t\n09 "


class LinePairs(NamedTuple):
    """Columns of a table with a line per pair.

    Attributes
    ----------
    groups
        int64[n]: digest of the read, and of its locus.
    loci, haplotypes
        int64[n, 3]: start, end and digest of the name.
    values
        float64[n]; NaN for a missing likelihood.
    """

    groups: NDArray[np.int64]
    loci: NDArray[np.int64]
    haplotypes: NDArray[np.int64]
    values: NDArray[np.float64]

    @classmethod
    def allocated(cls, count: int) -> LinePairs:
        """Return columns for a number of lines."""
        return cls(
            groups=np.empty(count, dtype=np.int64),
            loci=np.zeros((count, 3), dtype=np.int64),
            haplotypes=np.zeros((count, 3), dtype=np.int64),
            values=np.empty(count, dtype=np.float64),
        )


class Best(NamedTuple):
    """The best likelihoods of n reads.

    Attributes
    ----------
    best, second
        float64[n]; NaN if there are not so many.
    rows
        int64[n]: which is the best: its line, or its column in a matrix; -1 for none.
    """

    best: NDArray[np.float64]
    second: NDArray[np.float64]
    rows: NDArray[np.int64]

    @classmethod
    def allocated(cls, count: int) -> Best:
        """Return columns for a number of reads."""
        return cls(
            best=np.full(count, np.nan),
            second=np.full(count, np.nan),
            rows=np.full(count, -1, dtype=np.int64),
        )


@njit
def parse_pairs(
    data: NDArray[np.uint8], columns: int, locus: int, out: LinePairs
) -> tuple[Integer, Integer]:
    """Parse lines of a table with a line per pair, up to the first malformed line.

    The last column is the likelihood, the one before it the haplotype; the others name the read.

    Parameters
    ----------
    data
        uint8: whole lines.
    columns
        Number of columns.
    locus
        Number of the column that is a locus; -1 for none.
    out
        A row per line.

    Returns
    -------
    tuple of int
        Number of parsed lines, and the offset after them.
    """
    text = memory_of(data)
    at, row = np.int64(0), np.int64(0)
    while at < text.size:
        end = at
        while end < text.size and read_u8(text, end) != _NEWLINE:
            end += 1
        start = at
        for column in range(columns - 1):
            stop = start
            while stop < end and read_u8(text, stop) != _TAB:
                stop += 1
            if stop >= end or stop == start:
                return row, at
            if column == locus:
                out.loci[row, 0], out.loci[row, 1] = start, stop
                out.loci[row, 2] = name_digest(text, start, stop - start)
            if column == columns - 2:
                out.groups[row] = name_digest(text, at, start - at)
                out.haplotypes[row, 0], out.haplotypes[row, 1] = start, stop
                out.haplotypes[row, 2] = name_digest(text, start, stop - start)
            start = stop + 1
        out.values[row], is_sound = read_decimal(text, start, end)
        if not is_sound:
            return row, at
        row += 1
        at = min(end + 1, np.int64(text.size))
    return row, at


@njit
def best_of_groups(values: NDArray[np.float64], offsets: NDArray[np.int64], out: Best) -> None:
    """Find the best two of `values`, float64, of each group; `offsets` are int64[groups + 1]."""
    for group in range(out.best.size):
        for row in range(offsets[group], offsets[group + 1]):
            _consider(values[row], row, group, out)


@njit
def _consider(value: float, row: Integer, group: Integer, out: Best) -> None:
    if not np.isfinite(value):
        return
    if out.rows[group] < 0 or value > out.best[group]:
        out.second[group], out.best[group], out.rows[group] = out.best[group], value, row
    elif not value <= out.second[group]:  # NaN, too
        out.second[group] = value


@njit
def parse_matrix(
    data: NDArray[np.uint8], names: int, rows: NDArray[np.int64], out: Best
) -> tuple[Integer, Integer, Integer]:
    """Parse lines of a matrix, up to the first malformed line.

    Parameters
    ----------
    data
        uint8: whole lines.
    names
        Number of columns that name the read, separated by tabs; 0 for text batches, whose lines
        hold numbers separated by blanks.
    rows
        int64[2]: of a text batch, the number of reads whose lines follow, which is updated, and
        the number of haplotypes; of other matrices, any number and the number of haplotypes.
    out
        A row per read.

    Returns
    -------
    tuple of int
        Number of reads, number of lines, and the offset after them.
    """
    text = memory_of(data)
    at, row, line = np.int64(0), np.int64(0), np.int64(0)
    separator = _TAB if names else _BLANK
    while at < text.size:
        end = at
        while end < text.size and read_u8(text, end) != _NEWLINE:
            end += 1
        if not names and rows[0] == 0:
            if not _read_shape(text, at, end, rows):
                return row, line, at
        else:
            start = at
            for column in range(names + rows[1]):
                stop = start
                while stop < end and read_u8(text, stop) != separator:
                    stop += 1
                if column >= names:
                    value, is_sound = read_decimal(text, start, stop)
                    if not is_sound:
                        return row, line, at
                    _consider(value, column - names, row, out)
                start = stop + 1
            if start != end + 1:
                return row, line, at
            row += 1
            rows[0] -= 1
        line += 1
        at = min(end + 1, np.int64(text.size))
    return row, line, at


@njit
def _read_shape(text: Memory, at: Integer, end: Integer, rows: NDArray[np.int64]) -> bool:
    """Read the line `R H` before the rows of a text batch; return whether it is well-formed."""
    which = 0
    rows[:] = 0
    for k in range(at, end):
        if read_u8(text, k) == _BLANK and which == 0 and k > at:
            which = 1
        elif _ZERO <= read_u8(text, k) <= _NINE and rows[which] < 10**9:
            rows[which] = 10 * rows[which] + (read_u8(text, k) - _ZERO)
        else:
            return False
    return bool(which == 1 and rows[1] > 0)

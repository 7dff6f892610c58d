"""Columns of text, joined row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import copy_bytes
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.io.text.numbers import put_integer
from hapgpu.runtime.jit import njit

_MAX_NUMBER_TEXT = len(str(-(2**63)))


def repeated(text: str, count: int) -> Ragged:
    """Return `count` rows of the same text."""
    data = np.tile(np.frombuffer(text.encode("ascii"), dtype=np.uint8), count)
    return Ragged(data, np.arange(count + 1, dtype=np.int64) * len(text))


def number_text(numbers: NDArray[np.int64]) -> Ragged:
    """Return numbers as rows of decimal text."""
    data = np.empty(_MAX_NUMBER_TEXT * numbers.size, dtype=np.uint8)
    offsets = np.zeros(numbers.size + 1, dtype=np.int64)
    _write_numbers(numbers, data, offsets)
    return Ragged(data[: offsets[-1]], offsets)


def side_by_side(columns: Sequence[Ragged]) -> Ragged:
    """Join at least one column of uint8 row by row; all have the same number of rows."""
    offsets = offsets_of(np.sum([column.lengths for column in columns], axis=0))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    ends = offsets[:-1].copy()
    for column in columns:
        _append_rows(view_of(column), data, ends)
    return Ragged(data, offsets)


def spread(column: Ragged, rows: NDArray[np.bool_]) -> Ragged:
    """Return a column with the given rows where a mask is set, and empty rows elsewhere."""
    lengths = np.zeros(rows.size, dtype=np.int64)
    lengths[rows] = column.lengths
    return Ragged.from_lengths(column.data, lengths)


@njit
def _write_numbers(
    numbers: NDArray[np.int64], out: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> None:
    for row in range(numbers.size):
        offsets[row + 1] = put_integer(out, offsets[row], numbers[row])


@njit
def _append_rows(rows: RaggedView, out: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
    """Append each row at its end offset, and advance the offset."""
    for row in range(ends.size):
        length = rows.offsets[row + 1] - rows.offsets[row]
        copy_bytes(rows.data, rows.offsets[row], out, ends[row], length)
        ends[row] += length

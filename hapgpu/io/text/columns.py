"""Columns of text, joined row by row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer, copy_bytes
from hapgpu.arrays.memory import Memory, memory_of
from hapgpu.arrays.ragged import Ragged, offsets_of
from hapgpu.arrays.ragged_view import RaggedView, view_of
from hapgpu.io.text.builder import built_text, put_bytes, put_integer
from hapgpu.runtime.jit import njit, njit_inlined

_NUMBER_TEXT: Final = 12
"""Characters of a number, expected."""


def repeated(text: str, count: int) -> Ragged:
    """Return `count` rows, uint8, of the same text."""
    data = np.tile(np.frombuffer(text.encode("ascii"), dtype=np.uint8), count)
    return Ragged(data, np.arange(count + 1, dtype=np.int64) * len(text))


def number_text(numbers: NDArray[np.int64]) -> Ragged:
    """Return uint8 rows: `numbers`, int64[n], as decimal text."""
    offsets = np.zeros(numbers.size + 1, dtype=np.int64)
    write = partial(_write_numbers, numbers, offsets)
    return Ragged(built_text(write, _NUMBER_TEXT * numbers.size), offsets)


def side_by_side(columns: Sequence[Ragged]) -> Ragged:
    """Return `columns`, uint8, joined row by row.

    There is at least one, and all have the same number of rows.
    """
    offsets = offsets_of(np.sum([column.lengths for column in columns], axis=0))
    data = np.empty(int(offsets[-1]), dtype=np.uint8)
    ends = offsets[:-1].copy()
    for column in columns:
        _append_rows(view_of(column), data, ends)
    return Ragged(data, offsets)


def spread(column: Ragged, rows: NDArray[np.bool_]) -> Ragged:
    """Return `column`, of any dtype, with its rows where a mask is set, and empty rows elsewhere.

    The mask is `rows`, bool[n].
    """
    lengths = np.zeros(rows.size, dtype=np.int64)
    lengths[rows] = column.lengths
    return Ragged.from_lengths(column.data, lengths)


@njit_inlined
def put_row(text: Memory, at: Integer, rows: RaggedView, row: Integer) -> Integer:
    """Write a row of `rows`, uint8; see `hapgpu.io.text.builder`."""
    start = rows.offsets[row]
    return put_bytes(text, at, memory_of(rows.data), start, rows.offsets[row + 1] - start)


@njit
def _write_numbers(
    numbers: NDArray[np.int64], offsets: NDArray[np.int64], out: NDArray[np.uint8]
) -> Integer:
    """Write numbers and the end of each; return the end of all."""
    text = memory_of(out)
    at: Integer = np.int64(0)
    for row in range(numbers.size):
        at = put_integer(text, at, numbers[row])
        offsets[row + 1] = at
    return at


@njit
def _append_rows(rows: RaggedView, out: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
    """Append each row at its end offset, and advance the offset."""
    for row in range(ends.size):
        length = rows.offsets[row + 1] - rows.offsets[row]
        copy_bytes(rows.data, rows.offsets[row], out, ends[row], length)
        ends[row] += length

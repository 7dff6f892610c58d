"""Views of a Ragged for compiled functions, and a binary search."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray, Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.runtime.jit import njit, njit_inlined

Columns = TypeVar("Columns", bound=NamedTuple)
Item = TypeVar("Item", bound=np.generic)


class RaggedView(NamedTuple):
    """The columns of a `Ragged`, read-only."""

    data: AnyArray
    offsets: NDArray[np.int64]


def read_only(array: NDArray[Item]) -> NDArray[Item]:
    """Return `array`, of any dtype, read-only, so that functions are compiled for one type only."""
    view = array.view()
    view.flags.writeable = False
    return view


def view_of(ragged: Ragged) -> RaggedView:
    """Return `ragged`, of any dtype, for compiled code, read-only."""
    return RaggedView(read_only(ragged.data), read_only(ragged.offsets))


def columns_of(kind: type[Columns], batch: object) -> Columns:
    """View the columns of a batch that a NamedTuple names, read-only, for compiled code.

    Arrays are viewed as by `read_only`, Raggeds as by `view_of`; numbers stay as they are.
    """
    return kind(*[_viewed(getattr(batch, name)) for name in kind._fields])


def _viewed(column: object) -> Any:
    if isinstance(column, np.ndarray):
        return read_only(column)
    return view_of(column) if isinstance(column, Ragged) else column


@njit
def row_of(rows: RaggedView, row: int) -> AnyArray:
    """Return one of `rows`, of any dtype, sharing memory."""
    return rows.data[rows.offsets[row] : rows.offsets[row + 1]]


@njit
def longest_row(rows: RaggedView) -> int:
    """Return the length of the longest of `rows`, of any dtype; 0 without rows."""
    longest = 0
    for row in range(rows.offsets.size - 1):
        length = rows.offsets[row + 1] - rows.offsets[row]
        longest = max(longest, length)
    return longest


@njit
def with_room(out: NDArray[Item], needed: int) -> NDArray[Item]:
    """Return `out`, of any dtype, or a larger copy if it has fewer than `needed` elements."""
    if needed <= out.size:
        return out
    larger = np.empty(max(needed, 2 * out.size), dtype=out.dtype)
    for k in range(out.size):  # a slice would take four times as long to compile
        larger[k] = out[k]
    return larger


@njit_inlined
def last_at_most(values: NDArray[np.int64], count: Integer, value: Integer) -> Integer:
    """Return the index of the last of `count` ascending `values`, int64, at most `value`; or -1."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1

"""Ragged arrays: rows of different lengths, end to end in one array."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import AnyArray
from hapgpu.arrays.memory import copy_memory, memory_of
from hapgpu.runtime.jit import njit

_SHOWN_ROWS, _SHOWN_VALUES = 4, 16


@njit
def _copy_rows(
    data: AnyArray,
    starts: NDArray[np.int64],
    out: AnyArray,
    out_offsets: NDArray[np.int64],
) -> None:
    # Numba tests each index for a negative one, so it would copy items one by one.
    source, target = memory_of(data), memory_of(out)
    item = data.itemsize
    for row in range(starts.shape[0]):
        start, to = np.int64(starts[row]), out_offsets[row]
        length = out_offsets[row + 1] - to
        if length > 0:  # an empty row may start anywhere
            copy_memory(target, item * to, source, item * start, item * length)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Ragged:
    """Rows of different lengths, end to end in one array.

    As of a list, `rows[k]` is a row, `rows[2:5]` is a Ragged of some rows, and a loop yields the
    rows, which are views of `data`.

    Attributes
    ----------
    data
        Any dtype, shape [offsets[-1]].
    offsets
        int64[n + 1], from 0, never decreasing; row i is `data[offsets[i]:offsets[i + 1]]`.
    """

    data: AnyArray
    offsets: NDArray[np.int64]

    @classmethod
    def from_sequences(cls, sequences: Iterable[bytes | str]) -> Ragged:
        """Store sequences (text as ASCII) end to end as uint8."""
        rows = [s.encode("ascii") if isinstance(s, str) else bytes(s) for s in sequences]
        data = np.frombuffer(b"".join(rows), dtype=np.uint8)
        return cls(data, offsets_of([len(row) for row in rows]))

    @classmethod
    def from_names(cls, names: Sequence[str]) -> Ragged:
        """Store names end to end as uint8: UTF-8, with the bytes that are not."""
        text = "".join(names)
        if not text.isascii():
            return cls.from_sequences(name.encode("utf-8", "surrogateescape") for name in names)
        return cls.from_lengths(np.frombuffer(text.encode(), dtype=np.uint8), [*map(len, names)])

    @classmethod
    def from_lengths(cls, data: AnyArray, lengths: AnyArray | Sequence[int]) -> Ragged:
        """Return `data`, of any dtype, cut into rows of `lengths`, any integer dtype[n] or bool[n].

        The sum of the lengths is the size of `data`.
        """
        return cls(data, offsets_of(lengths))

    @classmethod
    def gather(cls, data: AnyArray, starts: AnyArray, lengths: AnyArray) -> Ragged:
        """Copy rows end to end from anywhere in `data`, of any dtype.

        `starts` and `lengths`, of any integer dtype, have shape [n].

        Returns
        -------
        Ragged
            n rows of any dtype, the dtype of `data`.
        """
        offsets = offsets_of(lengths)
        rows = np.empty(int(offsets[-1]), dtype=data.dtype)
        # Only the size of an item matters for a copy: one compiled function per size.
        word = np.dtype(f"u{data.itemsize}")
        words = np.ascontiguousarray(data).view(word)
        words.flags.writeable = False
        _copy_rows(words, starts, rows.view(word), offsets)
        return cls(rows, offsets)

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        """Return `parts`, of any dtype but all of one, end to end; there is at least one."""
        data = np.concatenate([part.data for part in parts])
        return cls(data, offsets_of(np.concatenate([part.lengths for part in parts])))

    def __len__(self) -> int:
        return self.offsets.size - 1

    @overload
    def __getitem__(self, row: SupportsIndex) -> AnyArray: ...

    @overload
    def __getitem__(self, row: slice) -> Ragged: ...

    def __getitem__(self, row: SupportsIndex | slice) -> AnyArray | Ragged:
        """Return a row, or some rows as those of a list; rows side by side share memory."""
        if isinstance(row, slice):
            return self._rows(range(*row.indices(len(self))))
        number = operator.index(row)
        if not -len(self) <= number < len(self):
            message = f"row {number} of {len(self)}"
            raise IndexError(message)
        number %= len(self)
        return self.data[self.offsets[number] : self.offsets[number + 1]]

    def _rows(self, rows: range) -> Ragged:
        if rows.step != 1:
            return self.take(np.arange(rows.start, rows.stop, rows.step))
        offsets = self.offsets[rows.start : rows.start + len(rows) + 1]
        return Ragged(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])

    def __iter__(self) -> Iterator[AnyArray]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        shown = ", ".join(_shown(row) for row in self[:_SHOWN_ROWS])
        rest = ", ..." if len(self) > _SHOWN_ROWS else ""
        return f"Ragged({len(self)} rows of {self.data.dtype}: [{shown}{rest}])"

    def to_list(self) -> list[list[Any]]:
        """Return the rows as lists of Python numbers."""
        numbers = self.data.tolist()
        return [numbers[start:end] for start, end in pairwise(self.offsets.tolist())]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[n]: the length of each row."""
        return lengths_of(self.offsets)

    def lengths_of(self, rows: AnyArray) -> NDArray[np.int64]:
        """Return int64[r]: the lengths of `rows`, any integer dtype[r], which may repeat."""
        lengths: NDArray[np.int64]
        if rows.size >= len(self):  # one pass over all rows, and one gather instead of two
            lengths = self.lengths[rows]
        else:
            lengths = self.offsets[rows + 1] - self.offsets[rows]
        return lengths

    def take(self, rows: AnyArray) -> Ragged:
        """Gather `rows`: bool[n] as a mask, or any integer dtype[r] in any order, with repeats.

        All rows in order share memory with this array.

        Returns
        -------
        Ragged
            Rows of any dtype, the dtype of this array.
        """
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        if np.array_equal(rows, np.arange(len(self))):
            return self
        return Ragged.gather(self.data, self.offsets[rows], self.lengths_of(rows))


def row_texts(rows: Ragged) -> list[str]:
    """Return `rows`, uint8 ASCII text, as strings."""
    text = rows.data.tobytes().decode("ascii")
    return [text[start:end] for start, end in pairwise(rows.offsets.tolist())]


def _shown(row: AnyArray) -> str:
    """Return the first values of a row as text."""
    rest = ", ..." if row.size > _SHOWN_VALUES else ""
    return f"[{', '.join(map(str, row[:_SHOWN_VALUES].tolist()))}{rest}]"


def offsets_of(lengths: AnyArray | Sequence[int]) -> NDArray[np.int64]:
    """Return int64[n + 1]: the offsets of rows of `lengths`, any integer dtype[n], end to end."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.asarray(lengths, dtype=np.int64), out=offsets[1:])
    return offsets


def lengths_of(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n]: the lengths of rows with `offsets`, int64[n + 1]; faster than `np.diff`."""
    lengths: NDArray[np.int64] = offsets[1:] - offsets[:-1]
    return lengths

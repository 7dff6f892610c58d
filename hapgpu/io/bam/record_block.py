"""Blocks of BAM records: their bytes, and the layout of their parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.memory import load_i32_at, load_u16_at
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.runtime.jit import njit


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """n checked records anywhere in an array of bytes.

    Attributes
    ----------
    data
        uint8, read-only.
    layout
        Offsets of the records and their parts.
    """

    data: NDArray[np.uint8]
    layout: RecordLayout

    def __len__(self) -> int:
        return self.layout.starts.size

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[n]: bytes of each record, the `block_size` field included."""
        sizes = np.empty(len(self), dtype=np.int64)
        _read_sizes(self.data, self.layout.starts, sizes)
        return sizes

    @property
    def flags(self) -> NDArray[np.uint16]:
        """uint16[n]: flags of the records."""
        flags = np.empty(len(self), dtype=np.uint16)
        _read_flags(self.data, self.layout.starts, flags)
        return flags

    @property
    def sort_keys(self) -> NDArray[np.int64]:
        """int64[n]: keys that sort by contig and position; records without a contig come last."""
        sort_keys = np.empty(len(self), dtype=np.int64)
        _read_sort_keys(self.data, self.layout.starts, sort_keys)
        return sort_keys

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RecordBlock:
        """Select records; the bytes are shared."""
        return RecordBlock(self.data, self.layout.take(rows))

    def packed(self) -> RecordBlock:
        """Return a block whose bytes are its records end to end; itself if it is such a block."""
        sizes = self.sizes
        if sizes.sum() == self.data.size and (np.diff(self.layout.starts) == sizes[:-1]).all():
            return self
        records = Ragged.gather(self.data, self.layout.starts, sizes)
        shifts = records.offsets[:-1] - self.layout.starts
        return RecordBlock(read_only(records.data), self.layout.shifted(shifts))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> RecordBlock:
        """Concatenate at least one block; the bytes are copied."""
        data = np.concatenate([part.data for part in parts])
        starts = np.cumsum([0, *(part.data.size for part in parts)])
        layouts = [
            part.layout.shifted(np.full(len(part), start))
            for part, start in zip(parts, starts[:-1], strict=True)
        ]
        columns = (np.concatenate(column) for column in zip(*layouts, strict=True))
        return RecordBlock(read_only(data), RecordLayout._make(columns))


def with_replaced(
    block: RecordBlock, rows: NDArray[np.int64], replacements: RecordBlock
) -> RecordBlock:
    """Replace the records of `rows`, int64[r], by others."""
    both = RecordBlock.concatenate([block, replacements])
    order = np.arange(len(block))
    order[rows] = len(block) + np.arange(rows.size)
    return replace(both, layout=both.layout.take(order))


@njit
def _read_sizes(data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    for row in range(out.size):
        out[row] = 4 + load_i32_at(data.ctypes.data + starts[row])


@njit
def _read_flags(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.uint16]
) -> None:
    for row in range(out.size):
        out[row] = load_u16_at(data.ctypes.data + starts[row] + 18)


@njit
def _read_sort_keys(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    for row in range(out.size):
        record = data.ctypes.data + starts[row]
        contig = load_i32_at(record + 4) & 0xFFFFFFFF  # -1 becomes the largest
        out[row] = contig << 31 | (load_i32_at(record + 8) + 1) & 0x7FFFFFFF

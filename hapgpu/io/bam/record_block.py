"""Blocks of BAM records: their bytes, and the layout of their parts."""

from __future__ import annotations

from dataclasses import dataclass

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
        return self.copied()

    def copied(self) -> RecordBlock:
        """Return a block with a copy of the records, end to end, and of their layout."""
        records = Ragged.gather(self.data, self.layout.starts, self.sizes)
        layout = RecordLayout._make(column.copy() for column in self.layout)
        shifts = records.offsets[:-1] - layout.starts
        return RecordBlock(read_only(records.data), layout.shifted(shifts))


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

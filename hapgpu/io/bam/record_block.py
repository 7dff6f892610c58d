"""BAM records as they stand in their file, and where their parts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import load_i32, load_u16
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
        Where the records and their parts are.
    """

    data: NDArray[np.uint8]
    layout: RecordLayout

    def __len__(self) -> int:
        return self.layout.starts.size

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[n]: bytes of each record, its `block_size` field among them."""
        sizes = np.empty(len(self), dtype=np.int64)
        _read_sizes(self.data, self.layout.starts, sizes)
        return sizes

    @property
    def flags(self) -> NDArray[np.uint16]:
        """uint16[n]."""
        flags = np.empty(len(self), dtype=np.uint16)
        _read_flags(self.data, self.layout.starts, flags)
        return flags

    @property
    def places(self) -> NDArray[np.int64]:
        """int64[n]: numbers that sort as contig and position do, records without them last."""
        places = np.empty(len(self), dtype=np.int64)
        _read_places(self.data, self.layout.starts, places)
        return places

    def take(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RecordBlock:
        """Choose records, sharing the bytes."""
        return RecordBlock(self.data, self.layout.take(rows))

    def packed(self) -> RecordBlock:
        """Return the records next to each other in bytes of their own; copied, unless they are."""
        sizes = self.sizes
        if sizes.sum() == self.data.size and (np.diff(self.layout.starts) == sizes[:-1]).all():
            return self
        records = Ragged.gather(self.data, self.layout.starts, sizes)
        moved = records.offsets[:-1] - self.layout.starts
        return RecordBlock(read_only(records.data), self.layout.shifted(moved))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> RecordBlock:
        """Put records, of at least one block, behind each other; the bytes are copied."""
        data = np.concatenate([part.data for part in parts])
        begins = np.cumsum([0, *(part.data.size for part in parts)])
        layouts = [
            part.layout.shifted(np.full(len(part), begin))
            for part, begin in zip(parts, begins[:-1], strict=True)
        ]
        columns = (np.concatenate(column) for column in zip(*layouts, strict=True))
        return RecordBlock(read_only(data), RecordLayout._make(columns))


def with_replaced(
    block: RecordBlock, rows: NDArray[np.int64], replacements: RecordBlock
) -> RecordBlock:
    """Put other records, int64[r] rows of the block, in the place of some."""
    both = RecordBlock.concatenate([block, replacements])
    order = np.arange(len(block))
    order[rows] = len(block) + np.arange(rows.size)
    return replace(both, layout=both.layout.take(order))


@njit
def _read_sizes(data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    for row in range(out.size):
        out[row] = 4 + load_i32(data, starts[row])


@njit
def _read_flags(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.uint16]
) -> None:
    for row in range(out.size):
        out[row] = load_u16(data, starts[row] + 18)


@njit
def _read_places(
    data: NDArray[np.uint8], starts: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    for row in range(out.size):
        contig = load_i32(data, starts[row] + 4) & 0xFFFFFFFF  # -1 becomes the largest
        out[row] = contig << 31 | (load_i32(data, starts[row] + 8) + 1) & 0x7FFFFFFF

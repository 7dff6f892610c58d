"""Batches of BAM records in GPU memory: bytes, fixed fields, and layout of the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bgzf.cuda import PADDING


@dataclass(frozen=True, slots=True)
class DeviceRecords:
    """n checked records anywhere in an array of bytes on the current GPU.

    Bases, qualities, names, CIGARs and tags stay in the bytes; a stage copies what it needs.

    Attributes
    ----------
    data
        uint8, with `PADDING` bytes behind the last record.
    layout
        The columns of `RecordLayout`, on the GPU.
    flags
        uint16[n].
    reference_ids, positions
        int32[n].
    mapping_qualities
        uint8[n].
    """

    data: Any
    layout: RecordLayout
    flags: Any
    reference_ids: Any
    positions: Any
    mapping_qualities: Any

    def __len__(self) -> int:
        return int(self.flags.size)

    @classmethod
    def upload(cls, block: RecordBlock) -> DeviceRecords:
        """Copy records to the current GPU."""
        data = cupy.empty(block.data.size + PADDING, dtype=np.uint8)
        data[: block.data.size] = cupy.asarray(block.data)
        data[block.data.size :] = 0
        layout = RecordLayout._make(cupy.asarray(column) for column in block.layout)
        return cls.of(data, layout)

    @classmethod
    def of(cls, data: Any, layout: RecordLayout) -> DeviceRecords:
        """Read the fixed fields of records on the current GPU."""
        at = layout.starts[:, None]

        def field(offset: int, dtype: Any) -> Any:
            width = np.dtype(dtype).itemsize
            return data[at + cupy.arange(offset, offset + width)].view(dtype)[:, 0]

        return cls(
            data,
            layout,
            flags=field(18, np.uint16),
            reference_ids=field(4, np.int32),
            positions=field(8, np.int32),
            mapping_qualities=data[layout.starts + 13],
        )

    def take(self, rows: Any) -> DeviceRecords:
        """Gather records: a mask, or row numbers in any order, on the GPU; the bytes are shared."""
        return DeviceRecords(
            self.data,
            RecordLayout._make(column[rows] for column in self.layout),
            self.flags[rows],
            self.reference_ids[rows],
            self.positions[rows],
            self.mapping_qualities[rows],
        )

    def download(self) -> RecordBlock:
        """Copy records, with all bytes, to host memory."""
        columns: tuple[Any, ...] = self.layout
        layout = RecordLayout._make(column.get() for column in columns)
        return RecordBlock(read_only(self.data.get()), layout)

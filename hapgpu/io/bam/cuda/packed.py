"""Download of records without the bytes between them."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout


def download_records(records: DeviceRecords) -> RecordBlock:
    """Copy records to host memory, end to end, without the bytes between them."""
    layout: Any = records.layout
    size_fields = records.data[layout.starts[:, None] + cupy.arange(4)]
    sizes = size_fields.view(np.int32)[:, 0].astype(np.int64) + 4
    packed = DeviceRagged.gather(records.data, layout.starts, sizes)
    shifts = (packed.offsets[:-1] - layout.starts).get()
    columns = RecordLayout._make(column.get() for column in layout)
    return RecordBlock(read_only(packed.data.get()), columns.shifted(shifts))

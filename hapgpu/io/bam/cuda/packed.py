"""Records without the bytes between them, on a GPU and in host memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.cuda import GATHER_BYTES, offsets_of
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bgzf.cuda import PADDING
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.pool import Pool

_THREADS: Final = 128


def packed_records(records: DeviceRecords) -> DeviceRecords:
    """Copy records end to end, without the bytes between them; waits for the GPU."""
    count, layout = len(records), records.layout
    size_fields = records.data[layout.starts[:, None] + cupy.arange(4)]
    offsets = offsets_of(size_fields.view(np.int32)[:, 0].astype(np.int64) + 4)
    size = int(offsets[-1])
    data = cupy.empty(size + PADDING, dtype=np.uint8)
    data[size:] = 0
    if count:
        arguments = (records.data, layout.starts, offsets, data, records.data.size, size, count)
        launch_threads(GATHER_BYTES, _THREADS, count * WARP, arguments)
    return _moved(records, data, offsets[:-1] - layout.starts)


def joined_records(parts: Sequence[DeviceRecords]) -> DeviceRecords:
    """Join records of which each part is packed, at least one; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    data = cupy.concatenate([part.data for part in parts])
    shifts = np.cumsum([0, *(part.data.size for part in parts[:-1])]).tolist()
    moved = [_moved(part, data, shift) for part, shift in zip(parts, shifts, strict=True)]
    layouts = zip(*(part.layout for part in moved), strict=True)
    return DeviceRecords(
        data,
        RecordLayout._make(cupy.concatenate(columns) for columns in layouts),
        cupy.concatenate([part.flags for part in moved]),
        cupy.concatenate([part.reference_ids for part in moved]),
        cupy.concatenate([part.positions for part in moved]),
        cupy.concatenate([part.mapping_qualities for part in moved]),
    )


def download_records(records: DeviceRecords) -> RecordBlock:
    """Copy records to host memory, end to end, without the bytes between them."""
    return packed_records(records).download()


def download_reads(records: DeviceRecords) -> ReadBatch:
    """Copy a few records to host memory, as columns."""
    with Pool(1) as pool:
        return decode_block(download_records(records), pool)


def _moved(records: DeviceRecords, data: GpuArray, by: GpuArray) -> DeviceRecords:
    """Return records whose bytes were copied to `data`, `by` bytes from where they were."""
    layout = records.layout
    long_cigars = cupy.where(layout.long_cigars < 0, -1, layout.long_cigars + by)
    moved = layout._replace(
        starts=layout.starts + by,
        cigar_starts=layout.cigar_starts + by,
        tag_starts=layout.tag_starts + by,
        long_cigars=long_cigars,
    )
    return DeviceRecords(
        data,
        moved,
        records.flags,
        records.reference_ids,
        records.positions,
        records.mapping_qualities,
    )

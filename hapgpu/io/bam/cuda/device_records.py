"""Batches of BAM records in GPU memory: bytes, fixed fields, and layout of the parts.

Rows are gathered by `cuda/io/bam/take.cu`, without the bytes between them, here and for the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.cuda import GATHER_BYTES, offsets_of
from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.decode import decode_block
from hapgpu.io.bam.record_layout import RecordBlock, RecordLayout
from hapgpu.io.bgzf.cuda import PADDING
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.pool import Pool

_THREADS: Final = 128
_COLUMNS: Final = (
    ("starts", np.int64),
    ("name_lengths", np.int32),
    ("cigar_lengths", np.int32),
    ("base_counts", np.int32),
    ("tag_lengths", np.int32),
    ("cigar_starts", np.int64),
    ("tag_starts", np.int64),
    ("long_cigars", np.int64),
    ("flags", np.uint16),
    ("reference_ids", np.int32),
    ("positions", np.int32),
    ("mapping_qualities", np.uint8),
)
_LAYOUT_COLUMNS: Final = len(RecordLayout._fields)


def records_struct(name: str) -> Struct:
    """Declare `DeviceRecords`."""
    columns = (Array(column, dtype, "count") for column, dtype in _COLUMNS)
    sizes = (Length("size"), Scalar("count", np.int32))
    return Struct(name, (Array("data", np.uint8, "size"), *columns, *sizes))


RECORDS: Final = records_struct("records")
TAKE_RECORDS: Final = Kernel(
    "io/bam/take.cu",
    "take_records",
    (Array("rows", np.int64, "to.count"), records_struct("from"), records_struct("to")),
)
MEASURE_RECORDS: Final = Kernel(
    "io/bam/fields.cu",
    "measure_records",
    (RECORDS, Array("fault", np.int32, "one"), Length("one"), Scalar("contigs", np.int32)),
)


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

    data: GpuArray
    layout: RecordLayout
    flags: GpuArray
    reference_ids: GpuArray
    positions: GpuArray
    mapping_qualities: GpuArray

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
    def of(cls, data: GpuArray, layout: RecordLayout) -> DeviceRecords:
        """Read the fixed fields of records in `data`, uint8 on the current GPU."""
        at = layout.starts[:, None]

        def field(offset: int, dtype: type[np.generic]) -> GpuArray:
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

    def take(self, rows: GpuArray) -> DeviceRecords:
        """Gather records; the bytes are shared.

        `rows`, bool[n] as a mask or int64[r] in any order, is on the GPU; or it is a slice.
        """
        if isinstance(rows, slice):
            return self._with([column[rows] for column in self._columns])
        if rows.dtype == np.bool_:
            rows = cupy.flatnonzero(rows)
        count = int(rows.size)
        taken = self._with([cupy.empty(count, dtype=dtype) for _, dtype in _COLUMNS])
        launch_threads(TAKE_RECORDS, _THREADS, count, (rows, self.fields, taken.fields))
        return taken

    @property
    def fields(self) -> tuple[GpuArray | int, ...]:
        """The fields of `records_struct`: uint8 data, columns, and sizes.

        The columns are those of `layout`, and the others, as in `DeviceRecords`.
        """
        return (self.data, *self._columns, self.data.size, len(self))

    @property
    def _columns(self) -> tuple[GpuArray, ...]:
        fixed = (self.flags, self.reference_ids, self.positions, self.mapping_qualities)
        return (*self.layout, *fixed)

    def _with(self, columns: Sequence[GpuArray]) -> DeviceRecords:
        layout = RecordLayout(*columns[:_LAYOUT_COLUMNS])
        return DeviceRecords(self.data, layout, *columns[_LAYOUT_COLUMNS:])

    def download(self) -> RecordBlock:
        """Copy records, with all bytes, to host memory."""
        columns: tuple[GpuArray, ...] = self.layout
        layout = RecordLayout._make(column.get() for column in columns)
        return RecordBlock(read_only(self.data.get()), layout)


def measured_records(
    data: GpuArray, starts: GpuArray, contigs: int
) -> tuple[DeviceRecords, GpuArray]:
    """Find and check the parts of records, as `record_layout.measure_records` does.

    Does not wait for the stream.

    Parameters
    ----------
    data
        uint8 on the current GPU, with `PADDING` bytes behind the last record.
    starts
        int64[n] on the GPU: where the records start; all are whole.
    contigs
        Number of contigs in the header.

    Returns
    -------
    The records, and int32[1] on the GPU: whether one of them is damaged, so that none may be used.
    """
    records = int(starts.size)
    columns = [cupy.empty(records, dtype=dtype) for _, dtype in _COLUMNS[1:]]
    layout = RecordLayout(starts, *columns[: _LAYOUT_COLUMNS - 1])
    measured = DeviceRecords(data, layout, *columns[_LAYOUT_COLUMNS - 1 :])
    fault = cupy.zeros(1, dtype=np.int32)
    if records:
        load_kernel(MEASURE_RECORDS, cupy.cuda.Device().id).launch(
            -(-records // _THREADS),
            _THREADS,
            (measured.fields, fault, 1, contigs),
        )
    return measured, fault


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

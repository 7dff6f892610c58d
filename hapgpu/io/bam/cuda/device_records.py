"""Batches of BAM records in GPU memory: bytes, fixed fields, and layout of the parts.

Rows are gathered by `cuda/io/bam/take.cu`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.ragged_view import read_only
from hapgpu.io.bam.record_block import RecordBlock
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.io.bgzf.cuda import PADDING
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

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

TAKE_RECORDS: Final = Kernel(
    "io/bam/take.cu",
    "take_records",
    (
        Array("rows", np.int64, "count"),
        *(Array(name, dtype, "records") for name, dtype in _COLUMNS),
        *(Array(f"out_{name}", dtype, "count") for name, dtype in _COLUMNS),
        Scalar("count", np.int32),
        Scalar("records", np.int32),
    ),
)
_LENGTHS = ("name_lengths", "cigar_lengths", "base_counts", "tag_lengths")
_OFFSETS = ("cigar_starts", "tag_starts", "long_cigars")
_FIELDS = (
    ("flags", np.uint16),
    ("reference_ids", np.int32),
    ("positions", np.int32),
    ("mapping_qualities", np.uint8),
)

MEASURE_RECORDS: Final = Kernel(
    "io/bam/fields.cu",
    "measure_records",
    (
        Array("data", np.uint8, "size"),
        Array("starts", np.int64, "records"),
        *(Array(name, np.int32, "records") for name in _LENGTHS),
        *(Array(name, np.int64, "records") for name in _OFFSETS),
        *(Array(name, dtype, "records") for name, dtype in _FIELDS),
        Array("fault", np.int32, "one"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("contigs", np.int32),
        Scalar("one", np.int32),
    ),
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
        """Read the fixed fields of records on the current GPU."""
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

        `rows` is a slice, or on the GPU a mask or int64 row numbers in any order.
        """
        if isinstance(rows, slice):
            return self._with([column[rows] for column in self._columns])
        if rows.dtype == np.bool_:
            rows = cupy.flatnonzero(rows)
        count = int(rows.size)
        columns = [cupy.empty(count, dtype=dtype) for _, dtype in _COLUMNS]
        arguments = (rows, *self._columns, *columns, count, len(self))
        launch_threads(TAKE_RECORDS, _THREADS, count, arguments)
        return self._with(columns)

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
    lengths = [cupy.empty(records, dtype=np.int32) for _ in _LENGTHS]
    offsets = [cupy.empty(records, dtype=np.int64) for _ in _OFFSETS]
    fields = {name: cupy.empty(records, dtype=dtype) for name, dtype in _FIELDS}
    fault = cupy.zeros(1, dtype=np.int32)
    arrays = (data, starts, *lengths, *offsets, *fields.values(), fault)
    if records:
        load_kernel(MEASURE_RECORDS, cupy.cuda.Device().id).launch(
            -(-records // _THREADS),
            _THREADS,
            (*arrays, data.size, records, contigs, 1),
        )
    return DeviceRecords(data, RecordLayout(starts, *lengths, *offsets), **fields), fault

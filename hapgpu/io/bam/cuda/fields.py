"""Layout and fixed fields of BAM records on a GPU, checked (`cuda/io/bam/fields.cu`)."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.record_layout import RecordLayout
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

_THREADS: Final = 128
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


def measure_records(data: Any, starts: Any, contigs: int) -> tuple[DeviceRecords, Any]:
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

"""CIGARs of records and their lengths on a GPU (`cuda/cigar/encoding.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.cigar.encoding import SKIP
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

_RECORD_CIGARS: Final = (
    Array("data", np.uint8, "size"),
    Array("starts", np.int64, "count"),
    Array("sizes", np.int32, "count"),
)
COPY_CIGARS: Final = Kernel(
    "cigar/encoding.cu",
    "copy_cigars",
    (
        *_RECORD_CIGARS,
        Array("offsets", np.int64, "count", 1),
        Array("out", np.uint32, "elements"),
        Scalar("size", np.int64),
        Scalar("count", np.int32),
        Scalar("elements", np.int64),
    ),
)
RECORD_LENGTHS: Final = Kernel(
    "cigar/encoding.cu",
    "record_lengths",
    (
        *_RECORD_CIGARS,
        Array("lengths", np.int64, "count"),
        Scalar("size", np.int64),
        Scalar("count", np.int32),
        Scalar("operations", np.int32),
    ),
)
REFERENCE_LENGTHS: Final = Kernel(
    "cigar/encoding.cu",
    "reference_lengths",
    (
        Array("cigars", np.uint32, "elements"),
        Array("offsets", np.int64, "count", 1),
        Array("lengths", np.int64, "count"),
        Scalar("elements", np.int64),
        Scalar("count", np.int32),
    ),
)


def cigars_of(records: DeviceRecords) -> DeviceRagged:
    """Copy the CIGARs of records, uint32 in BAM encoding, on the current GPU; waits for it."""
    layout = records.layout
    offsets = offsets_of(layout.cigar_lengths)
    count, elements = len(records), int(offsets[-1])
    out = cupy.empty(elements, dtype=np.uint32)
    cigars = (records.data, layout.cigar_starts, layout.cigar_lengths)
    arguments = (*cigars, offsets, out, records.data.size, count, elements)
    launch_threads(COPY_CIGARS, _THREADS, count * WARP, arguments)
    return DeviceRagged(out, offsets)


def record_reference_lengths(records: DeviceRecords) -> GpuArray:
    """Return int64[n]: bases of the reference that the CIGAR of each record spans."""
    return _record_lengths(records, REFERENCE_OPERATIONS)


def record_skipped_lengths(records: DeviceRecords) -> GpuArray:
    """Return int64[n]: bases of the reference that the CIGAR of each record skips (`N`)."""
    return _record_lengths(records, 1 << SKIP)


def reference_lengths(cigars: DeviceRagged) -> GpuArray:
    """Return int64[n]: bases of the reference that each CIGAR spans."""
    count = len(cigars)
    lengths = cupy.empty(count, dtype=np.int64)
    arguments = (cigars.data, cigars.offsets, lengths, cigars.data.size, count)
    launch_threads(REFERENCE_LENGTHS, _THREADS, count, arguments)
    return lengths


def _record_lengths(records: DeviceRecords, operations: int) -> GpuArray:
    """Return int64[n]: the sum of the lengths of some operations, a bit each."""
    layout = records.layout
    count = len(records)
    lengths = cupy.empty(count, dtype=np.int64)
    cigars = (records.data, layout.cigar_starts, layout.cigar_lengths)
    arguments = (*cigars, lengths, records.data.size, count, operations)
    launch_threads(RECORD_LENGTHS, _THREADS, count, arguments)
    return lengths

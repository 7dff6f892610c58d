"""Bases of BAM records on a GPU, in one orientation or in both (`cuda/realign/queries.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

UNPACK_QUERIES: Final = Kernel(
    "realign/queries.cu",
    "unpack_queries",
    (
        Array("data", np.uint8, "size"),
        Array("base_starts", np.int64, "n_reads"),
        Array("reads", np.int64, "queries"),
        Array("offsets", np.int64, "queries", 1),
        Scalar("size", np.int64),
        Scalar("n_reads", np.int32),
        Scalar("queries", np.int32),
        Scalar("total", np.int64),
        Array("out", np.uint8, "total"),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceQueries:
    """The n reads as stored in the BAM, then the reversed reads, as in `Queries`, on a GPU.

    Attributes
    ----------
    bases
        uint8 text; reverse-complemented in the rows from n on.
    reads
        int64: the read of each row.
    reversed_row
        int64[n], the row of the reversed read; -1 for a read with one orientation.
    has_reversed
        Whether any read has two orientations.
    """

    bases: DeviceRagged
    reads: GpuArray
    reversed_row: GpuArray
    has_reversed: bool


def device_queries(records: DeviceRecords) -> DeviceQueries:
    """Return mapped reads in the orientation of the BAM, unmapped reads in both.

    Parameters
    ----------
    records
        n records on the current GPU; their bases are copied.
    """
    count = len(records)
    reads = cupy.arange(count)
    reversed_row = cupy.full(count, -1, dtype=np.int64)
    unmapped = cupy.flatnonzero(records.flags & UNMAPPED)
    if unmapped.size:
        reversed_row[unmapped] = count + cupy.arange(unmapped.size)
        reads = cupy.concatenate([reads, unmapped])
    base_counts = records.layout.base_counts
    # The bases are followed by as many qualities, and these by the tags.
    base_starts = records.layout.tag_starts - base_counts - (base_counts + 1) // 2
    offsets = offsets_of(base_counts[reads])
    total = int(offsets[-1])
    bases = cupy.empty(total, dtype=np.uint8)
    if total:
        arguments = (
            records.data,
            base_starts,
            reads,
            offsets,
            records.data.size,
            count,
            reads.size,
            total,
            bases,
        )
        launch_threads(UNPACK_QUERIES, _THREADS, reads.size * WARP, arguments)
    return DeviceQueries(DeviceRagged(bases, offsets), reads, reversed_row, unmapped.size > 0)

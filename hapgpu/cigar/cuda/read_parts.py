"""Reads clipped to intervals on a GPU (`cuda/cigar/read_parts.cu`).

Same as `hapgpu/cigar/read_parts.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import cupy
import numpy as np

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

CLIP_READS: Final = Kernel(
    "cigar/read_parts.cu",
    "clip_reads",
    (
        Array("data", np.uint8, "size"),
        Array("positions", np.int32, "reads"),
        Array("base_counts", np.int32, "reads"),
        Array("cigar_starts", np.int64, "reads"),
        Array("cigar_sizes", np.int32, "reads"),
        Array("rows", np.int64, "count"),
        Array("starts", np.int64, "count"),
        Array("ends", np.int64, "count"),
        Array("part_starts", np.int64, "count"),
        Array("part_ends", np.int64, "count"),
        Scalar("size", np.int64),
        Scalar("reads", np.int32),
        Scalar("count", np.int32),
    ),
)
MEASURE_LONGEST_PARTS: Final = Kernel(
    "cigar/read_parts.cu",
    "measure_longest_parts",
    (
        Array("rows", np.int64, "count"),
        Array("starts", np.int64, "count"),
        Array("ends", np.int64, "count"),
        Array("longest", np.int32, "reads"),
        Scalar("count", np.int32),
        Scalar("reads", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceReadParts:
    """The columns of `ReadParts` on the current GPU: p parts of reads.

    Attributes
    ----------
    reads
        int64[p]: rows of the records.
    starts, ends
        int64[p]: range of bases of the read, 0-based, half-open.
    """

    reads: GpuArray
    starts: GpuArray
    ends: GpuArray

    @classmethod
    def whole(cls, records: DeviceRecords, rows: GpuArray) -> Self:
        """Return all bases of each of the reads `rows`, int64[p]."""
        starts = cupy.zeros(rows.size, dtype=np.int64)
        return cls(rows, starts, records.layout.base_counts[rows].astype(np.int64))

    def __len__(self) -> int:
        return int(self.reads.size)

    @property
    def lengths(self) -> GpuArray:
        """int64[p]: the number of bases of each part."""
        return self.ends - self.starts

    def take(self, rows: GpuArray) -> DeviceReadParts:
        """Select parts by mask, bool[p], or by number."""
        return DeviceReadParts(self.reads[rows], self.starts[rows], self.ends[rows])

    def with_all_bases_of(self, records: DeviceRecords, rows: GpuArray) -> DeviceReadParts:
        """Extend the parts of a mask, bool[p], to whole reads."""
        starts = cupy.where(rows, 0, self.starts)
        lengths = records.layout.base_counts[self.reads].astype(np.int64)
        return DeviceReadParts(self.reads, starts, cupy.where(rows, lengths, self.ends))

    def longest_of_reads(self, reads: int) -> GpuArray:
        """Return int32[p]: the bases of the longest part of the same read; there are n `reads`."""
        longest = cupy.zeros(reads, dtype=np.int32)
        arguments = (self.reads, self.starts, self.ends, longest, len(self), reads)
        launch_threads(MEASURE_LONGEST_PARTS, _THREADS, len(self), arguments)
        return longest[self.reads]


def clipped_parts(
    records: DeviceRecords, rows: GpuArray, starts: GpuArray, ends: GpuArray
) -> DeviceReadParts:
    """Clip reads to intervals of the contigs that they are aligned to, on the current GPU.

    Parameters
    ----------
    records
        n reads with positions.
    rows
        int64[p]: reads to clip, in any order, repeats allowed.
    starts, ends
        int64[p]: the interval of each, 0-based, half-open.

    Returns
    -------
    p parts, in order, as `hapgpu.cigar.read_parts.clipped_parts` clips them.
    """
    count = int(rows.size)
    parts = DeviceReadParts(rows, *(cupy.empty(count, dtype=np.int64) for _ in range(2)))
    layout = records.layout
    reads = (
        records.data,
        records.positions,
        layout.base_counts,
        layout.cigar_starts,
        layout.cigar_lengths,
    )
    intervals = (rows, starts, ends, parts.starts, parts.ends)
    sizes = (records.data.size, len(records), count)
    launch_threads(CLIP_READS, _THREADS, count, (*reads, *intervals, *sizes))
    return parts

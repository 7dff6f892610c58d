"""Filters of reads and their overlaps with loci, on a GPU (`cuda/genotyping/reads/filters.cu`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import cupy
import numpy as np

from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_COUNTS: Final = 5
_STATUS_ROWS: Final = 8
_NOTHING: Final = np.iinfo(np.uint64).max

FILTER_READS: Final = Kernel(
    "genotyping/reads/filters.cu",
    "filter_reads",
    (
        Array("data", np.uint8, "size"),
        Array("cigar_starts", np.int64, "records"),
        Array("cigar_lengths", np.int32, "records"),
        Array("base_counts", np.int32, "records"),
        Array("flags", np.uint16, "records"),
        Array("reference_ids", np.int32, "records"),
        Array("positions", np.int32, "records"),
        Array("mapping_qualities", np.uint8, "records"),
        Array("wanted_starts", np.int64, "wanted"),
        Array("wanted_max_ends", np.int64, "wanted"),
        Array("counted_starts", np.int64, "counted"),
        Array("counted_max_ends", np.int64, "counted"),
        Array("starts", np.int64, "records"),
        Array("ends", np.int64, "records"),
        Array("kept", np.uint8, "records"),
        Array("status", np.uint64, "rows"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("wanted", np.int32),
        Scalar("counted", np.int32),
        Scalar("rows", np.int32),
        Scalar("last_key", np.int64),
        Scalar("needed_from", np.int64),
        Scalar("exclude_flags", np.int32),
        Scalar("min_mapping_quality", np.int32),
    ),
)
MARK_READS: Final = Kernel(
    "genotyping/reads/filters.cu",
    "mark_reads",
    (
        Array("starts", np.int64, "reads"),
        Array("ends", np.int64, "reads"),
        Array("wanted_starts", np.int64, "wanted"),
        Array("wanted_max_ends", np.int64, "wanted"),
        Array("marks", np.uint8, "reads"),
        Scalar("reads", np.int32),
        Scalar("wanted", np.int32),
    ),
)


@dataclass(frozen=True, slots=True)
class DeviceLocusIntervals:
    """k intervals of keys on the current GPU (see `read_buffer`).

    Attributes
    ----------
    starts
        int64[k], ascending.
    max_ends
        int64[k], the largest end up to each interval.
    """

    starts: GpuArray
    max_ends: GpuArray

    def overlapped(self, starts: GpuArray, ends: GpuArray) -> GpuArray:
        """Return bool[n]: which reads overlap any interval, by the keys of their own."""
        marks = cupy.empty(starts.size, dtype=np.uint8)
        arguments = (starts, ends, self.starts, self.max_ends, marks, starts.size, self.starts.size)
        launch_threads(MARK_READS, _THREADS, int(starts.size), arguments)
        return marks.view(np.bool_)


@dataclass(frozen=True, slots=True)
class FilteredReads:
    """n records, at least one, after the filter.

    Attributes
    ----------
    rows
        int64[r] on the GPU: the records to keep.
    starts, ends
        int64[n] on the GPU: the keys of the intervals that the records are aligned to.
    last_key
        Key of the last record.
    max_end
        Largest end of the kept reads; 0 for none.
    unsorted_row
        The first record before the record before it, or None.
    """

    rows: GpuArray
    starts: GpuArray
    ends: GpuArray
    last_key: int
    max_end: int
    unsorted_row: int | None


def filtered_reads(
    records: DeviceRecords,
    read_filter: ReadFilter,
    wanted: DeviceLocusIntervals,
    counted: DeviceLocusIntervals,
    last_key: int,
    needed_from: int,
) -> FilteredReads:
    """Filter at least one record as `ReadFilter.keeps`, on the current GPU, and wait for it.

    Parameters
    ----------
    records
        Records in the order of an input.
    read_filter
        The filter, whose counts grow unless the records are not sorted.
    wanted
        Reads that overlap none of these intervals are neither kept nor counted; without
        intervals, all reads are counted.
    counted
        Reads that overlap one of these were counted before.
    last_key
        Key of the record before.
    needed_from
        Reads that end up to this key are not kept.
    """
    count, layout = len(records), records.layout
    starts, ends = (cupy.empty(count, dtype=np.int64) for _ in range(2))
    kept = cupy.empty(count, dtype=np.uint8)
    status = cupy.zeros(_STATUS_ROWS, dtype=np.uint64)
    status[_COUNTS] = _NOTHING
    fields = (records.flags, records.reference_ids, records.positions)
    arguments = (
        records.data,
        layout.cigar_starts,
        layout.cigar_lengths,
        layout.base_counts,
        *fields,
        records.mapping_qualities,
        wanted.starts,
        wanted.max_ends,
        counted.starts,
        counted.max_ends,
        starts,
        ends,
        kept,
        status,
        records.data.size,
        count,
        wanted.starts.size,
        counted.starts.size,
        _STATUS_ROWS,
        last_key,
        needed_from,
        read_filter.options.exclude_flags,
        read_filter.options.min_mapping_quality,
    )
    launch_threads(FILTER_READS, _THREADS, count, arguments)
    rows = cupy.flatnonzero(kept)
    *counts, unsorted_row, last, max_end = status.get().tolist()
    is_unsorted = unsorted_row != _NOTHING
    if not is_unsorted:
        read_filter.add(dict(zip(read_filter.counts, counts, strict=True)))
    return FilteredReads(rows, starts, ends, last, max_end, unsorted_row if is_unsorted else None)

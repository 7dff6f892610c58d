"""Buffer of the sorted reads of one input in GPU memory, and their filters.

The kernels are in `cuda/genotyping/filters.cu`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.genotyping.reads.read_buffer import SortedBuffer, key_of
from hapgpu.io.bam.cuda.device_records import (
    RECORDS,
    DeviceRecords,
    download_reads,
    packed_records,
)
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.gpu.context import retried
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128
_COUNTS: Final = 5
_STATUS_ROWS: Final = 8
_NOTHING: Final = np.iinfo(np.uint64).max


def _intervals(name: str) -> Struct:
    """Declare `DeviceLocusIntervals`."""
    columns = (Array("starts", np.int64, "count"), Array("max_ends", np.int64, "count"))
    return Struct(name, (*columns, Scalar("count", np.int32)))


FILTER_READS: Final = Kernel(
    "genotyping/filters.cu",
    "filter_reads",
    (
        *(RECORDS, _intervals("wanted"), _intervals("counted")),
        Struct(
            "filter",
            (
                *(Scalar("last_key", np.int64), Scalar("needed_from", np.int64)),
                *(Scalar("exclude_flags", np.int32), Scalar("min_mapping_quality", np.int32)),
            ),
        ),
        Struct(
            "filtered",
            (
                Array("starts", np.int64, "records.count"),
                Array("ends", np.int64, "records.count"),
                Array("kept", np.uint8, "records.count"),
            ),
        ),
        *(Array("status", np.uint64, "rows"), Length("rows")),
    ),
)
MARK_READS: Final = Kernel(
    "genotyping/filters.cu",
    "mark_reads",
    (
        *(Array("starts", np.int64, "reads"), Array("ends", np.int64, "reads")),
        *(_intervals("wanted"), Array("marks", np.uint8, "reads"), Scalar("reads", np.int32)),
    ),
)

DeviceSamplesOf = Callable[[DeviceRecords], GpuArray]
"""Function that returns the sample of each read, int32[n] on the current GPU."""


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

    @property
    def fields(self) -> tuple[KernelArgument, ...]:
        """The arguments of a kernel that takes the intervals as a struct."""
        return self.starts, self.max_ends, self.starts.size

    def overlapped(self, starts: GpuArray, ends: GpuArray) -> GpuArray:
        """Return bool[n]: which reads overlap any interval.

        `starts` and `ends`, int64[n], are keys of the reads.
        """
        marks = cupy.empty(starts.size, dtype=np.uint8)
        arguments = (starts, ends, self.fields, marks, starts.size)
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
    count = len(records)
    starts, ends = (cupy.empty(count, dtype=np.int64) for _ in range(2))
    kept = cupy.empty(count, dtype=np.uint8)
    status = cupy.zeros(_STATUS_ROWS, dtype=np.uint64)
    status[_COUNTS] = _NOTHING
    options = read_filter.options
    limits = (last_key, needed_from, options.exclude_flags, options.min_mapping_quality)
    arguments = (
        *(records.fields, wanted.fields, counted.fields),
        *(limits, (starts, ends, kept), status, _STATUS_ROWS),
    )
    launch_threads(FILTER_READS, _THREADS, count, arguments)
    rows = cupy.flatnonzero(kept)
    *counts, unsorted_row, last, max_end = status.get().tolist()
    is_unsorted = unsorted_row != _NOTHING
    if not is_unsorted:
        read_filter.add(dict(zip(read_filter.counts, counts, strict=True)))
    return FilteredReads(rows, starts, ends, last, max_end, unsorted_row if is_unsorted else None)


@dataclass(frozen=True, slots=True)
class DeviceBufferedReads:
    """n reads sorted by position, at least one.

    Attributes
    ----------
    records
        The reads, packed.
    samples
        int32[n], the sample of each read.
    starts, ends
        int64[n], keys of the interval that each read is aligned to.
    max_end
        The largest end.
    """

    records: DeviceRecords
    samples: GpuArray
    starts: GpuArray
    ends: GpuArray
    max_end: int

    def overlapping(self, intervals: DeviceLocusIntervals) -> DeviceBufferedReads | None:
        """Return the reads that overlap any of k intervals, packed; None if there are none."""
        rows = cupy.flatnonzero(intervals.overlapped(self.starts, self.ends))
        if not rows.size:
            return None
        if rows.size == len(self.records):
            return self
        records = packed_records(self.records.take(rows))
        starts, ends = self.starts[rows], self.ends[rows]
        return DeviceBufferedReads(records, self.samples[rows], starts, ends, self.max_end)

    def ending_after(self, key: int) -> DeviceBufferedReads | None:
        """Return all reads if one of them ends after a key; None otherwise."""
        return self if self.max_end > key else None


class DeviceReadBuffer(SortedBuffer[DeviceBufferedReads]):
    """Buffer of reads on the current GPU, which are dropped and released batch by batch.

    Parameters
    ----------
    source
        Open source, at its first piece.
    name, contig
        As in `SortedBuffer`.
    read_filter
        Filter of the reads.
    samples_of
        Function that returns the sample of each read.
    wanted
        Intervals of the contig: other reads are neither kept nor counted; without intervals, all
        reads are.
    counted
        Sorted intervals of the contig: reads that overlap one were counted before.
    """

    def __init__(
        self,
        source: DeviceReads,
        name: str,
        read_filter: ReadFilter,
        samples_of: DeviceSamplesOf,
        contig: int,
        wanted: LocusIntervals,
        counted: LocusIntervals,
    ) -> None:
        super().__init__(source.header, name, contig)
        self._source = source
        self._pieces: Iterator[DevicePiece] = source.pieces()
        self._filter = read_filter
        self._samples_of = samples_of
        self._wanted = retried(partial(_on_device, contig, wanted.sorted()))
        self._counted = retried(partial(_on_device, contig, counted))

    @property
    def bases(self) -> int:
        """Size of the buffered reads: a base takes a byte and a half of a record, and more."""
        return sum(int(part.records.data.size) for part in self._buffered) // 2

    def _next(self) -> tuple[int, DeviceBufferedReads | None] | None:
        piece = next(self._pieces, None)
        if piece is None:
            return None
        records = self._source.records(piece)
        del piece
        if not len(records):
            return self._last, None
        found = retried(partial(self._filtered, records))
        if found.unsorted_row is not None:
            raise self._unsorted(records, found, found.unsorted_row)
        part = retried(partial(self._kept, records, found)) if found.rows.size else None
        return found.last_key, part

    def at(
        self, starts: NDArray[np.int64], max_ends: NDArray[np.int64]
    ) -> list[DeviceBufferedReads]:
        """Return the reads that overlap any of k intervals, as `ReadBuffer.at`."""
        base = key_of(self._contig, 0)
        wanted = DeviceLocusIntervals(cupy.asarray(base + starts), cupy.asarray(base + max_ends))
        found = (part.overlapping(wanted) for part in self._buffered)
        return [part for part in found if part is not None]

    def _filtered(self, records: DeviceRecords) -> FilteredReads:
        intervals = (self._wanted, self._counted)
        return filtered_reads(records, self._filter, *intervals, self._last, self._needed_from)

    def _kept(self, records: DeviceRecords, found: FilteredReads) -> DeviceBufferedReads:
        rows = found.rows
        kept = packed_records(records.take(rows))
        starts, ends = found.starts[rows], found.ends[rows]
        return DeviceBufferedReads(kept, self._samples_of(kept), starts, ends, found.max_end)

    def _unsorted(self, records: DeviceRecords, found: FilteredReads, row: int) -> InputError:
        name = download_reads(records.take(slice(row, row + 1))).names[0]
        before = int(found.starts[row - 1]) if row else self._last
        return self._not_sorted(name, int(found.starts[row]), before)


def _on_device(contig: int, intervals: LocusIntervals) -> DeviceLocusIntervals:
    """Copy sorted intervals of a contig to the current GPU, as keys."""
    base = key_of(contig, 0)
    starts = base + intervals.starts
    max_ends = base + intervals.max_ends if starts.size else starts
    return DeviceLocusIntervals(cupy.asarray(starts), cupy.asarray(max_ends))

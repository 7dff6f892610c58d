"""Buffer of the sorted reads of one input in GPU memory: the CUDA counterpart of `read_buffer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.errors import InputError
from hapgpu.genotyping.reads.cuda.filters import DeviceLocusIntervals, FilteredReads, filtered_reads
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.genotyping.reads.read_buffer import SortedBuffer, key_of
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.packed import download_reads, packed_records
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.gpu.context import retried
from hapgpu.runtime.gpu_array import GpuArray

DeviceSamplesOf = Callable[[DeviceRecords], GpuArray]
"""Function that returns the sample of each read, int32[n] on the current GPU."""


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

"""Buffer of the sorted reads of one input in GPU memory: the CUDA counterpart of `read_buffer`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.filters_cuda import DeviceIntervals, FilteredReads, filtered_reads
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.genotyping.reads.read_buffer import (
    END_KEY,
    check_contig_order,
    key_of,
    not_sorted,
)
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.packed import download_reads, packed_records
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.gpu.context import retried

DeviceSamplesOf = Callable[[DeviceRecords], Any]
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
    samples: Any
    starts: Any
    ends: Any
    max_end: int

    def overlapping(self, intervals: DeviceIntervals) -> DeviceBufferedReads | None:
        """Return the reads that overlap any of k intervals, packed; None if there are none."""
        rows = cupy.flatnonzero(intervals.overlapped(self.starts, self.ends))
        if not rows.size:
            return None
        if rows.size == len(self.records):
            return self
        records = packed_records(self.records.take(rows))
        starts, ends = self.starts[rows], self.ends[rows]
        return DeviceBufferedReads(records, self.samples[rows], starts, ends, self.max_end)


class DeviceReadBuffer:
    """Buffer of reads, contig by contig, read as far as requested, on the current GPU.

    Parameters
    ----------
    source
        Open source, at its first piece.
    name
        Name of the input, for messages.
    read_filter
        Filter of the reads.
    samples_of
        Function that returns the sample of each read.
    contig
        Number of the first contig needed, in the header.
    wanted
        Intervals of this contig: other reads are neither kept nor counted; without intervals, all
        reads are.
    counted
        Sorted intervals of this contig: reads that overlap one were counted before.
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
        self._source = source
        self._pieces: Iterator[DevicePiece] = source.pieces()
        self._name = name
        self._filter = read_filter
        self._samples_of = samples_of
        self._contig = contig
        self._wanted = retried(partial(_on_device, contig, wanted.sorted()))
        self._counted = retried(partial(_on_device, contig, counted))
        self._needed_from = key_of(contig, 0)
        self._last = 0
        self._buffered: list[DeviceBufferedReads] = []
        self._released: list[DeviceBufferedReads] = []

    @property
    def frontier(self) -> int:
        """Position on the contig: all reads that start before it have been read."""
        return self._last - key_of(self._contig, 0)

    @property
    def bases(self) -> int:
        """Size of the buffered reads: a base takes a byte and a half of a record, and more."""
        return sum(int(part.records.data.size) for part in self._buffered) // 2

    def move_to(self, contig: int) -> None:
        """Move to a contig, by its number in the header, and drop the reads before it.

        Released reads come back.

        Raises
        ------
        InputError
            The contig is before the current one.
        """
        check_contig_order(self._source.header, self._name, self._contig, contig)
        self._contig = contig
        self._buffered[:0] = self._released
        self._released = []
        self.drop_before(0)

    def release(self, position: int) -> None:
        """Drop reads as `ReadBuffer.release`, batch by batch."""
        key = key_of(self._contig, position)
        self._released += [part for part in self._buffered if part.max_end > key]
        self._buffered = []

    def drop_before(self, position: int) -> None:
        """Drop reads that end before a position of the contig, batch by batch."""
        self._needed_from = max(self._needed_from, key_of(self._contig, position))
        self._buffered = [part for part in self._buffered if part.max_end > self._needed_from]

    def read_on(self) -> None:
        """Read the next piece; at the end of the input, the frontier moves after all contigs.

        Raises
        ------
        InputError
            The reads are not sorted, or the input is damaged.
        """
        piece = next(self._pieces, None)
        if piece is None:
            self._last = END_KEY
            return
        records = self._source.records(piece)
        del piece
        if len(records):
            found = retried(partial(self._filtered, records))
            if found.unsorted_row is not None:
                raise self._not_sorted(records, found)
            self._last = found.last_key
            if found.rows.size:
                self._buffered.append(retried(partial(self._kept, records, found)))

    def at(
        self, starts: NDArray[np.int64], max_ends: NDArray[np.int64]
    ) -> list[DeviceBufferedReads]:
        """Return the reads that overlap any of k intervals, as `ReadBuffer.at`."""
        base = key_of(self._contig, 0)
        wanted = DeviceIntervals(cupy.asarray(base + starts), cupy.asarray(base + max_ends))
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

    def _not_sorted(self, records: DeviceRecords, found: FilteredReads) -> Exception:
        row = found.unsorted_row or 0
        name = download_reads(records.take(slice(row, row + 1))).names[0]
        before = int(found.starts[row - 1]) if row else self._last
        key = int(found.starts[row])
        return not_sorted(self._source.header, self._name, name, key, before)


def _on_device(contig: int, intervals: LocusIntervals) -> DeviceIntervals:
    """Copy sorted intervals of a contig to the current GPU, as keys."""
    base = key_of(contig, 0)
    starts = base + intervals.starts
    max_ends = base + intervals.max_ends if starts.size else starts
    return DeviceIntervals(cupy.asarray(starts), cupy.asarray(max_ends))

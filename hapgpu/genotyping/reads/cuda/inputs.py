"""Inputs of aligned reads in GPU memory: the CUDA counterpart of `inputs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from hapgpu.genotyping.reads.cuda.read_buffer import DeviceReadBuffer, DeviceSamplesOf
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.inputs import (
    IndexedInput,
    ReadingOptions,
    contig_of,
    stream_name,
    without_alignments,
)
from hapgpu.genotyping.reads.locus_groups import NO_INTERVALS, LocusGroup, LocusIntervals
from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.cuda.reader import DeviceReads
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.runtime.devices import CudaDevice

_PIECE_BYTES: Final = 32 << 20
_MAX_GAP: Final = 1 << 14
"""Loci with a shorter gap are read as one region: a bin of an index is as long."""


class DeviceIndexedInput:
    """BAM or CRAM file, opened again for each group."""

    is_indexed = True

    def __init__(self, path: str, reading: ReadingOptions, devices: Sequence[CudaDevice]) -> None:
        host = IndexedInput(path, reading)  # checks the file and its index
        self.name, self.header = host.name, host.header
        self._reading = reading
        self._devices = devices

    @contextmanager
    def at(
        self, group: LocusGroup, read_filter: ReadFilter, samples_of: DeviceSamplesOf
    ) -> Iterator[DeviceReadBuffer]:
        """Open the file; see `AlignedInput`."""
        contig = contig_of(self, group.contig)
        wanted = group.intervals()
        with open_device_reads(
            self.name,
            self._devices,
            threads=self._reading.threads,
            piece_bytes=_PIECE_BYTES,
            reference=self._reading.reference,
            regions=RegionChoice(_joined_regions(group.contig, wanted.sorted())),
            max_record=self._reading.max_record,
        ) as source:
            if not isinstance(source, DeviceReads):
                raise without_alignments(self.name)
            yield DeviceReadBuffer(
                source, self.name, read_filter, samples_of, contig, wanted, group.counted
            )

    def close(self) -> None:
        """Do nothing: the file is closed after each group."""


class DeviceStreamedInput:
    """SAM file, pipe or standard input, which is read once, on the first GPU."""

    is_indexed = False

    def __init__(self, path: str, reading: ReadingOptions, devices: Sequence[CudaDevice]) -> None:
        self.name = stream_name(path)
        source = open_device_reads(
            path,
            devices[:1],
            threads=reading.threads,
            reference=reading.reference,
            max_record=reading.max_record,
        )
        if not isinstance(source, DeviceReads):
            source.__exit__(None, None, None)
            raise without_alignments(self.name)
        self._source = source
        self._reads: DeviceReadBuffer | None = None
        self.header = source.header

    @contextmanager
    def at(
        self, group: LocusGroup, read_filter: ReadFilter, samples_of: DeviceSamplesOf
    ) -> Iterator[DeviceReadBuffer]:
        """Continue the stream; see `AlignedInput`."""
        contig = contig_of(self, group.contig)
        if self._reads is None:
            self._reads = DeviceReadBuffer(
                self._source, self.name, read_filter, samples_of, 0, NO_INTERVALS, NO_INTERVALS
            )
        self._reads.move_to(contig)
        yield self._reads

    def close(self) -> None:
        """Close the stream."""
        self._reads = None
        self._source.close()


def _joined_regions(contig: str, intervals: LocusIntervals) -> tuple[Region, ...]:
    """Return sorted intervals as regions, joined where the gap is short."""
    max_ends = intervals.max_ends
    is_first = np.ones(max_ends.size, dtype=np.bool_)
    is_first[1:] = intervals.starts[1:] - max_ends[:-1] > _MAX_GAP
    is_last = np.append(is_first[1:], True)[: is_first.size]
    bounds = zip(intervals.starts[is_first].tolist(), max_ends[is_last].tolist(), strict=True)
    return tuple(Region(contig, start, end) for start, end in bounds)

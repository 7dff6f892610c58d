"""Aligned reads at batches of loci, in GPU memory: the stages of `aligned_reads` and `inputs`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.genotyping.batches import GenotypedLoci, LocusReads
from hapgpu.genotyping.reads.aligned_reads import ReadingStages
from hapgpu.genotyping.reads.cuda.read_buffer import DeviceReadBuffer, DeviceSamplesOf
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.inputs import (
    AlignedInput,
    IndexedInput,
    ReadingOptions,
    contig_of,
    is_indexed,
    stream_name,
    without_alignments,
)
from hapgpu.genotyping.reads.locus_groups import NO_INTERVALS, LocusGroup, LocusIntervals
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.cuda.decoder import no_records
from hapgpu.io.bam.cuda.device_records import DeviceRecords, download_reads, joined_records
from hapgpu.io.bam.cuda.read_groups import DeviceReadGroups
from hapgpu.io.bam.cuda.reader import DeviceReads
from hapgpu.io.bam.read_groups import SampleTable
from hapgpu.io.bam.record_layout import RecordBlock
from hapgpu.io.genome.regions import Region, RegionChoice
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, retried
from hapgpu.runtime.gpu_array import GpuArray

_PIECE_BYTES: Final = 32 << 20
_MAX_GAP: Final = 1 << 14
"""Loci with a shorter gap are read as one region: a bin of an index is as long."""

_HOST_BYTES: Final = 16 << 20
_MEMORY_SHARE: Final = 32
_MAX_BASES: Final = 1 << 27
"""Bases of buffered reads of a batch; above it, loci are yielded as soon as they are complete."""


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
        """Open the file; see `AlignedInput`.

        Raises
        ------
        InputError
            The file has no alignments, or is damaged.
        """
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
    """SAM file, pipe or standard input, which is read once, on the first GPU.

    Raises
    ------
    InputError
        It has no alignments, or is damaged.
    """

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


@dataclass(frozen=True, slots=True)
class DeviceLocusReads:
    """Loci, and the reads that may overlap them, as in `LocusReads`.

    Attributes
    ----------
    batch
        The loci, in host memory.
    records
        n mapped reads with bases, on the contig of the loci.
    samples, files
        int32[n], sample and input of each read.
    """

    batch: LocusBatch
    records: DeviceRecords
    samples: GpuArray
    files: GpuArray

    def slice(self, start: int, end: int) -> DeviceLocusReads:
        """Return the loci start to end, and all reads."""
        batch = self.batch.slice(start, end)
        return DeviceLocusReads(batch, self.records, self.samples, self.files)

    def halves(self) -> list[DeviceLocusReads]:
        """Return both halves of the loci, with all reads; a single locus stays whole."""
        loci = len(self.batch.loci)
        return [self.slice(0, loci // 2), self.slice(loci // 2, loci)] if loci > 1 else [self]

    def host_pieces(self) -> Iterator[LocusReads]:
        """Copy the reads to host memory as columns, about `_HOST_BYTES` of records at a time."""
        count = len(self.records)
        step = max(count * _HOST_BYTES // max(int(self.records.data.size), 1), 1)
        for start in range(0, count, step):
            rows = slice(start, start + step)
            yield LocusReads(
                self.batch,
                download_reads(self.records.take(rows)),
                self.samples[rows].get(),
                self.files[rows].get(),
            )

    def download(self) -> HostLocusReads:
        """Copy packed records to host memory, for another thread or GPU; waits for the GPU."""
        return HostLocusReads(
            self.batch, self.records.download(), self.samples.get(), self.files.get()
        )


@dataclass(frozen=True, slots=True)
class HostLocusReads:
    """The same arrays as `DeviceLocusReads`, in host memory."""

    batch: LocusBatch
    records: RecordBlock
    samples: NDArray[np.int32]
    files: NDArray[np.int32]

    def upload(self) -> DeviceLocusReads:
        """Copy the reads to the current GPU."""
        return DeviceLocusReads(
            self.batch,
            DeviceRecords.upload(self.records),
            cupy.asarray(self.samples),
            cupy.asarray(self.files),
        )


def device_reading(
    devices: Sequence[CudaDevice],
) -> ReadingStages[DeviceReadBuffer, DeviceLocusReads, HostLocusReads]:
    """Return the stages of reading to GPU memory, for at least one GPU.

    Where all inputs are indexed, groups are read in the memory of the GPU that is current on
    iteration. Streams are read on the first GPU, in the thread that iterates over
    `AlignedReads.at`, and their reads at loci are copied to host memory, for any worker.
    """
    read_groups: dict[int, DeviceReadGroups] = {}

    def open_input(path: str, reading: ReadingOptions) -> AlignedInput:
        opened = DeviceIndexedInput if is_indexed(path) else DeviceStreamedInput
        return opened(path, reading, devices)

    def samples_of(table: SampleTable, file: int) -> DeviceSamplesOf:
        return read_groups.setdefault(file, DeviceReadGroups(table.files[file])).samples_of

    memory = min(device.expected_budget() for device in devices)
    return ReadingStages(
        open_input=open_input,
        samples_of=samples_of,
        gather=_gathered,
        host_pieces=DeviceLocusReads.host_pieces,
        hand_over=partial(_downloaded, devices[0]),
        max_bases=min(_MAX_BASES, memory // _MEMORY_SHARE),
        max_batches=1,
    )


def _downloaded(
    device: CudaDevice, found: Iterator[DeviceLocusReads | GenotypedLoci]
) -> Iterator[HostLocusReads | GenotypedLoci]:
    """Yield what is found on a GPU, reads in host memory."""
    while True:
        with active_on(device):
            reads = next(found, None)
            on_host = reads.download() if isinstance(reads, DeviceLocusReads) else reads
            del reads
        if on_host is None:
            return
        yield on_host


def _gathered(
    buffers: list[DeviceReadBuffer], batch: LocusBatch, intervals: LocusIntervals
) -> DeviceLocusReads:
    return retried(partial(_joined, buffers, batch, intervals.sorted()))


def _joined(
    buffers: list[DeviceReadBuffer], batch: LocusBatch, ordered: LocusIntervals
) -> DeviceLocusReads:
    """Join the reads of all buffers that overlap sorted intervals."""
    found = [
        (file, part)
        for file, buffer in enumerate(buffers)
        for part in buffer.at(ordered.starts, ordered.max_ends)
    ]
    if not found:
        nothing = cupy.empty(0, dtype=np.int32)
        return DeviceLocusReads(batch, no_records(), nothing, nothing)
    files = [cupy.full(len(part.records), file, dtype=np.int32) for file, part in found]
    return DeviceLocusReads(
        batch,
        joined_records([part.records for _, part in found]),
        cupy.concatenate([part.samples for _, part in found]),
        cupy.concatenate(files),
    )

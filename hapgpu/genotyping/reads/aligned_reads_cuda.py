"""Aligned reads of all inputs at each batch of loci, in GPU memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.genotyping.batches import LocusReads
from hapgpu.genotyping.device_batches import DeviceLocusReads, HostLocusReads
from hapgpu.genotyping.reads.aligned_reads import DeepLociOf, LocusReader
from hapgpu.genotyping.reads.filters import FilterOptions
from hapgpu.genotyping.reads.inputs import AlignedInput, ReadingOptions, is_indexed
from hapgpu.genotyping.reads.inputs_cuda import DeviceIndexedInput, DeviceStreamedInput
from hapgpu.genotyping.reads.locus_groups import LocusGroup, LocusIntervals
from hapgpu.genotyping.reads.read_buffer_cuda import DeviceReadBuffer, DeviceSamplesOf
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.bam.cuda.decoder import no_records
from hapgpu.io.bam.cuda.packed import joined_records
from hapgpu.io.bam.read_groups.cuda import DeviceReadGroups
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, retried

_MEMORY_SHARE: Final = 32
_MAX_BASES: Final = 1 << 27
"""Bases of buffered reads of a batch; above it, loci are yielded as soon as they are complete."""


class DeviceAlignedReads(LocusReader[DeviceLocusReads | HostLocusReads]):
    """Reads at loci in GPU memory.

    Where all inputs are indexed, groups are read in the memory of the GPU that is current on
    iteration. Streams are read on the first GPU, in the thread that iterates over `at`, and their
    reads at loci are copied to host memory, for any worker.

    Parameters
    ----------
    paths, threads, reference, filters, max_record
        As in `LocusReader`.
    devices
        The GPUs, at least one.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        devices: Sequence[CudaDevice],
        threads: int,
        reference: Path,
        filters: FilterOptions,
        max_record: int = MAX_RECORD,
    ) -> None:
        self._devices = devices
        self._groups: dict[int, DeviceReadGroups] = {}
        memory = min(device.memory_budget() for device in devices)
        super().__init__(
            paths,
            threads=threads,
            reference=reference,
            filters=filters,
            max_bases=min(_MAX_BASES, memory // _MEMORY_SHARE),
            max_batches=1,
            max_record=max_record,
        )

    def _open(self, path: str, reading: ReadingOptions) -> AlignedInput:
        opened = DeviceIndexedInput if is_indexed(path) else DeviceStreamedInput
        return opened(path, reading, self._devices)

    def _samples_of(self, file: int) -> DeviceSamplesOf:
        groups = self._groups.setdefault(file, DeviceReadGroups(self.table.files[file]))
        return groups.samples_of

    def _read(self, group: LocusGroup, deep_loci: DeepLociOf | None) -> Iterator[Any]:
        if self.is_indexed:
            yield from super()._read(group, deep_loci)
            return
        found = super()._read(group, deep_loci)
        while True:
            with active_on(self._devices[0]):
                reads = next(found, None)
                if isinstance(reads, DeviceLocusReads):
                    reads = reads.download()
            if reads is None:
                return
            yield reads

    def _host_pieces(self, found: DeviceLocusReads | HostLocusReads) -> Iterator[LocusReads]:
        if isinstance(found, DeviceLocusReads):
            yield from found.host_pieces()

    def _gathered(
        self, buffers: list[DeviceReadBuffer], batch: LocusBatch, intervals: LocusIntervals
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

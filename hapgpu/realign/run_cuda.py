"""`hapgpu realign` on GPUs: records are decoded, realigned and written in GPU memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar, cast

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.writer import RecordWriter
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DeviceReads
from hapgpu.io.bam.cuda.record_worker import RecordWorker
from hapgpu.io.bam.read_groups.cuda import DeviceReadGroups
from hapgpu.realign.alleles.counts import AlleleCounts
from hapgpu.realign.alleles.table import AlleleTable
from hapgpu.realign.mover import Moved
from hapgpu.realign.mover_cuda import DeviceMover
from hapgpu.realign.moves.move_table import MoveCollector, MoveTable
from hapgpu.realign.moves.moves import Moves
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.realigner_cuda import DeviceRealigner
from hapgpu.realign.records.cuda import finished_records
from hapgpu.realign.resources import FIRST_OF_TWO, Resources
from hapgpu.runtime.devices import CudaDevice, side_by_side
from hapgpu.runtime.gpu.context import download_pinned

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class _Finished:
    """Parts of finished records end to end, uint8 in host memory, and counts of reads."""

    parts: Sequence[NDArray[np.uint8]]
    counts: Mapping[str, int]
    alleles: Sequence[AlleleCounts]

    @classmethod
    def joined(cls, results: Sequence[Self]) -> Self:
        """Join the results of consecutive records."""
        parts = [part for result in results for part in result.parts]
        alleles = [part for result in results for part in result.alleles]
        return cls(parts, _sum(result.counts for result in results), alleles)


class _RecordMaker:
    """Realigns records to haplotypes and writes the new records, on the current GPU."""

    def __init__(
        self,
        haplotypes: HaplotypeSet,
        reads: DeviceReads,
        options: RealignOptions,
        device: CudaDevice,
        source: str,
        groups: DeviceReadGroups | None,
    ) -> None:
        header = reads.header
        self._realigner = DeviceRealigner(haplotypes, header, options, device, source, groups)
        self._contig_names = DeviceRagged.upload(
            Ragged.from_sequences(
                name.encode("utf-8", "surrogateescape") for name in header.reference_names
            )
        )
        self._references = len(haplotypes)

    def __call__(self, records: DeviceRecords) -> _Finished:
        parts, alleles = [], []
        counts: Counter[str] = Counter()
        for piece in self._realigner.pieces(records):
            new = piece.alignments
            data, _ = finished_records(records, new, self._contig_names, self._references)
            parts.append(download_pinned(data))
            counts["reads"] += piece.reads
            counts["records"] += len(new)
            counts["unmapped"] += piece.unmapped
            counts["without_bases"] += piece.without_bases
            if piece.alleles is not None:
                alleles.append(piece.alleles)
        return _Finished(parts, counts, alleles)


def realign_records(
    resources: Resources,
    reads: DeviceReads,
    haplotypes: HaplotypeSet,
    options: RealignOptions,
    source: str,
    writer: RecordWriter,
    *,
    alleles: AlleleTable | None,
) -> None:
    """Write the records of reads in the coordinates of haplotypes; count reads for a table.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged, the output cannot be written, or a GPU fails.
    """
    groups = None if alleles is None else DeviceReadGroups(alleles.groups)

    def prepare(device: CudaDevice) -> Callable[[DeviceRecords], _Finished]:
        return _RecordMaker(haplotypes, reads, options, device, source, groups)

    def write(finished: _Finished) -> int:
        for data in finished.parts:
            writer.write_records(data)
        for name, count in finished.counts.items():
            resources.statistics.count(name, count)
        if alleles is not None:
            alleles.tally.add(AlleleCounts.concatenate(finished.alleles))
        return finished.counts["reads"]

    # A second worker on a GPU is hardly faster, because the kernels fill it, and takes 200 MiB.
    devices = list(dict.fromkeys(_devices(resources)))
    workers = _workers(devices, reads, prepare, _Finished.joined)
    resources.pipe("realign", reads.pieces(), workers, write, source_name=source)


def find_moves(
    resources: Resources,
    reads: DeviceReads,
    placement: Placement,
    options: RealignOptions,
    source: str,
) -> MoveTable:
    """Find the reads that get a new alignment with the reference.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged, temporary files cannot be written, or a GPU fails.
    """
    found = MoveCollector()

    def prepare(device: CudaDevice) -> Callable[[DeviceRecords], Moved]:
        return DeviceMover(placement, reads.header, options, device, source)

    def keep(moved: Moved) -> int:
        found.add(moved.moves)
        for name, count in moved.counts.items():
            resources.statistics.count(name, count)
        return moved.counts["reads"]

    workers = _workers(_devices(resources), reads, prepare, _joined_moves)
    resources.pipe(
        "realign", reads.pieces(), workers, keep, source_name=source, run_pass=FIRST_OF_TWO
    )
    cupy.get_default_pinned_memory_pool().free_all_blocks()  # the second pass needs the memory
    return found.table()


def _workers(
    devices: Sequence[CudaDevice],
    reads: DeviceReads,
    prepare: Callable[[CudaDevice], Callable[[DeviceRecords], _Result]],
    join: Callable[[Sequence[_Result]], _Result],
) -> list[RecordWorker[_Result]]:
    return side_by_side(lambda device: RecordWorker(reads, device, prepare, join), devices)


def _devices(resources: Resources) -> Sequence[CudaDevice]:
    return cast("Sequence[CudaDevice]", resources.workers)


def _joined_moves(results: Sequence[Moved]) -> Moved:
    moves = Moves.concatenate([result.moves for result in results])
    return Moved(moves, _sum(result.counts for result in results))


def _sum(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    """Add the counts of each name."""
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total

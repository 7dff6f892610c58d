"""The two runs of `hapgpu realign`: to haplotypes in one pass, to the reference in two.

To the reference, the first pass reads the records at the loci and finds the reads that move. The
second pass reads and writes all records: moved reads with their new alignments, and their mates,
anywhere in the file, with updated mate fields. Between the passes only the moves are kept: about
100 bytes each, a million of them in memory, the others in temporary files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar

from hapgpu.arrays.batches import ReadBatch, split_batches
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.alt_contigs import AlignedFile, warn_of_alt_contigs
from hapgpu.io.alignments.reader import ReadSelection, ReadSource, open_reads
from hapgpu.io.alignments.record_order import OrderKeeper
from hapgpu.io.alignments.writer import RecordWriter, open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.files.reread import RereadableInput, rereadable
from hapgpu.io.files.text_output import open_text
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import RegionChoice
from hapgpu.realign import cpu
from hapgpu.realign.alleles import AlleleTable
from hapgpu.realign.mover import MoveTask
from hapgpu.realign.projection.move_table import MoveCollector, MoveTable
from hapgpu.realign.projection.moves import Moves
from hapgpu.realign.projection.placement import place_haplotypes
from hapgpu.realign.realigner import Realigned, RealignOptions, RealignTask
from hapgpu.realign.records.rewriter import Rewriter, Rewritten, WrittenReads
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, worker_devices
from hapgpu.runtime.gpu_processes import (
    gpu_processes,
    input_memory,
    opened_workers,
    processes_for,
    release_input_memory,
)
from hapgpu.runtime.output import CountingSink, Output
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics

if TYPE_CHECKING:
    from hapgpu.io.bam.cuda.reader import DevicePiece  # imports CuPy

_PAIRS_PER_BATCH: Final = 400_000  # limits the memory of pairs when reads have many haplotypes
_PIECE_BYTES: Final = 12 << 20  # of a BAM to a GPU; with more, the records take more memory
_MOVES_PIECE_BYTES: Final = 16 << 20  # where only moves come back
_MIN_PIECE_BYTES: Final = 1 << 16
_BATCH_BASES: Final = 2_000_000  # of a batch or block; each thread has one or two
_FIRST_OF_TWO: Final = "pass 1 of 2"
_SECOND_OF_TWO: Final = "pass 2 of 2"
_MAX_REWRITING_THREADS: Final = 8  # to read and rewrite: 35 MiB each

_Batch = TypeVar("_Batch")
_Content = TypeVar("_Content")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Resources:
    """Devices, threads, statistics and progress of a run.

    Attributes
    ----------
    devices
        The devices that compute.
    threads
        CPU threads.
    processes
        Number of processes that they are divided into, if the CPU computes; 1 for threads of the
        run also where there are several GPUs.
    statistics
        Counts and times.
    progress
        Returns the progress display of a pass, which is given in words.
    """

    devices: Sequence[Device]
    threads: int
    processes: int
    statistics: RunStatistics
    progress: Callable[[str], Progress]

    @property
    def gpus(self) -> Sequence[CudaDevice]:
        """The GPUs, one entry per worker; none if the CPU computes."""
        return worker_devices([device for device in self.devices if isinstance(device, CudaDevice)])

    @property
    def cpu_workers(self) -> Sequence[CpuDevice]:
        """The threads of each worker, if the CPU computes."""
        return CpuDevice(self.threads).divided(self.processes)

    @property
    def gpu_processes(self) -> int:
        """Number of processes of workers on GPUs."""
        return gpu_processes(self.gpus, self.processes)

    @property
    def division(self) -> Processes:
        """The processes of the workers."""
        return processes_for(self.devices, self.processes, tallies=[self.statistics])

    @property
    def device(self) -> Device:
        """A GPU, or all threads of the CPU: also where GPUs are for other processes."""
        in_run = self.gpus and self.gpu_processes == 1
        return self.gpus[0] if in_run else CpuDevice(self.threads)

    def opened(
        self, open_worker: Callable[[Device], Callable[[_Batch], _Result]]
    ) -> Sequence[Callable[[_Batch], _Result]]:
        """Return workers for batches in host memory, on the GPUs or on the CPU."""
        if self.gpus:
            return opened_workers(self.gpus, open_worker, self.gpu_processes)
        return [open_worker(device) for device in self.cpu_workers]

    @property
    def io_threads(self) -> int:
        """CPU threads for reading, and for writing."""
        return min(self.threads, MAX_IO_THREADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Path, format and contents of the output.

    Attributes
    ----------
    path
        A file, or `-` for standard output.
    format
        `sam`, `bam` or `cram`; None for the format that the path implies.
    uncompressed
        Whether BAM is written without compression.
    write_index
        Whether to index the file.
    loci_only
        Whether to write only the reads at loci.
    finish_header
        Adds the @PG line of this run to a header.
    alleles_table
        Name of the file for the table of reads per sample and haplotype, if it is wanted.
    """

    path: str
    format: str | None
    uncompressed: bool
    write_index: bool
    loci_only: bool
    finish_header: Callable[[SamHeader], SamHeader]
    alleles_table: str | None = None

    def open(self, header: SamHeader, threads: int, reference: Path) -> RecordWriter:
        """Open the output; `reference` is the FASTA of the contigs, which CRAM needs."""
        return open_writer(
            self.path,
            self.finish_header(header),
            format=self.format,
            threads=threads,
            uncompressed=self.uncompressed,
            reference=reference,
            write_index=self.write_index,
        )


def write_on_haplotypes(
    resources: Resources,
    reads: ReadSelection,
    haplotypes: HaplotypeSet,
    fasta: Path,
    options: RealignOptions,
    output: OutputOptions,
) -> None:
    """Write reads in the coordinates of haplotypes; `fasta` is the FASTA of the haplotypes.

    Raises
    ------
    InputError
        An input cannot be read, or a read has no sample and the table of alleles is wanted.
    OutputError
        The output cannot be written.
    UsageError
        FASTQ input with options that need alignments, or too large a table of alleles.
    """
    unusable = _options_of_alignments(reads, options, output)
    file = RereadableInput(reads.path, reads.path)
    opener = _InputOpener(file, resources, None, reads.max_record, takes_empty=not unusable)
    regions = reads.regions.or_else(haplotypes.loci)
    with opener.open_for_devices(regions, _piece_bytes(haplotypes, options)) as source:
        alleles = None
        if output.alleles_table is not None:
            alleles = AlleleTable(source.header, reads.path, haplotypes)
        if source.is_fastq:
            _refuse(reads, unusable)
            haplotypes = haplotypes.without_loci()
        lengths = haplotypes.sequences.lengths.tolist()
        header = source.header.with_references(haplotypes.names, lengths)
        header = header.with_sort_order("unsorted")
        groups = None if alleles is None else alleles.groups
        task = RealignTask(haplotypes, None, source.header, options, reads.path, groups)
        with ExitStack() as stack:
            writer = stack.enter_context(output.open(header, resources.io_threads, fasta))
            if alleles is not None:
                write_table = stack.enter_context(open_text(output.alleles_table))
            source.realign(task, resources, partial(_write_realigned, writer, alleles))
            writer.finish()
            if alleles is not None:
                alleles.write(write_table, resources.device)
            with leftovers.steady():  # both files get their names when both are complete
                stack.close()


def write_on_reference(
    resources: Resources,
    reads: ReadSelection,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    output: OutputOptions,
) -> None:
    """Write reads in the coordinates of the reference, with new alignments of reads that move.

    Raises
    ------
    InputError
        An input cannot be read.
    OutputError
        The output cannot be written.
    UsageError
        FASTQ input with options that need alignments, or an index for unsorted reads.
    """
    unusable = _options_of_alignments(reads, options, output)
    with rereadable(reads.path) as file:
        opener = _InputOpener(
            file, resources, reference, reads.max_record, takes_empty=not unusable
        )
        loci = reads.regions.or_else(haplotypes.loci)
        with opener.open_for_devices(loci, _MOVES_PIECE_BYTES) as first:
            if first.is_fastq:
                _refuse(reads, unusable)
                task = _task_for_fastq(resources, haplotypes, reference, options, file.name)
                with output.open(task.header, resources.io_threads, reference) as writer:
                    first.realign(task, resources, partial(_write_realigned, writer, None))
                return
            if output.write_index and not first.is_sorted:
                raise UsageError(
                    f"{file.name}: not sorted by its header, but --write-index needs sorted reads;"
                    " run: samtools sort"
                )
            warn_of_alt_contigs([AlignedFile(file.name, file.path, first.header)], reference)
            placement = place_haplotypes(haplotypes, reference, first.header, resources.device)
            found = MoveCollector()
            move_task = MoveTask(placement, first.header, options, file.name)
            first.find_moves(move_task, resources, found.add)
            table = found.table()
        written = WrittenReads()
        with opener.open(
            RegionChoice(haplotypes.loci) if output.loci_only else reads.regions,
            min(resources.threads, _MAX_REWRITING_THREADS),
        ) as source:
            if output.loci_only:
                intervals = Intervals.from_choice(reads.regions, source.header, file.name)
                written = WrittenReads(intervals, options.require_flags, options.exclude_flags)
            with output.open(source.header, resources.threads, reference) as writer:
                _rewrite(resources, source, table, written, writer, file.name)


def _write_realigned(
    writer: RecordWriter, alleles: AlleleTable | None, realigned: Realigned
) -> None:
    for records in realigned.records:
        if isinstance(records, ReadBatch):
            writer.write(records)
        else:
            writer.write_records(records)
    if alleles is not None:
        for counts in realigned.alleles:
            alleles.tally.add(counts)


def _task_for_fastq(
    resources: Resources,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    name: str,
) -> RealignTask:
    """Place the haplotypes for reads without alignments and without a header."""
    with ReferenceFasta(reference) as fasta:
        header = SamHeader.from_references(tuple(fasta.lengths), tuple(fasta.lengths.values()))
    placement = place_haplotypes(haplotypes, reference, header, resources.device)
    return RealignTask(placement.haplotypes.without_loci(), placement, header, options, name)


def _rewrite(
    resources: Resources,
    source: ReadSource,
    table: MoveTable,
    written: WrittenReads,
    writer: RecordWriter,
    name: str,
) -> None:
    """Run the second pass."""
    statistics = resources.statistics
    order = OrderKeeper(table.max_left_shift, name) if source.is_sorted else None

    def write(block: Rewritten) -> int:
        parts = order.put(block.old, block.after) if order is not None else [block.after.bytes]
        for records in parts:
            writer.write_records(records)
        statistics.add({"records": len(block.after), "changed_records": block.changed})
        return len(block.after)

    rewriter = Rewriter(table, source.header, written, name, is_sorted=order is not None)
    # The threads that read a block rewrite it, while its bytes are in their caches.
    run_pipeline(
        statistics.timed_source("read", source.converted(statistics.timed("rewrite", rewriter))),
        [_as_it_is],
        statistics.timed("write", write),
        progress=resources.progress(_SECOND_OF_TWO),
        extent=[name],
        threaded=resources.threads > 1,
    )
    for records in order.rest() if order is not None else []:
        writer.write_records(records)


def _as_it_is(block: Rewritten) -> Rewritten:
    return block


@dataclass(frozen=True, slots=True)
class _Input(Generic[_Batch]):
    """Reads that are open, and the workers for their batches, in host memory or on GPUs."""

    header: SamHeader
    is_fastq: bool
    is_sorted: bool
    batches: Callable[[HaplotypeSet], Iterator[_Batch]]
    realign_workers: Callable[[RealignTask], Sequence[Callable[[_Batch], Output[Realigned]]]]
    move_workers: Callable[[MoveTask], Sequence[Callable[[_Batch], Output[Moves]]]]
    processes: Processes

    def realign(
        self, task: RealignTask, resources: Resources, write: Callable[[Realigned], None]
    ) -> None:
        """Realign all reads, and write them."""
        workers = self.realign_workers(task)
        self._pipe(self.batches(task.haplotypes), workers, write, resources, task.source)

    def find_moves(
        self, task: MoveTask, resources: Resources, keep: Callable[[Moves], None]
    ) -> None:
        """Run the first pass: find the reads that get a new alignment with the reference."""
        workers, batches = self.move_workers(task), self.batches(task.placement.haplotypes)
        self._pipe(batches, workers, keep, resources, task.source, _FIRST_OF_TWO)

    def _pipe(
        self,
        batches: Iterable[_Batch],
        workers: Sequence[Callable[[_Batch], Output[_Content]]],
        write: Callable[[_Content], None],
        resources: Resources,
        name: str,
        run_pass: str = "",
    ) -> None:
        """Send batches through the workers, write and count the results, and time the steps."""
        statistics = resources.statistics
        run_pipeline(
            statistics.timed_source("read", batches),
            [statistics.timed("realign", worker) for worker in workers],
            statistics.timed("write", CountingSink(write, statistics)),
            progress=resources.progress(run_pass),
            extent=[name],
            threaded=len(workers) > 1,
            processes=self.processes,
        )


_Opened: TypeAlias = "_Input[ReadBatch] | _Input[DevicePiece]"


@dataclass(frozen=True, slots=True)
class _InputOpener:
    """An input that can be opened several times; `reference` is the FASTA that CRAM needs.

    With `takes_empty`, an empty input has no reads.
    """

    file: RereadableInput
    resources: Resources
    reference: Path | None
    max_record: int
    takes_empty: bool

    def open(self, regions: RegionChoice, threads: int | None = None) -> ReadSource:
        return open_reads(
            self.file.path,
            threads=threads or self.resources.io_threads,
            batch_bases=_BATCH_BASES,
            reference=self.reference,
            regions=regions,
            needs_index=self.reference is None,
            name=self.file.name,
            max_record=self.max_record,
            takes_empty=self.takes_empty,
        )

    @contextmanager
    def open_for_devices(self, regions: RegionChoice, piece_bytes: int) -> Iterator[_Opened]:
        """Open the input in GPU memory, if GPUs compute and it is not FASTQ."""
        gpus, processes = self.resources.gpus, self.resources.gpu_processes
        if not gpus:
            with self.open(regions) as source:
                yield self._in_host_memory(source)
            return
        from hapgpu.io.alignments.cuda import open_device_reads  # noqa: PLC0415  (imports CuPy)
        from hapgpu.io.bam.cuda.reader import DeviceReads  # noqa: PLC0415  (imports CuPy)
        from hapgpu.realign import cuda  # noqa: PLC0415  (imports CuPy)

        with open_device_reads(
            self.file.path,
            gpus,
            threads=self.resources.threads,
            piece_bytes=piece_bytes,
            reference=self.reference,
            regions=regions,
            needs_index=self.reference is None,
            name=self.file.name,
            max_record=self.max_record,
            takes_empty=self.takes_empty,
            allocate=input_memory(processes),
        ) as reads:
            if not isinstance(reads, DeviceReads):
                yield self._in_host_memory(reads)
                return
            yield _Input(
                reads.header,
                reads.is_fastq,
                reads.is_sorted,
                lambda _haplotypes: reads.pieces(),
                partial(cuda.realign_workers, reads, gpus, processes),
                partial(cuda.move_workers, reads, gpus, processes),
                self.resources.division,
            )
        release_input_memory(processes)  # a second pass needs the memory

    def _in_host_memory(self, source: ReadSource) -> _Input[ReadBatch]:
        resources = self.resources
        return _Input(
            source.header,
            source.is_fastq,
            source.is_sorted,
            lambda haplotypes: split_batches(
                source.batches(), max(1, _PAIRS_PER_BATCH // haplotypes.max_candidates)
            ),
            lambda task: resources.opened(partial(cpu.open_realigner, task)),
            lambda task: resources.opened(partial(cpu.open_mover, task)),
            resources.division,
        )


def _piece_bytes(haplotypes: HaplotypeSet, options: RealignOptions) -> int:
    """Return the bytes of a BAM to realign at a time; less where a read has many records."""
    if not options.write_all:
        return _PIECE_BYTES
    return max(_PIECE_BYTES // haplotypes.max_candidates, _MIN_PIECE_BYTES)


def _options_of_alignments(
    reads: ReadSelection, options: RealignOptions, output: OutputOptions
) -> list[str]:
    """Return the options that are given and need alignments."""
    given = {
        "-r and -L": not reads.regions.is_everything,
        "--loci-only": output.loci_only,
        "--always": options.always,
        "--write-index": output.write_index,
    }
    return [name for name, is_given in given.items() if is_given]


def _refuse(reads: ReadSelection, options: Sequence[str]) -> None:
    """Raise an error for options that FASTQ cannot have."""
    for name in options:
        raise UsageError(f"{reads.path}: FASTQ has no alignments; drop {name}")

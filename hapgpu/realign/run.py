"""The two runs of `hapgpu realign`: to haplotypes in one pass, to the reference in two.

To the reference, the first pass reads the records at the loci and finds the reads that move. The
second pass reads and writes all records: moved reads with their new alignments, and their mates,
anywhere in the file, with updated mate fields. Between the passes only the moves are kept: about
100 bytes each, a million of them in memory, the others in temporary files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.read_selection import ReadSelection
from hapgpu.io.alignments.reader import ReadSource, open_reads
from hapgpu.io.alignments.record_order import OrderKeeper
from hapgpu.io.alignments.writer import RecordWriter
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.bam.read_groups.samples import ReadGroups
from hapgpu.io.files.reread import RereadableInput, rereadable
from hapgpu.io.files.text_output import open_text
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import RegionChoice
from hapgpu.realign.alleles.table import AlleleTable
from hapgpu.realign.mover import Moved, Mover
from hapgpu.realign.moves.move_table import MoveCollector, MoveTable
from hapgpu.realign.projection.placement import Placement, place_haplotypes
from hapgpu.realign.realigner import Realigned, Realigner, RealignOptions
from hapgpu.realign.resources import FIRST_OF_TWO, OutputOptions, Resources
from hapgpu.realign.rewriting.rewriter import Rewriter, Rewritten, WrittenReads
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CudaDevice, Device
from hapgpu.runtime.pipeline import run_pipeline

if TYPE_CHECKING:
    from hapgpu.io.bam.cuda.reader import DeviceReads  # imports CuPy

_PAIRS_PER_BATCH: Final = 400_000  # limits the memory of pairs when reads have many haplotypes
_PIECE_BYTES: Final = 12 << 20  # of a BAM to a GPU; with more, the records take more memory
_MOVES_PIECE_BYTES: Final = 16 << 20  # where only moves come back
_MIN_PIECE_BYTES: Final = 1 << 16
_BATCH_BASES: Final = 2_000_000  # of a batch or block; each thread has one or two
_SECOND_OF_TWO: Final = "pass 2 of 2"
_MAX_REWRITING_THREADS: Final = 8  # to read and rewrite: 35 MiB each


def realign_to_haplotypes(
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
    regions = reads.regions.or_else(haplotypes.loci)
    opener = _InputOpener(
        RereadableInput(reads.path, reads.path),
        resources,
        None,
        reads.max_record,
        takes_empty=not _options_of_alignments(reads, options, output),
    )
    with opener.open_for_devices(regions, _piece_bytes(haplotypes, options)) as source:
        alleles = None
        if output.alleles_table is not None:
            alleles = AlleleTable(source.header, reads.path, haplotypes)
        if source.is_fastq:
            _check_fastq_options(reads, options, output)
            haplotypes = haplotypes.without_loci()
        lengths = haplotypes.sequences.lengths.tolist()
        header = source.header.with_references(haplotypes.names, lengths)
        header = header.with_sort_order("unsorted")
        with ExitStack() as stack:
            writer = stack.enter_context(output.open(header, resources.io_threads, fasta))
            if alleles is not None:
                write_table = stack.enter_context(open_text(output.alleles_table))
            if resources.is_threaded and not source.is_fastq:
                from hapgpu.realign.run_cuda import realign_records  # noqa: PLC0415  (imports CuPy)

                inputs = cast("DeviceReads", source), haplotypes, options, reads.path
                realign_records(resources, *inputs, writer, alleles=alleles)
            else:
                factory = _RealignerFactory(
                    haplotypes,
                    None,
                    source.header,
                    options,
                    reads.path,
                    None if alleles is None else alleles.groups,
                )
                _realign(resources, cast("ReadSource", source), factory, writer, alleles)
            writer.finish()
            if alleles is not None:
                alleles.write(write_table, resources.workers[0])
            with leftovers.steady():  # both files get their names when both are complete
                stack.close()


def realign_to_reference(
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
    with rereadable(reads.path) as file:
        takes_empty = not _options_of_alignments(reads, options, output)
        opener = _InputOpener(file, resources, reference, reads.max_record, takes_empty)
        loci = reads.regions.or_else(haplotypes.loci)
        with opener.open_for_devices(loci, _MOVES_PIECE_BYTES) as first:
            if first.is_fastq:
                _check_fastq_options(reads, options, output)
                factory = _factory_for_fastq(resources, haplotypes, reference, options, file.name)
                with output.open(factory.header, resources.io_threads, reference) as writer:
                    _realign(resources, cast("ReadSource", first), factory, writer)
                return
            if output.write_index and not first.is_sorted:
                raise UsageError(
                    f"{file.name}: not sorted by its header, but --write-index needs sorted reads;"
                    " run: samtools sort"
                )
            table = _find_moves(resources, first, haplotypes, reference, options, file.name)
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

    def open_for_devices(self, regions: RegionChoice, piece_bytes: int) -> ReadSource | DeviceReads:
        """Open the input in GPU memory, if GPUs compute and it is not FASTQ."""
        if not self.resources.is_threaded:
            return self.open(regions)
        from hapgpu.io.alignments.cuda import open_device_reads  # noqa: PLC0415  (imports CuPy)

        return open_device_reads(
            self.file.path,
            cast("Sequence[CudaDevice]", self.resources.workers),
            threads=self.resources.threads,
            piece_bytes=piece_bytes,
            reference=self.reference,
            regions=regions,
            needs_index=self.reference is None,
            name=self.file.name,
            max_record=self.max_record,
            takes_empty=self.takes_empty,
        )


@dataclass(frozen=True, slots=True)
class _RealignerFactory:
    """Factory of realigners, one per worker."""

    haplotypes: HaplotypeSet
    placement: Placement | None
    header: SamHeader
    options: RealignOptions
    source: str
    groups: ReadGroups | None = None

    def __call__(self, device: Device) -> Realigner:
        return Realigner(
            self.haplotypes,
            self.placement,
            self.header,
            self.options,
            device,
            self.source,
            groups=self.groups,
        )


def _factory_for_fastq(
    resources: Resources,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    name: str,
) -> _RealignerFactory:
    """Place the haplotypes for reads without alignments and without a header."""
    with ReferenceFasta(reference) as fasta:
        header = SamHeader.from_references(tuple(fasta.lengths), tuple(fasta.lengths.values()))
    placement = place_haplotypes(haplotypes, reference, header, resources.workers[0])
    without_loci = placement.haplotypes.without_loci()
    return _RealignerFactory(without_loci, placement, header, options, name)


def _realign(
    resources: Resources,
    source: ReadSource,
    factory: _RealignerFactory,
    writer: RecordWriter,
    alleles: AlleleTable | None = None,
) -> None:
    statistics = resources.statistics

    def write(batch: Realigned) -> int:
        writer.write(batch.records)
        statistics.count("reads", batch.reads)
        statistics.count("records", len(batch.records))
        statistics.count("unmapped", batch.unmapped)
        statistics.count("without_bases", batch.without_bases)
        if alleles is not None and batch.alleles is not None:
            alleles.tally.add(batch.alleles)
        return batch.reads

    realigners = [factory(device) for device in resources.workers]
    batches = _split(source.batches(), factory.haplotypes)
    resources.pipe("realign", batches, realigners, write, source_name=factory.source)


def _find_moves(
    resources: Resources,
    source: ReadSource | DeviceReads,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    name: str,
) -> MoveTable:
    """Run the first pass."""
    placement = place_haplotypes(haplotypes, reference, source.header, resources.workers[0])
    if resources.is_threaded:
        from hapgpu.realign.run_cuda import find_moves  # noqa: PLC0415  (imports CuPy)

        return find_moves(resources, cast("DeviceReads", source), placement, options, name)
    found = MoveCollector()

    def keep(moved: Moved) -> int:
        found.add(moved.moves)
        for count, number in moved.counts.items():
            resources.statistics.count(count, number)
        return moved.counts["reads"]

    movers = [
        Mover(placement, source.header, options, device, name) for device in resources.workers
    ]
    batches = cast("ReadSource", source).batches()
    resources.pipe(
        "realign",
        _split(batches, placement.haplotypes),
        movers,
        keep,
        source_name=name,
        run_pass=FIRST_OF_TWO,
    )
    return found.table()


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
        statistics.count("records", len(block.after))
        statistics.count("changed_records", block.changed)
        return len(block.after)

    rewriter = Rewriter(table, source.header, written, name, is_sorted=order is not None)
    # The threads that read a block rewrite it, while its bytes are in their caches.
    run_pipeline(
        statistics.timed_source("read", source.converted(statistics.timed("rewrite", rewriter))),
        [_as_it_is],
        statistics.timed("write", write),
        progress=resources.progress(_SECOND_OF_TWO),
        inputs=[name],
        threaded=resources.threads > 1,
    )
    for records in order.rest() if order is not None else []:
        writer.write_records(records)


def _as_it_is(block: Rewritten) -> Rewritten:
    return block


def _split(batches: Iterable[ReadBatch], haplotypes: HaplotypeSet) -> Iterator[ReadBatch]:
    size = max(1, _PAIRS_PER_BATCH // haplotypes.max_candidates)
    for batch in batches:
        yield from batch.split(size)


def _piece_bytes(haplotypes: HaplotypeSet, options: RealignOptions) -> int:
    """Return the bytes of a BAM to realign at a time; less where a read has many records."""
    if not options.write_all:
        return _PIECE_BYTES
    return max(_PIECE_BYTES // haplotypes.max_candidates, _MIN_PIECE_BYTES)


def _check_fastq_options(
    reads: ReadSelection, options: RealignOptions, output: OutputOptions
) -> None:
    """Raise an error for options that need alignments."""
    for name in _options_of_alignments(reads, options, output):
        raise UsageError(f"{reads.path}: FASTQ has no alignments; drop {name}")


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

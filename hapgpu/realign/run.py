"""The two runs behind `hapgpu realign`: to haplotypes in one pass, to the reference in two.

To the reference, the first pass reads the records at the loci and finds out which reads move. The
second reads all records and writes them: those of moved reads with their new alignments, those of
their mates, wherever these are, with mate fields that fit. Between the passes only the moves are
kept: about 100 bytes each, a million of them in memory, the others in temporary files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.arrays.batches import ReadBatch
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.alignments.read_selection import ReadSelection
from hapgpu.io.alignments.reader import ReadSource, open_reads
from hapgpu.io.alignments.record_order import OrderKeeper
from hapgpu.io.alignments.writer import RecordWriter
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.overlap import Intervals
from hapgpu.io.files.reread import RereadableInput, rereadable
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.realign.mover import Moved, Mover
from hapgpu.realign.moves.move_table import MoveCollector, MoveTable
from hapgpu.realign.projection.placement import Placement, place_haplotypes
from hapgpu.realign.realigner import Realigned, Realigner, RealignOptions
from hapgpu.realign.resources import OutputOptions, Resources
from hapgpu.realign.rewriting.rewriter import Rewriter, Rewritten, WrittenReads
from hapgpu.runtime.devices import Device
from hapgpu.runtime.pool import Pool

_PAIRS_PER_BATCH: Final = 400_000  # pairs take memory too: batches get smaller with more of them
_REWRITERS: Final = 2  # they wait for the reader: more only take memory


def realign_to_haplotypes(
    resources: Resources,
    reads: ReadSelection,
    haplotypes: HaplotypeSet,
    fasta: Path,
    options: RealignOptions,
    output: OutputOptions,
) -> None:
    """Write reads in the coordinates of the haplotypes, which are those of a FASTA.

    Raises
    ------
    InputError
        An input cannot be read.
    OutputError
        The output cannot be written.
    UsageError
        Reads of FASTQ are to be chosen by regions.
    """
    regions = reads.regions.or_else(haplotypes.loci)
    with open_reads(
        reads.path, threads=resources.io_threads, regions=regions, max_record=reads.max_record
    ) as source:
        if source.is_fastq:
            _refuse_for_fastq(reads, options, output)
            haplotypes = haplotypes.without_loci()
        lengths = [int(length) for length in haplotypes.sequences.lengths]
        header = source.header.with_references(haplotypes.names, lengths)
        make = _RealignerMaker(haplotypes, None, source.header, options, reads.path)
        with output.open(header.with_sort_order("unsorted"), resources.io_threads, fasta) as writer:
            _realign(resources, source, make, writer)


def realign_to_reference(
    resources: Resources,
    reads: ReadSelection,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    output: OutputOptions,
) -> None:
    """Write reads in the coordinates of the reference, those that move with new alignments.

    Raises
    ------
    InputError
        An input cannot be read.
    OutputError
        The output cannot be written.
    UsageError
        Reads of FASTQ are to be chosen by regions, or unsorted ones to be indexed.
    """
    with rereadable(reads.path) as file:
        opener = _Opener(file, resources.io_threads, reference, reads.max_record)
        with opener.open(reads.regions.or_else(haplotypes.loci)) as source:
            if source.is_fastq:
                _refuse_for_fastq(reads, options, output)
                make = _maker_for_fastq(resources, haplotypes, reference, options, file.name)
                with output.open(make.header, resources.io_threads, reference) as writer:
                    _realign(resources, source, make, writer)
                return
            if output.write_index and not source.is_sorted:
                raise UsageError(
                    f"--write-index needs sorted reads, and {file.name} does not say that it is;"
                    " run: samtools sort"
                )
            table = _find_moves(resources, source, haplotypes, reference, options, file.name)
        written = WrittenReads()
        chosen = reads.regions.regions
        regions = haplotypes.loci if output.loci_only else chosen
        with opener.open(regions) as source:
            if output.loci_only:
                given = None
                if chosen is not None:
                    given = Intervals.from_regions(chosen, source.header, file.name)
                written = WrittenReads(given, options.require_flags, options.exclude_flags)
            with output.open(source.header, resources.io_threads, reference) as writer:
                _rewrite(resources, source, table, written, writer, file.name)


@dataclass(frozen=True, slots=True)
class _Opener:
    """Opens an input, as often as needed."""

    file: RereadableInput
    threads: int
    reference: Path
    max_record: int

    def open(self, regions: Sequence[Region] | None) -> ReadSource:
        return open_reads(
            self.file.path,
            threads=self.threads,
            reference=self.reference,
            regions=regions,
            needs_index=False,
            name=self.file.name,
            max_record=self.max_record,
        )


@dataclass(frozen=True, slots=True)
class _RealignerMaker:
    """Makes a realigner for each worker."""

    haplotypes: HaplotypeSet
    placement: Placement | None
    header: SamHeader
    options: RealignOptions
    source: str

    def __call__(self, device: Device) -> Realigner:
        return Realigner(
            self.haplotypes, self.placement, self.header, self.options, device, self.source
        )


def _maker_for_fastq(
    resources: Resources,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    name: str,
) -> _RealignerMaker:
    """Place the haplotypes for reads without alignments, which come with no header."""
    with ReferenceFasta(reference) as fasta:
        header = SamHeader.from_references(tuple(fasta.lengths), tuple(fasta.lengths.values()))
    placement = place_haplotypes(haplotypes, reference, header, resources.workers[0])
    anywhere = placement.haplotypes.without_loci()
    return _RealignerMaker(anywhere, placement, header, options, name)


def _realign(
    resources: Resources, source: ReadSource, make: _RealignerMaker, writer: RecordWriter
) -> None:
    statistics = resources.statistics

    def write(batch: Realigned) -> int:
        writer.write(batch.records)
        statistics.count("reads", batch.reads)
        statistics.count("records", len(batch.records))
        statistics.count("unmapped", batch.unmapped)
        statistics.count("without_bases", batch.without_bases)
        return batch.reads

    realigners = [make(device) for device in resources.workers]
    resources.pipe("realign", _split(source.batches(), make.haplotypes), realigners, write)


def _find_moves(
    resources: Resources,
    source: ReadSource,
    haplotypes: HaplotypeSet,
    reference: Path,
    options: RealignOptions,
    name: str,
) -> MoveTable:
    """Make the first pass."""
    found = MoveCollector()

    def keep(moved: Moved) -> int:
        found.add(moved.moves)
        for what, number in moved.counts.items():
            resources.statistics.count(what, number)
        return moved.counts["reads"]

    placement = place_haplotypes(haplotypes, reference, source.header, resources.workers[0])
    movers = [
        Mover(placement, source.header, options, device, name) for device in resources.workers
    ]
    resources.pipe("realign", _split(source.batches(), placement.haplotypes), movers, keep)
    return found.table()


def _rewrite(
    resources: Resources,
    source: ReadSource,
    table: MoveTable,
    written: WrittenReads,
    writer: RecordWriter,
    name: str,
) -> None:
    """Make the second pass."""
    statistics = resources.statistics
    order = OrderKeeper(table.max_left_shift, name) if source.is_sorted else None

    def write(block: Rewritten) -> int:
        if order is not None:
            writer.write_block(order.put(block.before, block.after))
        else:
            writer.write_block(block.after)
        statistics.count("records", len(block.after))
        statistics.count("changed", block.changed)
        return len(block.after)

    # Side by side with other steps, each lookup has a thread; else one has all of them.
    threads, count = (1, _REWRITERS) if resources.is_threaded else (resources.io_threads, 1)
    with Pool(threads) as pool:
        rewriters = [Rewriter(table, source.header, written, pool, name) for _ in range(count)]
        blocks = (block.packed() for block in source.blocks())
        resources.pipe("rewrite", blocks, rewriters, write)
    if order is not None and (rest := order.rest()) is not None:
        writer.write_block(rest)


def _split(batches: Iterable[ReadBatch], haplotypes: HaplotypeSet) -> Iterator[ReadBatch]:
    size = max(1, _PAIRS_PER_BATCH // haplotypes.max_candidates)
    for batch in batches:
        yield from batch.split(size)


def _refuse_for_fastq(reads: ReadSelection, options: RealignOptions, output: OutputOptions) -> None:
    """Refuse options that need alignments."""
    given = {
        "-r and -L": not reads.regions.is_everything,
        "--loci-only": output.loci_only,
        "--always": options.always,
        "--write-index": output.write_index,
    }
    for name, is_given in given.items():
        if is_given:
            raise UsageError(f"{reads.path}: FASTQ has no alignments; drop {name}")

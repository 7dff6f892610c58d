"""`hapgpu realign`: reads aligned to haplotypes, as GATK HaplotypeCaller does it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

import hapgpu
from hapgpu.cli.messages import set_up_messages
from hapgpu.cli.options import (
    Debug,
    DeviceName,
    ExcludeFlags,
    GpuMemory,
    Json,
    NoPG,
    Output,
    OutputFmt,
    Quiet,
    Regions,
    RequireFlags,
    TargetsFile,
    Threads,
    Uncompressed,
    Verbose,
)
from hapgpu.cli.progress import choose_progress
from hapgpu.cli.run import (
    announce,
    given_regions,
    report,
    split_batches,
    worker_devices,
)
from hapgpu.device import CpuDevice, resolve_devices
from hapgpu.errors import UsageError
from hapgpu.io.fasta import ReferenceFasta
from hapgpu.io.header import SamHeader
from hapgpu.io.pool import MOST_IO_THREADS
from hapgpu.io.reads import ReadSource, open_reads
from hapgpu.io.records import RecordWriter, open_writer
from hapgpu.pipeline import run_pipeline
from hapgpu.realign.haplotypes import HaplotypeSet, read_haplotypes
from hapgpu.realign.placement import Placement, place_haplotypes
from hapgpu.realign.realigner import Realigned, Realigner, RealignOptions
from hapgpu.realign.scoring import resolve_scoring
from hapgpu.realign.select import BestBy
from hapgpu.stats import RunStatistics

EXAMPLES: Final = """Reads of an indexed BAM, to the haplotypes of some loci:
hapgpu realign sample.bam haplotypes.fa -o realigned.bam

The same in the coordinates of the reference:
hapgpu realign sample.bam haplotypes.fa --reference ref.fa -u | samtools sort -o realigned.bam

Amplicons, each read to every allele:
hapgpu realign reads.fastq.gz alleles.fa -o amplicons.bam"""

# Secondary, QC-fail, duplicate, supplementary: what GATK does not look at either.
_EXCLUDED_FLAGS: Final = 0xF00
_MIN_SCORE: Final = 0.2
_PAIRS_PER_BATCH: Final = 400_000  # pairs take memory too: batches get smaller with more of them
_REALIGNMENT: Final = "Alignment"
_NOT_ALIGNED: Final = {"without_bases": "reads have no bases to align and are written unmapped"}


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writes the records of realigned batches and counts."""

    writer: RecordWriter
    statistics: RunStatistics

    def __call__(self, batch: Realigned) -> int:
        self.writer.write(batch.records)
        self.statistics.count("reads", batch.reads)
        self.statistics.count("records", len(batch.records))
        self.statistics.count("unmapped", batch.unmapped)
        self.statistics.count("without_bases", batch.without_bases)
        return batch.reads


def realign(
    *,
    reads: Annotated[
        str,
        typer.Argument(metavar="READS", help="BAM, SAM, CRAM or FASTQ; - is standard input."),
    ],
    haplotypes: Annotated[
        Path,
        typer.Argument(
            metavar="HAPLOTYPES.fa",
            help="Haplotypes; a header such as >name chr20:101-500 binds one to a locus.",
        ),
    ],
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="FASTA",
            help="Write records in the coordinates of this reference; needs loci.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = None,
    scoring: Annotated[
        str,
        typer.Option(
            "--scoring",
            metavar="NAME|MATCH,MISMATCH,OPEN,EXTEND",
            help="read-to-haplotype, haplotype-to-reference, standard-ngs, original, or weights.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = "read-to-haplotype",
    best_by: Annotated[
        BestBy,
        typer.Option(
            "--best-by",
            help="Write a read at the haplotype where it scores best, or, as GATK does, at the "
            "one with the highest pair-HMM likelihood.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = BestBy.SCORE,
    min_score: Annotated[
        float,
        typer.Option(
            "--min-score",
            metavar="SHARE",
            min=0,
            max=1,
            help="Write a read unmapped if its best score is below this share of the score of a "
            "perfect alignment of all its bases.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = _MIN_SCORE,
    write_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Write one record per candidate haplotype; all but the best are secondary.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = False,
    require_flags: RequireFlags = 0,
    exclude_flags: ExcludeFlags = _EXCLUDED_FLAGS,
    regions: Regions = None,
    targets_file: TargetsFile = None,
    output: Output = None,
    output_fmt: OutputFmt = None,
    uncompressed: Uncompressed = False,
    no_pg: NoPG = False,
    json: Json = None,
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Align reads to haplotypes, exactly as GATK HaplotypeCaller does.

    Each read is aligned to the haplotypes of the loci that it overlaps, or to all haplotypes if
    they have no loci, and written at the best; on a tie, at the first in the file. Mapped reads
    keep their orientation; unmapped reads and FASTQ are tried in both.
    """
    set_up_messages("realign", quiet=quiet, verbose=verbose, debug=debug)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    options = RealignOptions(
        resolve_scoring(scoring), best_by, min_score, write_all, require_flags, exclude_flags
    )
    haplotype_set = read_haplotypes(haplotypes)
    if reference is not None and not haplotype_set.loci:
        message = f"--reference needs haplotypes with loci, and {haplotypes} has none"
        raise UsageError(message)
    announce("realign", chosen, quiet=quiet)
    statistics = RunStatistics("realign", sys.argv, [d.name for d in devices], threads)
    given = given_regions(regions, targets_file)
    with open_reads(
        reads,
        threads=min(threads, MOST_IO_THREADS),
        reference=reference,
        regions=given or haplotype_set.loci or None,
    ) as source:
        if source.is_fastq and given:
            raise UsageError(f"{reads} is FASTQ: its reads lie in no region")
        header = _input_header(source, reference)
        placement = None
        if reference is not None:
            placement = place_haplotypes(haplotype_set, reference, header, devices[0])
            haplotype_set = placement.haplotypes
        if source.is_fastq:
            haplotype_set = haplotype_set.without_loci()
        reads_per_batch = max(1, _PAIRS_PER_BATCH // haplotype_set.most_candidates)
        realigners = [
            Realigner(haplotype_set, placement, header, options, worker, reads)
            for worker in worker_devices(devices)
        ]
        output_header = _output_header(header, haplotype_set, placement, with_pg=not no_pg)
        with open_writer(
            str(output) if output else "-",
            output_header,
            format=output_fmt,
            threads=min(threads, MOST_IO_THREADS),
            uncompressed=uncompressed,
            reference=haplotypes if placement is None else reference,
        ) as writer:
            run_pipeline(
                statistics.timed_source("read", split_batches(source.batches(), reads_per_batch)),
                [statistics.timed("realign", realigner) for realigner in realigners],
                statistics.timed("write", _Sink(writer, statistics)),
                progress=choose_progress("hapgpu realign", quiet=quiet),
                threaded=not isinstance(devices[0], CpuDevice),
            )
    report(statistics, json, _NOT_ALIGNED)


def _input_header(source: ReadSource, reference: Path | None) -> SamHeader:
    """Header of the reads; FASTQ has none, and takes the contigs of the reference."""
    if not source.is_fastq or reference is None:
        return source.header
    with ReferenceFasta(reference) as fasta:
        return SamHeader.from_references(tuple(fasta.lengths), tuple(fasta.lengths.values()))


def _output_header(
    header: SamHeader, haplotypes: HaplotypeSet, placement: Placement | None, *, with_pg: bool
) -> SamHeader:
    if placement is None:
        header = header.with_references(
            haplotypes.names, [int(length) for length in haplotypes.sequences.lengths]
        )
    header = header.with_sort_order("unsorted")
    if not with_pg:
        return header
    return header.with_program("hapgpu", hapgpu.__version__, " ".join(sys.argv))

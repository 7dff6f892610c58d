"""`hapgpu realign`: reads aligned to haplotypes, as GATK HaplotypeCaller does it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.checks import given_regions
from hapgpu.cli.options.common import (
    Debug,
    DeviceName,
    ExcludeFlags,
    GpuMemory,
    Json,
    MaxRecord,
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
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Written,
    standard_output,
)
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.io.alignments.read_selection import ReadSelection
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.resources import OutputOptions, Resources
from hapgpu.realign.run import realign_to_haplotypes, realign_to_reference
from hapgpu.realign.scoring import resolve_scoring
from hapgpu.realign.selection.by_score import BestBy
from hapgpu.runtime.devices import resolve_devices, worker_devices
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__

EXAMPLES: Final = """Reads of an indexed BAM, to the haplotypes of some loci:
hapgpu realign sample.bam haplotypes.fa -o realigned.bam

The same in the coordinates of the reference:
hapgpu realign sample.bam haplotypes.fa --reference ref.fa -o realigned.bam --write-index

Amplicons, each read to every allele:
hapgpu realign reads.fastq.gz alleles.fa -o amplicons.bam"""

FILES: Final = CommandFiles(
    reads=(
        Read("reads", ALIGNMENT_INDEXES, standard=True),
        Read("haplotypes"),
        Read("reference", FASTA_INDEXES),
        Read("targets_file"),
    ),
    writes=(Written("output", ALIGNMENT_INDEXES, standard_output), STATISTICS),
)

# Secondary, QC-fail, duplicate, supplementary: what GATK does not look at either.
_EXCLUDED_FLAGS: Final = 0xF00
_MIN_SCORE: Final = 0.2
_REALIGNMENT: Final = "Alignment"
_NOT_ALIGNED: Final = {"without_bases": "reads have no bases to align"}


def realign(  # noqa: PLR0913  (its parameters are the options)
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
            help="Write a read unmapped, with --reference as it was, if it scores less than this "
            "share of a perfect alignment.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = _MIN_SCORE,
    always: Annotated[
        bool,
        typer.Option(
            "--always",
            help="With --reference, move every read to its best haplotype, as GATK's bamout does.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = False,
    write_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Write one record per candidate haplotype; all but the best are secondary.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = False,
    loci_only: Annotated[
        bool,
        typer.Option(
            "--loci-only",
            help="With --reference, write only the reads at loci.",
            rich_help_panel="Output",
        ),
    ] = False,
    write_index: Annotated[
        bool,
        typer.Option(
            "--write-index",
            help="With --reference, index the output: .csi of BAM, .crai of CRAM.",
            rich_help_panel="Output",
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
    max_record: MaxRecord = MAX_RECORD,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Align reads to haplotypes, exactly as GATK HaplotypeCaller does.

    Each read is aligned to the haplotypes of the loci that it overlaps, or to all haplotypes if
    they have no loci, and written at the best; on a tie, at the first in the file. Mapped reads
    keep their orientation; unmapped reads and FASTQ are tried in both. With --reference the whole
    file is written: reads that a haplotype explains better move, their mates' fields follow, and
    all other records stay as they are.
    """
    set_up_messages("realign", quiet=quiet, verbose=verbose, debug=debug)
    _check_options(
        reference,
        with_reference={"--always": always, "--loci-only": loci_only, "--write-index": write_index},
        write_all=write_all,
    )
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    options = RealignOptions(
        resolve_scoring(scoring),
        best_by,
        min_score,
        always,
        write_all,
        require_flags,
        exclude_flags,
    )
    haplotype_set = read_haplotypes(haplotypes, max_record)
    if reference is not None and not haplotype_set.loci:
        message = f"--reference needs haplotypes with loci, and {haplotypes} has none"
        raise UsageError(message)
    announce("realign", chosen, quiet=quiet)
    statistics = RunStatistics("realign", sys.argv, [d.name for d in devices], threads)
    selection = ReadSelection(reads, given_regions(regions, targets_file, max_record), max_record)
    resources = Resources(
        worker_devices(devices),
        threads,
        statistics,
        lambda: choose_progress("hapgpu realign", quiet=quiet),
    )
    written = OutputOptions(
        str(output) if output else "-",
        output_fmt,
        uncompressed,
        write_index,
        loci_only,
        (lambda header: header) if no_pg else _with_program,
    )
    if reference is None:
        realign_to_haplotypes(resources, selection, haplotype_set, haplotypes, options, written)
    else:
        realign_to_reference(resources, selection, haplotype_set, reference, options, written)
    report(statistics, json, _NOT_ALIGNED)


def _check_options(
    reference: Path | None, *, with_reference: dict[str, bool], write_all: bool
) -> None:
    """Refuse options that have no meaning together."""
    if reference is not None:
        if write_all:
            raise UsageError("--all is for the coordinates of the haplotypes; drop --reference")
        return
    for name, is_given in with_reference.items():
        if is_given:
            raise UsageError(f"{name} is for the coordinates of a reference; add --reference")


def _with_program(header: SamHeader) -> SamHeader:
    return header.with_program("hapgpu", __version__, " ".join(sys.argv))

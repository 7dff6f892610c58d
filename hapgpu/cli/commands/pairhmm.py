"""`hapgpu pairhmm`: likelihoods of reads given haplotypes, as GATK computes them."""

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
    Output,
    Quiet,
    Regions,
    RequireFlags,
    TargetsFile,
    Threads,
    Verbose,
)
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    OUTPUT,
    STATISTICS,
    CommandFiles,
    Read,
)
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.errors import UsageError
from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
from hapgpu.io.alignments.read_selection import ReadSelection
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
from hapgpu.pairhmm.qualities.prepare import MIN_QUALITY, QualityOptions
from hapgpu.pairhmm.reads.scorer import ScorerOptions
from hapgpu.pairhmm.run import LikelihoodRun, score_batches, score_reads
from hapgpu.runtime.devices import resolve_devices
from hapgpu.runtime.statistics import RunStatistics

EXAMPLES: Final = """Reads of an indexed BAM, given the haplotypes of some loci:
hapgpu pairhmm sample.bam haplotypes.fa -o likelihoods.tsv

Whole reads, given haplotypes extended by the reference:
hapgpu pairhmm sample.bam haplotypes.fa --reference ref.fa -o likelihoods.tsv

PCR-free reads, a row per read, values as GATK's genotyper gets them:
hapgpu pairhmm sample.bam haplotypes.fa --pcr-model none --normalize --matrix -o matrix.tsv

Reads with qualities and haplotypes in text batches:
hapgpu pairhmm --batches 10s.in -o likelihoods.tsv"""

FILES: Final = CommandFiles(
    reads=(
        Read("reads", ALIGNMENT_INDEXES, standard=True),
        Read("haplotypes"),
        Read("batches", standard=True),
        Read("reference", FASTA_INDEXES),
        Read("targets_file"),
    ),
    writes=(OUTPUT, STATISTICS),
)

# Secondary, QC-fail, duplicate, supplementary: what GATK does not look at either.
_EXCLUDED_FLAGS: Final = 0xF00
_MAX_QUALITY: Final = 127  # the native pair-HMM of GATK reads no more bits
_LIKELIHOODS: Final = "Likelihoods"
_GATK: Final = QualityOptions()
_WITH_BATCHES: Final = frozenset(
    {
        "batches",
        "matrix",
        "output",
        "json",
        "threads",
        "device",
        "gpu_mem",
        "max_record",
        "quiet",
        "verbose",
        "debug",
    }
)
"""Parameters that have a meaning with --batches."""

_LEFT_OUT: Final = {
    "unmapped": "unmapped reads are left out",
    "without_bases": "reads without bases are left out",
    "without_bases_at_locus": "times a read is left out that has no bases at the locus",
    "spliced": "spliced reads are left out: extended haplotypes have the introns",
    "poorly_modelled": "times a read is left out that no haplotype of the locus explains",
}


def pairhmm(  # noqa: PLR0913  (its parameters are the options)
    context: typer.Context,
    *,
    reads: Annotated[
        str | None,
        typer.Argument(
            metavar="READS", help="Aligned reads: BAM, SAM or CRAM; - is standard input."
        ),
    ] = None,
    haplotypes: Annotated[
        Path | None,
        typer.Argument(
            metavar="HAPLOTYPES.fa",
            help="Haplotypes; a header such as >name chr20:101-500 binds one to a locus.",
        ),
    ] = None,
    batches: Annotated[
        str | None,
        typer.Option(
            "--batches",
            metavar="FILE",
            help="Instead of READS and HAPLOTYPES.fa: text batches, each a line 'R H', R lines of "
            "bases and base, insertion, deletion and gap continuation qualities, and H lines of "
            "haplotypes; plain or gzip, - is standard input.",
        ),
    ] = None,
    matrix: Annotated[
        bool,
        typer.Option(
            "--matrix",
            help="Write a row per read and a column per haplotype of the file, NA where they did "
            "not meet; of text batches, a line 'R H' and R rows of H values.",
            rich_help_panel="Output",
        ),
    ] = False,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize",
            help="As GATK does before genotyping, raise values to at least 4.5 below the best of "
            "their read and locus, and leave out reads that no haplotype of the locus explains.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    whole_reads: Annotated[
        bool,
        typer.Option(
            "--whole-reads",
            help="Do not clip reads, nor extend haplotypes: all bases count, soft clips too.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    pcr_model: Annotated[
        PcrModel,
        typer.Option(
            "--pcr-model",
            case_sensitive=False,
            help="Limit gap-open qualities in tandem repeats; none for PCR-free reads. GATK: "
            "--pcr-indel-model.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = PcrModel.CONSERVATIVE,
    gap_open: Annotated[
        int,
        typer.Option(
            "--gap-open",
            metavar="PHRED",
            min=MIN_QUALITY,
            max=_MAX_QUALITY,
            help="Gap-open quality of reads without the tags BI (insertions) or BD (deletions).",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = _GATK.gap_open,
    gap_continuation: Annotated[
        int,
        typer.Option(
            "--gap-continuation",
            metavar="PHRED",
            min=0,
            max=_MAX_QUALITY,
            help="Gap-continuation quality. GATK: --pair-hmm-gap-continuation-penalty.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = _GATK.gap_continuation,
    base_quality_score_threshold: Annotated[
        int,
        typer.Option(
            "--base-quality-score-threshold",
            metavar="PHRED",
            min=MIN_QUALITY,
            max=_MAX_QUALITY,
            help=f"Take base qualities below this for {MIN_QUALITY}.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = _GATK.base_quality_threshold,
    disable_cap: Annotated[
        bool,
        typer.Option(
            "--disable-cap-base-qualities-to-map-quality",
            help="Believe in bases more than in the mapping of their read.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="FASTA",
            help="Extend haplotypes with loci by this reference instead of clipping reads; also "
            "the reference of CRAM.",
        ),
    ] = None,
    require_flags: RequireFlags = 0,
    exclude_flags: ExcludeFlags = _EXCLUDED_FLAGS,
    regions: Regions = None,
    targets_file: TargetsFile = None,
    output: Output = None,
    json: Json = None,
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    max_record: MaxRecord = MAX_RECORD,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Compute log10 P(read | haplotype) by the pair-HMM of GATK HaplotypeCaller.

    Each read meets the haplotypes of the loci that it overlaps, or all haplotypes if they have no
    loci. It is clipped to each locus by its alignment, as GATK does; with --reference, haplotypes
    are extended instead. Its qualities are prepared as in GATK. Unmapped reads are left out.
    """
    set_up_messages("pairhmm", quiet=quiet, verbose=verbose, debug=debug)
    _check_input(context, batches, haplotypes)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    statistics = RunStatistics("pairhmm", sys.argv, [d.name for d in devices], threads)
    announce("pairhmm", chosen, quiet=quiet)
    progress = choose_progress("hapgpu pairhmm", quiet=quiet)
    run = LikelihoodRun(devices, threads, output, progress, statistics)
    if batches is not None:
        score_batches(run, batches, max_record, as_matrix=matrix)
    elif reads is not None and haplotypes is not None:
        options = ScorerOptions(
            QualityOptions(
                gap_open, gap_continuation, pcr_model, not disable_cap, base_quality_score_threshold
            ),
            normalize,
            whole_reads,
            require_flags,
            exclude_flags,
        )
        chosen_reads = ReadSelection(
            reads, given_regions(regions, targets_file, max_record), max_record
        )
        score_reads(
            run,
            chosen_reads,
            read_haplotypes(haplotypes, max_record),
            options,
            reference=reference,
            as_matrix=matrix,
        )
    report(statistics, json, _LEFT_OUT)


def _check_input(context: typer.Context, batches: str | None, haplotypes: Path | None) -> None:
    """Refuse a command line that names no input, or options that do not go with it."""
    if batches is None:
        if haplotypes is None:
            raise UsageError("expected READS and HAPLOTYPES.fa, or --batches FILE")
        return
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and parameter.name not in _WITH_BATCHES:
            name = parameter.opts[-1]
            raise UsageError(
                "--batches brings its own reads, qualities and haplotypes; leave out "
                f"{name if name.startswith('-') else name.upper()}"
            )

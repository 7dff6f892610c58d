"""`hapgpu pairhmm`: likelihoods of reads given haplotypes, as in GATK."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import (
    ComputeOptions,
    OptionalHaplotypes,
    Output,
    ReadFilterOptions,
    ReportOptions,
    pcr_model_option,
)
from hapgpu.cli.options.effects import DROP_ONE, AllBut, NoEffect
from hapgpu.cli.options.file_kinds import (
    ALIGNED_READS,
    BATCHES,
    HAPLOTYPES,
    REFERENCE,
    TABLE,
    TARGETS,
)
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    output_of,
)
from hapgpu.cli.options.loci import has_loci, selects_reads
from hapgpu.errors import UsageError
from hapgpu.io.files.file_kind import kind_of_file
from hapgpu.pairhmm.options import MIN_QUALITY, PcrModel, QualityOptions

EXAMPLES: Final = """Compare the reads of an indexed BAM with the haplotypes of some loci:
hapgpu pairhmm sample.bam haplotypes.fa -o likelihoods.tsv

Compare whole reads with haplotypes extended by the reference:
hapgpu pairhmm sample.bam haplotypes.fa --reference ref.fa -o likelihoods.tsv

Write a matrix for PCR-free reads, normalized as for GATK's genotyper:
hapgpu pairhmm sample.bam haplotypes.fa \\
    --pcr-model none --normalize --matrix -o matrix.tsv

Read qualities and haplotypes from text batches:
hapgpu pairhmm --batches 10s.in -o likelihoods.tsv"""

FILES: Final = CommandFiles(
    reads=(
        Read(
            "reads",
            ALIGNMENT_INDEXES,
            standard=True,
            expected=ALIGNED_READS,
            by_index=selects_reads,
        ),
        Read("haplotypes", expected=HAPLOTYPES),
        Read("batches", standard=True, expected=BATCHES),
        Read(
            "reference",
            FASTA_INDEXES,
            expected=REFERENCE,
            by_index=lambda values: has_loci(values) and not values["whole_reads"],
        ),
        Read("targets_file", expected=TARGETS),
    ),
    writes=(output_of(TABLE), STATISTICS),
)


def _may_be_cram(reads: str) -> bool:
    """Tell whether reads may be CRAM, which is read with the reference; a pipe may be."""
    return not Path(reads).is_file() or kind_of_file(reads) == "CRAM"


_OF_ALL_RUNS: Final = [f.name for group in (ComputeOptions, ReportOptions) for f in fields(group)]

NO_EFFECT: Final = (
    NoEffect(
        AllBut("batches", "matrix", "output", *_OF_ALL_RUNS),
        lambda values: values["batches"] is not None,
        f"with --batches; {DROP_ONE}",
    ),
    NoEffect(
        ["reference"],
        lambda values: values["whole_reads"] and not _may_be_cram(values["reads"] or ""),
        f"with --whole-reads, except on CRAM; {DROP_ONE}",
    ),
)

_MAX_QUALITY: Final = 127  # the native pair-HMM of GATK reads no more bits
_LIKELIHOODS: Final = "Likelihoods"
_GATK: Final = QualityOptions()

_WARNINGS: Final = {
    "unmapped": "unmapped reads excluded",
    "without_bases": "reads without bases excluded",
    "without_bases_at_locus": "read-locus pairs excluded: the read has no bases at the locus",
    "spliced": "spliced reads excluded: extended haplotypes have the introns",
    "poorly_modelled": "read-locus pairs excluded: no haplotype of the locus explains the read",
}
"""The words after the number, by the name of the count."""


def pairhmm(
    *,
    reads: Annotated[
        str | None,
        typer.Argument(
            metavar="READS.bam", help="Aligned reads: BAM, CRAM or SAM; - is standard input."
        ),
    ] = None,
    haplotypes: OptionalHaplotypes = None,
    batches: Annotated[
        str | None,
        typer.Option(
            "--batches",
            metavar="FILE",
            help="Text batches instead of READS.bam and HAPLOTYPES.fa: a line 'R H', R reads with "
            "qualities, H haplotypes; plain or gzip, - is standard input.",
        ),
    ] = None,
    matrix: Annotated[
        bool,
        typer.Option(
            "--matrix",
            help="Write one row per read, one column per haplotype; NA: not compared. With "
            "--batches: 'R H', then R rows.",
            rich_help_panel="Output",
        ),
    ] = False,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize",
            help="Raise values to best - 4.5; exclude unexplained reads (as GATK does).",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    whole_reads: Annotated[
        bool,
        typer.Option(
            "--whole-reads",
            help="Neither clip reads nor extend haplotypes: all bases count, soft clips, too.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    pcr_model: Annotated[PcrModel, pcr_model_option(_LIKELIHOODS)] = PcrModel.CONSERVATIVE,
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
            help=f"Set base qualities below this to {MIN_QUALITY}.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = _GATK.base_quality_threshold,
    disable_cap: Annotated[
        bool,
        typer.Option(
            "--disable-cap-base-qualities-to-map-quality",
            help="Do not cap base qualities at MAPQ.",
            rich_help_panel=_LIKELIHOODS,
        ),
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="REF.fa",
            help="Extend haplotypes by this reference instead of clipping reads; also used to read "
            "CRAM.",
        ),
    ] = None,
    filters: ReadFilterOptions,
    output: Output = None,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Compute log10 P(read | haplotype) by the pair-HMM of GATK HaplotypeCaller.

    Each read is compared with the haplotypes of the loci that it overlaps, or with all haplotypes
    if they have no loci. As in GATK, reads are clipped to the locus and their qualities are
    prepared; with --reference, haplotypes are extended instead of clipping. Unmapped reads are
    excluded.
    """
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import prepare_run
    from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
    from hapgpu.io.alignments.reader import ReadSelection
    from hapgpu.pairhmm.pipeline import LikelihoodRun, score_batches, score_reads
    from hapgpu.pairhmm.reads.scorer import ScorerOptions, ScoringTask

    if batches is None and haplotypes is None:
        raise UsageError("READS.bam, HAPLOTYPES.fa: missing; give both, or --batches FILE")
    regions = given_regions(filters.regions, filters.targets_file, compute.max_record)
    run = prepare_run("pairhmm", compute, reporting, output)
    found = None
    if haplotypes is not None:
        found = read_haplotypes(haplotypes, compute.max_record, run.threads)
    run.announce()
    likelihoods = LikelihoodRun(
        run.devices,
        run.threads,
        run.process_count,
        output,
        run.progress(),
        run.statistics,
    )
    if batches is not None:
        score_batches(likelihoods, batches, compute.max_record, as_matrix=matrix)
    elif reads is not None and found is not None:
        options = ScorerOptions(
            qualities=QualityOptions(
                gap_open=gap_open,
                gap_continuation=gap_continuation,
                pcr_model=pcr_model,
                cap_by_mapping_quality=not disable_cap,
                base_quality_threshold=base_quality_score_threshold,
            ),
            normalize=normalize,
            whole_reads=whole_reads,
            require_flags=filters.require_flags,
            exclude_flags=filters.exclude_flags,
        )
        task = ScoringTask(
            ReadSelection(reads, regions, compute.max_record),
            found,
            options,
            reference,
        )
        score_reads(likelihoods, task, as_matrix=matrix)
    run.finish(("reads", "likelihoods", "cells"), _WARNINGS)

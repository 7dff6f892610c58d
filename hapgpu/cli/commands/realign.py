"""`hapgpu realign`: alignment of reads to haplotypes, as in GATK HaplotypeCaller."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hapgpu.cli.options.common import (
    ComputeOptions,
    Haplotypes,
    NoPG,
    Output,
    OutputFmt,
    ReadFilterOptions,
    ReportOptions,
    Uncompressed,
)
from hapgpu.cli.options.effects import UNCOMPRESSED, contradicts, needs
from hapgpu.cli.options.file_kinds import (
    ALIGNED_READS,
    FASTQ_OR_ALIGNED,
    HAPLOTYPES,
    REFERENCE,
    TABLE,
    TARGETS,
    Expected,
)
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    Written,
    alignment_formats,
    in_all_runs,
    standard_output,
)
from hapgpu.cli.options.loci import selects_reads
from hapgpu.errors import UsageError
from hapgpu.realign.options import BestBy
from hapgpu.version import __version__

if TYPE_CHECKING:
    from hapgpu.io.bam.header import SamHeader

EXAMPLES: Final = """Align the reads of an indexed BAM to the haplotypes of some loci:
hapgpu realign sample.bam haplotypes.fa -o realigned.bam

Write them in the coordinates of the reference:
hapgpu realign sample.bam haplotypes.fa --reference reference.fa \\
    -o realigned.bam --write-index

Align each read of amplicons to every allele:
hapgpu realign reads.fastq.gz alleles.fa -o amplicons.bam

Count the reads of each sample per allele:
hapgpu realign samples.bam alleles.fa -o amplicons.bam \\
    --alleles-table alleles.tsv"""

_OF_ALIGNMENTS: Final = {
    "regions": "-r",
    "targets_file": "-L",
    "always": "--always",
    "loci_only": "--loci-only",
    "write_index": "--write-index",
}
"""Options that FASTQ cannot have."""


def _kinds_of_reads(values: Values) -> Expected:
    """Return the kinds of the reads: FASTQ too, if no option needs alignments."""
    given = [option for name, option in _OF_ALIGNMENTS.items() if values.get(name)]
    if not given:
        return FASTQ_OR_ALIGNED
    return replace(ALIGNED_READS, words=f"{ALIGNED_READS.words}, or drop {given[0]}")


FILES: Final = CommandFiles(
    reads=(
        Read(
            "reads",
            ALIGNMENT_INDEXES,
            standard=True,
            expected=_kinds_of_reads,
            by_index=lambda values: values["reference"] is None and selects_reads(values),
        ),
        Read("haplotypes", expected=HAPLOTYPES),
        Read("reference", FASTA_INDEXES, expected=REFERENCE, by_index=in_all_runs),
        Read("targets_file", expected=TARGETS),
    ),
    writes=(
        Written("output", ALIGNMENT_INDEXES, standard_output, alignment_formats),
        Written("alleles_table", formats=TABLE),
        STATISTICS,
    ),
)

NO_EFFECT: Final = (
    needs("reference", "--reference", "always", "loci_only", "write_index"),
    contradicts("reference", "--reference", "write_all", "alleles_table"),
    UNCOMPRESSED,
)

_MIN_SCORE: Final = 0.2
_REALIGNMENT: Final = "Alignment"
_WARNINGS: Final = {"without_bases": "reads without bases, not aligned"}


def realign(
    *,
    reads: Annotated[
        str,
        typer.Argument(metavar="READS", help="BAM, SAM, CRAM or FASTQ; - is standard input."),
    ],
    haplotypes: Haplotypes,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="REF.fa",
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
            help="Criterion for a read's best haplotype; GATK: likelihood, by the pair-HMM.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = BestBy.SCORE,
    min_score: Annotated[
        float,
        typer.Option(
            "--min-score",
            metavar="FLOAT",
            min=0,
            max=1,
            help="Write reads below this fraction of a perfect score unmapped, with --reference "
            "unchanged.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = _MIN_SCORE,
    always: Annotated[
        bool,
        typer.Option(
            "--always",
            help="With --reference: move every read, as GATK's bamout does.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = False,
    write_all: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Write one record per candidate haplotype; all except the best are secondary.",
            rich_help_panel=_REALIGNMENT,
        ),
    ] = False,
    loci_only: Annotated[
        bool,
        typer.Option(
            "--loci-only",
            help="With --reference: write only the reads at loci.",
            rich_help_panel="Output",
        ),
    ] = False,
    write_index: Annotated[
        bool,
        typer.Option(
            "--write-index",
            help="With --reference: index the output (.csi for BAM, .crai for CRAM).",
            rich_help_panel="Output",
        ),
    ] = False,
    alleles_table: Annotated[
        Path | None,
        typer.Option(
            "--alleles-table",
            metavar="FILE",
            help="Without --reference: write reads per sample and haplotype as TSV.",
            rich_help_panel="Output",
        ),
    ] = None,
    filters: ReadFilterOptions,
    output: Output = None,
    output_fmt: OutputFmt = None,
    uncompressed: Uncompressed = False,
    no_pg: NoPG = False,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Align reads to haplotypes, exactly as GATK HaplotypeCaller does.

    Each read is aligned to the haplotypes of the loci that it overlaps, or to all haplotypes if
    they have no loci. It is written at its best haplotype; ties go to the first in the file.
    Mapped reads keep their orientation; unmapped reads and FASTQ are tried in both. With
    --reference the whole file is written: reads that a haplotype explains better move, the fields
    of their mates follow, and all other records stay the same.
    """
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import prepare_run
    from hapgpu.haplotypes.pairing.haplotype_set import read_haplotypes
    from hapgpu.io.alignments.reader import ReadSelection
    from hapgpu.realign.pipeline import (
        OutputOptions,
        Resources,
        write_on_haplotypes,
        write_on_reference,
    )
    from hapgpu.realign.realigner import RealignOptions
    from hapgpu.realign.scoring import resolve_scoring

    regions = given_regions(filters.regions, filters.targets_file, compute.max_record)
    run = prepare_run("realign", compute, reporting, output)
    options = RealignOptions(
        scoring=resolve_scoring(scoring),
        best_by=best_by,
        min_score=min_score,
        always=always,
        write_all=write_all,
        require_flags=filters.require_flags,
        exclude_flags=filters.exclude_flags,
    )
    max_record = compute.max_record
    haplotype_set = read_haplotypes(haplotypes, max_record, run.threads)
    if reference is not None and not haplotype_set.loci:
        raise UsageError(f"{haplotypes}: has no loci, which --reference needs; drop --reference")
    run.announce()
    selection = ReadSelection(reads, regions, max_record)
    resources = Resources(
        run.devices,
        run.threads,
        run.process_count,
        run.statistics,
        partial(run.progress, "reads"),
    )
    written = OutputOptions(
        path=str(output) if output else "-",
        format=output_fmt,
        uncompressed=uncompressed,
        write_index=write_index,
        loci_only=loci_only,
        finish_header=(lambda header: header) if no_pg else _with_program,
        alleles_table=None if alleles_table is None else str(alleles_table),
    )
    if reference is None:
        write_on_haplotypes(resources, selection, haplotype_set, haplotypes, options, written)
    else:
        write_on_reference(resources, selection, haplotype_set, reference, options, written)
    run.finish(("reads", "realigned", "unmapped", "records", "changed_records"), _WARNINGS)


def _with_program(header: SamHeader) -> SamHeader:
    return header.with_program("hapgpu", __version__, " ".join(sys.argv))

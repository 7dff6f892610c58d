"""`hapgpu call`: variants of aligned reads, by GATK HaplotypeCaller's algorithm."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.calling.alleles import ALLELE_EFFECTS, ALLELE_FILES, AlleleOptions
from hapgpu.cli.options.calling.annotations import ANNOTATION_EFFECTS, AnnotationChoice
from hapgpu.cli.options.calling.assembly import AssemblyChoice
from hapgpu.cli.options.calling.contamination import (
    CONTAMINATION_EFFECTS,
    CONTAMINATION_FILES,
    ContaminationChoice,
)
from hapgpu.cli.options.calling.dragstr import DRAGSTR_FILES, DragstrOptions
from hapgpu.cli.options.calling.genotyping import GenotypingChoice
from hapgpu.cli.options.calling.gvcf import GENOMIC_EFFECTS, GenomicVcfOptions
from hapgpu.cli.options.calling.intervals import INTERVAL_EFFECTS, INTERVAL_FILES, IntervalOptions
from hapgpu.cli.options.calling.known import KNOWN_FILES, KnownOptions
from hapgpu.cli.options.calling.ploidy import PLOIDY_EFFECTS, PLOIDY_FILES, PloidyOptions
from hapgpu.cli.options.calling.reads import WARNINGS, ReadChoice
from hapgpu.cli.options.common import (
    AlignedReads,
    ComputeOptions,
    Output,
    Reference,
    ReportOptions,
    region_option,
)
from hapgpu.cli.options.file_kinds import ALIGNED_READS, ALIGNMENTS, REFERENCE, VARIANTS
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STANDARD,
    STATISTICS,
    VARIANT_INDEXES,
    CommandFiles,
    Read,
    Written,
    in_all_runs,
    standard_output,
)

logger = logging.getLogger(__name__)

EXAMPLES: Final = """Call the variants of a sample; the output is bgzipped and indexed:
hapgpu call sample.bam reference.fa -o variants.vcf.gz

Call two samples together, PCR-free, in the regions of a BED file:
hapgpu call a.bam b.bam reference.fa -L exome.bed \\
    --pcr-model none -o variants.vcf.gz

Call one region with two more k-mer sizes:
hapgpu call sample.cram reference.fa -r chr20:10,000,000-11,000,000 \\
    --kmer-size 10 --kmer-size 25 --kmer-size 35 --kmer-size 45 \\
    -o variants.vcf.gz"""

FILES: Final = CommandFiles(
    reads=(
        Read(
            "reads", ALIGNMENT_INDEXES, standard=True, expected=ALIGNED_READS, by_index=in_all_runs
        ),
        Read("reference", (*FASTA_INDEXES, ".dict"), expected=REFERENCE, by_index=in_all_runs),
        *INTERVAL_FILES,
        *PLOIDY_FILES,
        *ALLELE_FILES,
        *CONTAMINATION_FILES,
        *DRAGSTR_FILES,
        *KNOWN_FILES,
    ),
    writes=(
        Written("output", VARIANT_INDEXES, standard_output, VARIANTS),
        Written("bam_out", ALIGNMENT_INDEXES, formats=ALIGNMENTS),
        STATISTICS,
    ),
)

NO_EFFECT: Final = (
    *GENOMIC_EFFECTS,
    *PLOIDY_EFFECTS,
    *INTERVAL_EFFECTS,
    *ALLELE_EFFECTS,
    *CONTAMINATION_EFFECTS,
    *ANNOTATION_EFFECTS,
)


_WARNINGS: Final = {
    "without_mapping_quality": "reads excluded: mapping quality unknown (255)",
    "low_mapping_quality": "reads excluded: mapping quality below --min-mapping-quality",
    "reads_over_limit": "reads excluded: over 10,000 of a sample start at 100 positions",
    "unusable_cigar": "reads excluded: CIGAR invalid, spliced, or with an indel beside another",
    "poorly_modelled_reads": "reads excluded: no haplotype of their active region explains them",
    "regions_not_assembled": "active regions not assembled: cycles, or repeated k-mers",
    "regions_at_haplotype_limit": "active regions have more haplotypes than --max-haplotypes",
    "given_alleles_lost": "alleles of --alleles not called: no reads, or too long for their region",
}
"""The words after the number, by the name of the count."""
_ALL_POOR: Final = (
    "no variants: most reads have more errors than HaplotypeCaller's model allows; "
    "use a caller for such reads"
)


def _has_poor_reads_only(counts: Mapping[str, int]) -> bool:
    """Tell whether a run has no variants, and most of its reads fit no haplotype."""
    poor, modelled = (counts.get(name, 0) for name in ("poorly_modelled_reads", "modelled_reads"))
    return not counts.get("records") and poor > modelled


def call(
    *,
    reads: AlignedReads,
    reference: Reference,
    regions: Annotated[
        list[str] | None, region_option("Call only this region; repeatable.", "Which regions")
    ] = None,
    interval_choice: IntervalOptions,
    read_choice: ReadChoice,
    assembly_choice: AssemblyChoice,
    genotyping_choice: GenotypingChoice,
    ploidy_choice: PloidyOptions,
    allele_choice: AlleleOptions,
    contamination_choice: ContaminationChoice,
    dragstr_choice: DragstrOptions,
    annotation_choice: AnnotationChoice,
    known_choice: KnownOptions,
    output: Output = None,
    bam_out: Annotated[
        Path | None,
        typer.Option(
            "--bam-out",
            "--bam-output",
            metavar="FILE",
            help="Write realigned reads and called haplotypes; .bam and .cram are indexed.",
            rich_help_panel="Output",
        ),
    ] = None,
    genomic_choice: GenomicVcfOptions,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Find and genotype the variants of aligned reads, by the algorithm of GATK HaplotypeCaller.

    Where reads differ from the reference, they are assembled to haplotypes; the pair-HMM computes
    each read's likelihood given each haplotype. Writes a VCF with GT, AD, DP, GQ and PL of each
    sample (SM of the read groups), bgzipped and indexed if the name of the output ends in .gz.
    Secondary, duplicate and QC-fail reads are excluded.
    """
    from hapgpu.calling.pipeline import write_calls
    from hapgpu.calling.session import CallInputs, CallSession
    from hapgpu.cli.options.calling.chosen import Choices, call_options
    from hapgpu.cli.options.calling.known_inputs import known_files
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import start_run

    choices = Choices(
        read_choice,
        assembly_choice,
        genotyping_choice,
        ploidy_choice,
        allele_choice,
        contamination_choice,
        dragstr_choice,
        annotation_choice,
        genomic_choice,
    )
    options = call_options(choices, reference, compute.max_record)
    inputs = CallInputs(
        reads,
        reference,
        given_regions(regions, None, compute.max_record),
        compute.max_record,
        interval_choice.read(compute.max_record),
        known_files(known_choice),
        alleles=allele_choice.alleles,
        keeps_filtered=allele_choice.force_call_filtered_alleles,
    )
    run = start_run("call", compute, reporting, output)
    with CallSession(inputs, options, run.devices, run.threads) as session:
        session.warn_of_first_reads()
        write_calls(
            session,
            str(output or STANDARD),
            run.statistics,
            threads=run.threads,
            processes=run.processes or run.threads,
            command_line=shlex.join(["hapgpu", *sys.argv[1:]]),
            bam_out=None if bam_out is None else str(bam_out),
            progress=run.progress("bases"),
        )
    if _has_poor_reads_only(run.statistics.counts):
        logger.warning(_ALL_POOR)
    run.finish(
        ("covered_bases", "bases", "reads", "active_regions", "records"), _WARNINGS | WARNINGS
    )

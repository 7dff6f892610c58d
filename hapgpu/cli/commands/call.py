"""`hapgpu call`: variants of aligned reads, by GATK HaplotypeCaller's algorithm."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.calling.options import (
    AnnotationOptions,
    AssemblyOptions,
    CallOptions,
    EventOptions,
    VariantOptions,
)
from hapgpu.cli.options.calling.alleles import ALLELES, NO_EFFECT_OF_ALLELES, AlleleOptions
from hapgpu.cli.options.calling.annot import NO_FILTER_IN_GENOMIC, AnnotationChoice
from hapgpu.cli.options.calling.dragstr import DragstrOptions
from hapgpu.cli.options.calling.gvcf import GENOMIC_EFFECTS, GenomicVcfOptions
from hapgpu.cli.options.calling.intervals import INTERVAL_EFFECTS, IntervalOptions
from hapgpu.cli.options.calling.known import KnownOptions
from hapgpu.cli.options.calling.ploidy import PLOIDY_EFFECTS, PLOIDY_FILES, PloidyOptions
from hapgpu.cli.options.calling.reads import (
    WARNINGS,
    ReadChoice,
    lowest_mapping_quality,
    read_options,
)
from hapgpu.cli.options.common import (
    AlignedReads,
    ComputeOptions,
    MinMappingQuality,
    Output,
    Reference,
    ReportOptions,
    pcr_model_option,
    region_option,
)
from hapgpu.cli.options.effects import NoEffect
from hapgpu.cli.options.file_kinds import (
    ALIGNED_READS,
    ALIGNMENTS,
    FRACTIONS,
    INTERVALS,
    KNOWN_VARIANTS,
    REFERENCE,
    VARIANTS,
)
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
from hapgpu.cli.options.numbers import parse_open_fraction, parse_phred
from hapgpu.io.intervals.names import names_file
from hapgpu.pairhmm.options import PcrModel

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
        *PLOIDY_FILES,
        Read("intervals", expected=INTERVALS, is_path=names_file),
        Read("exclude_intervals", expected=INTERVALS, is_path=names_file),
        Read("contamination_file", expected=FRACTIONS),
        Read("dbsnp", VARIANT_INDEXES, expected=KNOWN_VARIANTS, by_index=in_all_runs),
        Read("comp", VARIANT_INDEXES, expected=KNOWN_VARIANTS, by_index=in_all_runs),
        ALLELES,
        Read("dragstr_params_path"),
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
    *NO_EFFECT_OF_ALLELES,
    NO_FILTER_IN_GENOMIC,
    NoEffect(
        ["use_filtered_reads"],
        lambda values: not values["contamination"] and values["contamination_file"] is None,
        "without --contamination; add it",
    ),
)

_MAX_BASE_QUALITY: Final = 93
_MIN_KMER, _MAX_KMER = 5, 200
_MANY: Final = 10**6
_MAX_ALTERNATE_ALLELES: Final = 43
"""More alleles than 44 have more than 1024 diploid genotypes, the default of GATK."""
_READS: Final = "Which reads"
_REGIONS: Final = "Which regions"
_ASSEMBLY: Final = "Assembly"
_GENOTYPING: Final = "Genotyping"
_OUTPUT: Final = "Output"
_DEFAULT: Final = CallOptions()

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
        list[str] | None, region_option("Call only this region; repeatable.", _REGIONS)
    ] = None,
    interval_options: IntervalOptions,
    min_mapping_quality: MinMappingQuality = _DEFAULT.min_mapping_quality,
    max_reads_per_start: Annotated[
        int,
        typer.Option(
            "--max-reads-per-start",
            "--max-reads-per-alignment-start",
            metavar="INT",
            min=0,
            max=_MANY,
            help="Reads of a sample used per start position, at most; 0: all.",
            rich_help_panel=_READS,
        ),
    ] = _DEFAULT.max_reads_per_start,
    kmer_sizes: Annotated[
        list[int] | None,
        typer.Option(
            "--kmer-size",
            metavar="INT",
            min=_MIN_KMER,
            max=_MAX_KMER,
            show_default=" ".join(map(str, _DEFAULT.assembly.kmer_sizes)),
            help="k-mer size of an assembly graph; repeatable, all are joined.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = None,
    min_pruning: Annotated[
        int,
        typer.Option(
            "--min-pruning",
            metavar="INT",
            min=0,
            max=_MANY,
            help="Remove paths of the graph with fewer reads of a sample.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.assembly.min_pruning,
    max_haplotypes: Annotated[
        int,
        typer.Option(
            "--max-haplotypes",
            "--max-num-haplotypes-in-population",
            metavar="INT",
            min=1,
            max=_MANY,
            help="Haplotypes per graph, at most: the most likely.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.assembly.max_haplotypes,
    min_base_quality: Annotated[
        int,
        typer.Option(
            "--min-base-quality-score",
            metavar="PHRED",
            min=0,
            max=_MAX_BASE_QUALITY,
            help="Do not assemble bases of lower quality.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = _DEFAULT.assembly.min_base_quality,
    dont_use_soft_clipped_bases: Annotated[
        bool,
        typer.Option(
            "--dont-use-soft-clipped-bases",
            help="Do not use soft-clipped bases.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = False,
    gatk_strict: Annotated[
        bool,
        typer.Option(
            "--gatk-strict",
            help="Follow only GATK's rules, also where they lose long duplications and deletions.",
            rich_help_panel=_ASSEMBLY,
        ),
    ] = False,
    pcr_model: Annotated[PcrModel, pcr_model_option(_GENOTYPING)] = _DEFAULT.pcr_model,
    min_confidence: Annotated[
        float,
        typer.Option(
            "--standard-min-confidence-threshold-for-calling",
            "--stand-call-conf",
            metavar="PHRED",
            parser=parse_phred,
            help="Do not write variants with QUAL below this.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.genotyping.min_confidence,
    heterozygosity: Annotated[
        float,
        typer.Option(
            "--heterozygosity",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Expected heterozygosity of SNPs.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.genotyping.heterozygosity,
    indel_heterozygosity: Annotated[
        float,
        typer.Option(
            "--indel-heterozygosity",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Expected heterozygosity of indels.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.genotyping.indel_heterozygosity,
    heterozygosity_deviation: Annotated[
        float,
        typer.Option(
            "--heterozygosity-stdev",
            metavar="FLOAT",
            parser=parse_open_fraction,
            help="Standard deviation of both heterozygosities.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.genotyping.heterozygosity_deviation,
    max_alternate_alleles: Annotated[
        int,
        typer.Option(
            "--max-alternate-alleles",
            metavar="INT",
            min=1,
            max=_MAX_ALTERNATE_ALLELES,
            help="ALT alleles per record, at most.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.genotyping.max_alternate_alleles,
    ploidy_options: PloidyOptions,
    allele_options: AlleleOptions,
    output: Output = None,
    bam_out: Annotated[
        Path | None,
        typer.Option(
            "--bam-out",
            "--bam-output",
            metavar="FILE",
            help="Write realigned reads and called haplotypes; .bam and .cram are indexed.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    gvcf: Annotated[
        bool,
        typer.Option(
            "--gvcf",
            help="Write a genomic VCF of one sample, with reference blocks. GATK: -ERC GVCF.",
            rich_help_panel=_OUTPUT,
        ),
    ] = False,
    known: KnownOptions,
    genomic: GenomicVcfOptions,
    read_choice: ReadChoice,
    annotation: AnnotationChoice,
    dragstr: DragstrOptions,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Find and genotype the variants of aligned reads, by the algorithm of GATK HaplotypeCaller.

    Where reads differ from the reference, they are assembled to haplotypes; the pair-HMM computes
    each read's likelihood given each haplotype. Writes a VCF with GT, AD, DP, GQ and PL of each
    sample (SM of the read groups), bgzipped and indexed if the name of the output ends in .gz.
    Secondary, duplicate and QC-fail reads are excluded.
    """
    from hapgpu.calling.genotypes.annotation_selection import selected_annotations
    from hapgpu.calling.pipeline import CallInputs, CallSession, write_calls
    from hapgpu.cli.options.calling.known_inputs import contamination_of, known_files
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import start_run
    from hapgpu.pairhmm.dragstr.parameters import read_parameters

    ploidies = ploidy_options.ploidies(reference, compute.max_record)
    chosen = given_regions(regions, None, compute.max_record)
    intervals = interval_options.read(compute.max_record)
    contamination = contamination_of(known, compute.max_record)
    has_non_ref = gvcf or genomic.bp_resolution
    genomic_options = genomic.chosen(gvcf=gvcf)
    chosen_reads = read_options(read_choice)
    selected = selected_annotations(
        annotation.switches(), is_genomic=has_non_ref, has_filters=annotation.hard_filters
    )
    dragstr_path = dragstr.dragstr_params_path
    run = start_run("call", compute, reporting, output)
    for warning in selected.warnings:
        logger.warning(warning)
    options = CallOptions(
        assembly=AssemblyOptions(
            kmer_sizes=tuple(sorted(set(kmer_sizes or _DEFAULT.assembly.kmer_sizes))),
            min_pruning=min_pruning,
            max_haplotypes=max_haplotypes,
            min_base_quality=min_base_quality,
            use_soft_clipped_bases=not dont_use_soft_clipped_bases,
            lower_overlaps=not read_choice.keep_overlap_qualities,
            is_strict=gatk_strict,
            recovers_all_branches=allele_options.recover_all_dangling_branches,
        ),
        events=EventOptions(
            max_mnp_distance=allele_options.max_mnp_distance,
            has_spanning_alleles=not allele_options.disable_spanning_event_genotyping,
        ),
        genotyping=VariantOptions(
            heterozygosity=heterozygosity,
            indel_heterozygosity=indel_heterozygosity,
            heterozygosity_deviation=heterozygosity_deviation,
            min_confidence=0.0 if has_non_ref else min_confidence,
            max_alternate_alleles=max_alternate_alleles,
            ploidies=ploidies,
            max_genotypes=ploidy_options.max_genotype_count,
            has_non_ref=has_non_ref,
        ),
        genomic=genomic_options,
        annotations=AnnotationOptions(
            classes=selected.classes,
            counts_discovered=annotation.annotate_discovered,
            has_filters=annotation.hard_filters,
        ),
        pcr_model=pcr_model,
        min_mapping_quality=lowest_mapping_quality(read_choice, min_mapping_quality),
        max_reads_per_start=max_reads_per_start,
        contamination=contamination,
        reads=chosen_reads,
        dragstr=None if dragstr_path is None else read_parameters(dragstr_path),
    )
    inputs = CallInputs(
        reads,
        reference,
        chosen,
        compute.max_record,
        intervals,
        known_files(known),
        alleles=allele_options.alleles,
        keeps_filtered=allele_options.force_call_filtered_alleles,
    )
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

"""`hapgpu genotype`: genotypes at the sites of a VCF, from aligned reads."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import (
    SITES,
    AlignedReads,
    ComputeOptions,
    MinMappingQuality,
    Output,
    Reference,
    ReportOptions,
    SiteFilterOptions,
    Sites,
    pcr_model_option,
)
from hapgpu.cli.options.file_kinds import ALIGNED_READS, REFERENCE, TARGETS, VARIANT_SITES, VARIANTS
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
from hapgpu.errors import UsageError
from hapgpu.genotyping.options import MAX_PLOIDY, GenotypeOptions, Prior, Shard
from hapgpu.pairhmm.options import PcrModel

EXAMPLES: Final = """Genotype the sites of a VCF; the output is bgzipped and indexed:
hapgpu genotype sample.bam reference.fa sites.vcf.gz -o genotypes.vcf.gz

Genotype two samples in one region, PCR-free; keep sites with a GQ above 20:
hapgpu genotype a.bam b.bam reference.fa sites.vcf.gz --pcr-model none \\
    -r chr20:10,000,000-11,000,000 | bcftools view -i 'GQ>20'

Genotype the third of eight equal parts of the sites:
hapgpu genotype sample.bam reference.fa sites.vcf.gz --shard 3/8 -o 3.vcf.gz"""

FILES: Final = CommandFiles(
    reads=(
        Read(
            "reads", ALIGNMENT_INDEXES, standard=True, expected=ALIGNED_READS, by_index=in_all_runs
        ),
        Read("reference", FASTA_INDEXES, expected=REFERENCE, by_index=in_all_runs),
        Read("sites", VARIANT_INDEXES, standard=True, expected=VARIANT_SITES),
        Read("targets_file", expected=TARGETS),
    ),
    writes=(Written("output", VARIANT_INDEXES, standard_output, VARIANTS), STATISTICS),
)

_GENOTYPING: Final = "Genotyping"
_DEFAULT: Final = GenotypeOptions()

_WARNINGS: Final = {
    "without_mapping_quality": "reads excluded: mapping quality unknown (255)",
    "low_mapping_quality": "reads excluded: mapping quality below --min-mapping-quality",
    "poorly_modelled_fragments": "fragments fit no haplotype: counted in full in DP and AD only",
    "reads_over_limit": "reads excluded: over 192 MiB of reads and likelihoods at one locus",
    "no_calls": "genotypes missing: no read supports them",
    "symbolic_alleles": "symbolic or missing alleles ignored: no sequence",
    "capped_loci": "loci capped: too many combinations of alleles, some excluded",
}
"""The words after the number, by the name of the count."""


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except UsageError as error:
        raise typer.BadParameter(str(error)) from error


def genotype(
    *,
    reads: AlignedReads,
    reference: Reference,
    sites: Sites,
    ploidy: Annotated[
        int,
        typer.Option(
            "--ploidy",
            metavar="INT",
            min=1,
            max=MAX_PLOIDY,
            help="Ploidy of the samples.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.ploidy,
    prior: Annotated[
        Prior,
        typer.Option(
            "--prior",
            case_sensitive=False,
            help="Genotype prior: flat, or population (AC and AN, or AF).",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.prior,
    pcr_model: Annotated[PcrModel, pcr_model_option(_GENOTYPING)] = _DEFAULT.pcr_model,
    min_mapping_quality: MinMappingQuality = _DEFAULT.min_mapping_quality,
    filters: SiteFilterOptions,
    shard: Annotated[
        Shard | None,
        typer.Option(
            "--shard",
            metavar="K/N",
            parser=_shard,
            help="Only part K of N equal parts of the sites; together exactly the whole.",
            rich_help_panel=SITES,
        ),
    ] = None,
    output: Output = None,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Genotype the sites of a VCF in aligned reads, by the pair-HMM of GATK HaplotypeCaller.

    The alleles of neighbouring sites are combined into haplotypes, and the pair-HMM computes each
    read's likelihood given each haplotype. Writes a VCF with the same sites and GT, GQ, DP, AD and
    PL of each sample (SM of the read groups), bgzipped and indexed if the name of the output ends
    in .gz. Secondary, supplementary, duplicate and QC-fail reads are excluded.
    """
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import start_run
    from hapgpu.genotyping.pipeline import GenotypeInputs, GenotypeSession, write_genotypes

    regions = given_regions(filters.regions, filters.targets_file, compute.max_record)
    inputs = GenotypeInputs(reads, reference, sites, regions, shard, compute.max_record)
    if shard is not None and (sites == "-" or not Path(sites).is_file()):
        raise UsageError(f"{sites}: --shard reads the sites twice; give a file, not a pipe")
    run = start_run("genotype", compute, reporting, output)
    options = GenotypeOptions(
        ploidy=ploidy, prior=prior, pcr_model=pcr_model, min_mapping_quality=min_mapping_quality
    )
    with GenotypeSession(inputs, options, run.devices, run.threads) as session:
        write_genotypes(
            session,
            str(output or STANDARD),
            run.statistics,
            threads=run.threads,
            processes=run.process_count,
            command_line=shlex.join(["hapgpu", *sys.argv[1:]]),
            progress=run.progress("sites"),
        )
    run.finish(("sites", "reads", "calls", "no_calls"), _WARNINGS)

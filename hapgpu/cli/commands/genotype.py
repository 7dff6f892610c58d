"""`hapgpu genotype`: genotypes of the sites of a VCF, from aligned reads."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.checks import given_regions, require_inputs
from hapgpu.cli.options.common import (
    Debug,
    DeviceName,
    GpuMemory,
    Json,
    MaxRecord,
    Output,
    Quiet,
    SiteRegions,
    SiteTargetsFile,
    Threads,
    Verbose,
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
    standard_output,
)
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.genotyping.calls.priors import Prior
from hapgpu.genotyping.genotyper import MAX_PLOIDY, GenotypeOptions
from hapgpu.genotyping.run import write_genotypes
from hapgpu.genotyping.session import GenotypeInputs, GenotypeSession
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.pairhmm.qualities.pcr_model import PcrModel
from hapgpu.runtime.devices import resolve_devices
from hapgpu.runtime.statistics import RunStatistics

EXAMPLES: Final = """Genotypes of the sites of a VCF, bgzipped and indexed:
hapgpu genotype sample.bam reference.fa sites.vcf.gz -o genotypes.vcf.gz

Two samples together, one region, PCR-free libraries, sure genotypes only:
hapgpu genotype a.bam b.bam reference.fa sites.vcf.gz -r chr20:10,000,000-11,000,000 \
--pcr-model none | bcftools view -i 'GQ>20'"""

FILES: Final = CommandFiles(
    reads=(
        Read("reads", ALIGNMENT_INDEXES, standard=True),
        Read("reference", FASTA_INDEXES),
        Read("sites", VARIANT_INDEXES, standard=True),
        Read("targets_file"),
    ),
    writes=(Written("output", VARIANT_INDEXES, standard_output), STATISTICS),
)

_MAX_MAPPING_QUALITY: Final = 255
_GENOTYPING: Final = "Genotyping"
_DEFAULT: Final = GenotypeOptions()

_TOLD: Final = {
    "without_mapping_quality": "reads are left out whose mapping quality is not known (255)",
    "low_mapping_quality": "reads are left out: mapped with less than --min-mapping-quality",
    "poorly_modelled_fragments": "fragments fit no haplotype: they count in full in DP and AD only",
    "no_calls": "genotypes are missing: no read tells them",
    "symbolic_alleles": "symbolic or missing alleles, without a sequence: no read speaks for them",
    "capped_loci": "loci have too many combinations of alleles: some were left out",
}


def genotype(  # noqa: PLR0913  (its parameters are the options)
    *,
    reads: Annotated[
        list[str],
        typer.Argument(
            metavar="IN.bam...",
            help="Aligned reads, sorted: BAM or CRAM with index, or SAM; - is standard input.",
        ),
    ],
    reference: Annotated[
        Path, typer.Argument(metavar="REF.fa", help="FASTA, plain or bgzip, with its .fai.")
    ],
    sites: Annotated[
        str,
        typer.Argument(
            metavar="SITES.vcf.gz", help="Sites: VCF, plain or compressed, or BCF, sorted."
        ),
    ],
    ploidy: Annotated[
        int,
        typer.Option(
            "--ploidy",
            min=1,
            max=MAX_PLOIDY,
            help="Copies of the genome in a sample.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.ploidy,
    prior: Annotated[
        Prior,
        typer.Option(
            "--prior",
            case_sensitive=False,
            help="What is known of genotypes beforehand: nothing (flat), or that the sites vary in "
            "a population, and how often their alleles were seen (AC and AN, or AF in INFO).",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.prior,
    pcr_model: Annotated[
        PcrModel,
        typer.Option(
            "--pcr-model",
            case_sensitive=False,
            help="Limit gap-open qualities in tandem repeats; none for PCR-free reads. GATK: "
            "--pcr-indel-model.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.pcr_model,
    min_mapping_quality: Annotated[
        int,
        typer.Option(
            "--min-mapping-quality",
            metavar="PHRED",
            min=0,
            max=_MAX_MAPPING_QUALITY,
            help="Leave out reads that are mapped with less.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.min_mapping_quality,
    regions: SiteRegions = None,
    targets_file: SiteTargetsFile = None,
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
    """Genotype the sites of a VCF in aligned reads, by the pair-HMM of GATK HaplotypeCaller.

    Neighbouring sites are genotyped together: their alleles are combined into haplotypes, and
    each read tells how likely it is given each of them. Writes a VCF with the sites as they are
    and GT, GQ, DP, AD and PL of each sample (SM of the read groups); bgzipped and indexed where
    the name of the output ends in .gz. Secondary, supplementary, duplicate and QC-fail reads are
    left out.
    """
    set_up_messages("genotype", quiet=quiet, verbose=verbose, debug=debug)
    chosen_sites = given_regions(regions, targets_file, max_record)
    inputs = GenotypeInputs(reads, reference, sites, chosen_sites, max_record)
    require_inputs([*reads, reference, sites])
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    announce("genotype", chosen, quiet=quiet)
    statistics = RunStatistics("genotype", sys.argv, [d.name for d in devices], threads)
    options = GenotypeOptions(ploidy, prior, pcr_model, min_mapping_quality)
    with GenotypeSession(inputs, options, threads) as session:
        write_genotypes(
            session,
            devices,
            str(output or STANDARD),
            statistics,
            threads=threads,
            command_line=shlex.join(["hapgpu", *sys.argv[1:]]),
            progress=choose_progress("hapgpu genotype", quiet=quiet, unit="sites"),
        )
    report(statistics, json, _TOLD)

"""`hapgpu haplotypes`: candidate haplotypes of the sites of a VCF."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import (
    MaxRecord,
    Output,
    Reference,
    ReportOptions,
    SiteFilterOptions,
    Sites,
)
from hapgpu.cli.options.file_kinds import REFERENCE, SEQUENCES, TARGETS, VARIANT_SITES
from hapgpu.cli.options.files import (
    FASTA_INDEXES,
    STATISTICS,
    VARIANT_INDEXES,
    CommandFiles,
    Read,
    in_all_runs,
    output_of,
)
from hapgpu.haplotypes.limits import MAX_COMBINATIONS
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.devices import CpuDevice

EXAMPLES: Final = """Write the haplotypes of all sites, and align reads to them:
hapgpu haplotypes reference.fa calls.vcf.gz -o haplotypes.fa
hapgpu realign sample.bam haplotypes.fa --reference reference.fa \\
    -o realigned.bam

Write the haplotypes of one region:
hapgpu haplotypes reference.fa calls.vcf.gz \\
    -r chr20:10,000,001-10,050,000 -o haplotypes.fa"""

FILES: Final = CommandFiles(
    reads=(
        Read("reference", FASTA_INDEXES, expected=REFERENCE, by_index=in_all_runs),
        Read("sites", VARIANT_INDEXES, standard=True, expected=VARIANT_SITES),
        Read("targets_file", expected=TARGETS),
    ),
    writes=(output_of(SEQUENCES), STATISTICS),
)

_FLANK: Final = 100
_MAX_FLANK: Final = 10_000

_WARNINGS: Final = {
    "symbolic_alleles": "symbolic alleles and breakends excluded",
    "spanned_alleles": "alleles '*' ignored: they change nothing",
    "telomere_records": "records excluded: at a telomere (POS 0 or after the end of the contig)",
    "loci_without_alt": "loci excluded: no haplotype differs from the reference",
    "locus_splits": f"locus splits: over {MAX_COMBINATIONS} combinations of alleles, or over 1000 "
    "records close to each other",
    "conflicting_alleles": "alleles excluded: genotypes put another on the same haplotype",
    "capped_loci": f"loci capped: over {MAX_COMBINATIONS} combinations of alleles, some excluded",
}
"""The words after the number, by the name of the count."""


def haplotypes(
    *,
    reference: Reference,
    sites: Sites,
    flank: Annotated[
        int,
        typer.Option(
            "--flank",
            metavar="INT",
            min=0,
            max=_MAX_FLANK,
            help="Reference bases on either side of a locus; sites at most this far apart share "
            "one.",
        ),
    ] = _FLANK,
    filters: SiteFilterOptions,
    output: Output = None,
    max_record: MaxRecord = MAX_RECORD,
    reporting: ReportOptions,
) -> None:
    """Write the candidate haplotypes of a VCF, for hapgpu realign and hapgpu pairhmm.

    Sites that are close together share a locus. Phased genotypes give the haplotypes of each
    sample; unphased genotypes, and sites without genotypes, all combinations of alleles. A locus
    with more than 64 combinations is split at its widest gap; if it has none, the reference, each
    allele alone and the combinations of the fewest alleles are written. The output is FASTA; each
    header holds the locus and the ALT alleles of the haplotype.
    """
    from hapgpu.cli.options.checks import given_regions
    from hapgpu.cli.run import Run
    from hapgpu.haplotypes.pipeline import HaplotypeInputs, write_haplotypes

    run = Run("haplotypes", [CpuDevice(1)], 1, reporting, output=output)
    count = run.statistics.count
    for name in _WARNINGS:
        count(name, 0)
    chosen = given_regions(filters.regions, filters.targets_file, max_record)
    inputs = HaplotypeInputs(reference, sites, chosen, max_record)
    write_haplotypes(inputs, output, flank, count, partial(run.showing, "sites"))
    run.finish(("sites", "records", "loci", "haplotypes"), _WARNINGS)

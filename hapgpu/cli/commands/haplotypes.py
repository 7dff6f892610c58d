"""`hapgpu haplotypes`: candidate haplotypes made from the variants of a VCF."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.checks import given_regions
from hapgpu.cli.options.common import (
    Debug,
    Json,
    MaxRecord,
    Output,
    Quiet,
    SiteRegions,
    SiteTargetsFile,
    Verbose,
)
from hapgpu.cli.options.files import (
    FASTA_INDEXES,
    OUTPUT,
    STATISTICS,
    VARIANT_INDEXES,
    CommandFiles,
    Read,
)
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import report
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.haplotypes.candidates.fasta import HaplotypeText
from hapgpu.haplotypes.locus_batches import LocusOptions, locus_batches
from hapgpu.haplotypes.sites.columns import has_sequence
from hapgpu.haplotypes.sites.record_selection import within
from hapgpu.haplotypes.sites.telomeres import is_telomere
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.vcf.records import VcfRecord, open_vcf
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics

EXAMPLES: Final = """Haplotypes of all variants, and reads aligned to them:
hapgpu haplotypes reference.fa calls.vcf.gz -o haplotypes.fa
hapgpu realign sample.bam haplotypes.fa --reference reference.fa -o realigned.bam

Of some of the variants:
hapgpu haplotypes reference.fa calls.vcf.gz -r chr20:10000001-10050000 -o haplotypes.fa"""

FILES: Final = CommandFiles(
    reads=(
        Read("reference", FASTA_INDEXES),
        Read("calls", VARIANT_INDEXES, standard=True),
        Read("targets_file"),
    ),
    writes=(OUTPUT, STATISTICS),
)

_FLANK: Final = 100
_MAX_FLANK: Final = 10_000
_MAX_COMBINATIONS: Final = 64

_TOLD: Final = {
    "symbolic_alleles": "symbolic alleles and breakends are left out",
    "spanned_alleles": "alleles are '*' and change nothing where they stand",
    "telomere_records": "records lie at a telomere (POS 0 or beyond the contig) and are left out",
    "loci_without_alt": "loci are left out: no haplotype there differs from the reference",
    "locus_splits": f"times neighbours do not share a locus: they have over {_MAX_COMBINATIONS}"
    " combinations of alleles, or over 1000 records follow each other closely",
    "conflicting_alleles": "alleles are left out: genotypes put another on their haplotype there",
    "capped_loci": f"loci lack combinations of several alleles: there are over {_MAX_COMBINATIONS}",
}
"""What is worth a warning, by the name of its count."""


def haplotypes(  # noqa: PLR0913  (its parameters are the options)
    *,
    reference: Annotated[
        Path,
        typer.Argument(
            metavar="REF.fa", help="Reference: FASTA, plain or bgzipped, with its index (.fai)."
        ),
    ],
    calls: Annotated[
        str,
        typer.Argument(
            metavar="CALLS.vcf.gz",
            help="Variants: VCF, plain or compressed, or BCF, sorted; - is standard input.",
        ),
    ],
    flank: Annotated[
        int,
        typer.Option(
            "--flank",
            metavar="BASES",
            min=0,
            max=_MAX_FLANK,
            help="Bases of the reference on either side of the variants of a locus; variants no"
            " further apart share a locus.",
        ),
    ] = _FLANK,
    regions: SiteRegions = None,
    targets_file: SiteTargetsFile = None,
    output: Output = None,
    json: Json = None,
    max_record: MaxRecord = MAX_RECORD,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Make candidate haplotypes from variants, for hapgpu realign and hapgpu pairhmm.

    Neighbouring variants share a locus. Phased genotypes give the haplotypes of each sample;
    unphased ones, and variants without genotypes, every combination. A locus with more than 64
    is cut at its widest gap; where it cannot be, the reference, each allele alone, and then the
    combinations of the fewest alleles are written. FASTA comes out, with the locus in each
    header and the alleles that the haplotype has in place of REF.
    """
    set_up_messages("haplotypes", quiet=quiet, verbose=verbose, debug=debug)
    statistics = RunStatistics("haplotypes", sys.argv, [CpuDevice(1).name], 1)
    for what in _TOLD:
        statistics.count(what, 0)
    chosen = given_regions(regions, targets_file, max_record)
    rules = LocusOptions(flank, flank, _MAX_COMBINATIONS, masks=False, phased=True)
    with ReferenceFasta(reference) as fasta, open_vcf(calls, max_record) as vcf:
        records = within(vcf.records(), chosen, fasta.lengths)
        records = _with_sequences(records, fasta.lengths, statistics)
        batches = locus_batches(records, fasta, rules, vcf.name, statistics.count)
        text = HaplotypeText(flank, statistics.count)
        progress = choose_progress("hapgpu haplotypes", quiet=quiet, unit="sites")
        with OutputFile(output) as out:
            _write(batches, text, out, progress)
    report(statistics, json, _TOLD)


def _write(
    batches: Iterable[LocusBatch], text: HaplotypeText, output: OutputFile, progress: Progress
) -> None:
    progress.start(None)
    try:
        for batch in batches:
            output.write(text.of(batch))
            progress.advance(len(batch.sites))
    finally:
        progress.finish()


def _with_sequences(
    records: Iterable[VcfRecord], lengths: Mapping[str, int], statistics: RunStatistics
) -> Iterator[VcfRecord]:
    """Leave out records that change nothing: neighbours are not to share a locus across them."""
    for record in records:
        statistics.count("records", 1)
        if is_telomere(record, lengths.get(record.contig)):
            statistics.count("telomere_records", 1)
        elif any(map(has_sequence, record.alternatives)):
            yield record
        else:
            spanned = record.alternatives.count("*")
            statistics.count("spanned_alleles", spanned)
            statistics.count("symbolic_alleles", len(record.alternatives) - spanned)
            statistics.count("records_without_alt", 1)

"""`hapgpu genotype`: genotypes of the sites of a VCF, from aligned reads."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

import hapgpu
from hapgpu.cli.messages import set_up_messages
from hapgpu.cli.options import (
    Debug,
    DeviceName,
    GpuMemory,
    Json,
    Output,
    Quiet,
    SiteRegions,
    SiteTargetsFile,
    Threads,
    Verbose,
)
from hapgpu.cli.progress import choose_progress
from hapgpu.cli.run import (
    MOST_IO_THREADS,
    announce,
    given_regions,
    refuse_to_replace,
    require_folder,
)
from hapgpu.device import Device, resolve_devices
from hapgpu.errors import InputError, UsageError
from hapgpu.genotyping.call_text import call_lines
from hapgpu.genotyping.evidence_batch import LocusReads
from hapgpu.genotyping.genotyper import MOST_PLOIDY, GenotypeOptions, Genotyper
from hapgpu.genotyping.priors import Prior
from hapgpu.genotyping.session import GenotypeInputs, GenotypeSession
from hapgpu.io.vcf_header import genotyped_header
from hapgpu.io.vcf_writer import VcfWriter
from hapgpu.pairhmm.pcr_model import PcrModel
from hapgpu.pipeline import run_pipeline
from hapgpu.stats import RunStatistics

EXAMPLES: Final = """Genotypes of the sites of a VCF, bgzipped and indexed:
hapgpu genotype sample.bam reference.fa sites.vcf.gz -o genotypes.vcf.gz

Two samples together, one region, PCR-free libraries, rare variants less likely than common ones:
hapgpu genotype a.bam b.bam reference.fa sites.vcf.gz -r chr20:10,000,000-11,000,000 \
--pcr-model none --prior population | bcftools view -i 'GQ>20'"""

logger = logging.getLogger(__name__)

_STANDARD: Final = "-"
_MOST_MAPPING_QUALITY: Final = 255
_GENOTYPING: Final = "Genotyping"
_DEFAULT: Final = GenotypeOptions()

_LEFT_OUT: Final = {
    "without_mapping_quality": "reads are left out whose mapping quality is not known (255)",
    "no_calls": "genotypes are missing: no read tells them",
}


@dataclass(frozen=True, slots=True)
class _Run:
    """Where a run computes, where it writes and what it tells of itself."""

    devices: list[Device]
    threads: int
    output: Path | None
    quiet: bool
    statistics: RunStatistics


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of genotyped sites, and what was done for them."""

    text: bytes
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Worker:
    """Genotypes loci and writes out the lines of their sites."""

    genotyper: Genotyper

    def __call__(self, reads: LocusReads) -> _Lines:
        genotyped = self.genotyper(reads)
        return _Lines(call_lines(genotyped.batch, genotyped.calls), genotyped.counts)


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writes lines and counts."""

    output: VcfWriter
    statistics: RunStatistics

    def __call__(self, lines: _Lines) -> int:
        self.output.write(lines.text)
        for what, number in lines.counts.items():
            self.statistics.count(what, number)
        return lines.counts["sites"]


def genotype(
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
            max=MOST_PLOIDY,
            help="Copies of the genome in a sample.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.ploidy,
    prior: Annotated[
        Prior,
        typer.Option(
            "--prior",
            case_sensitive=False,
            help="What is known of genotypes beforehand: nothing, or the allele frequencies of "
            "the sites (INFO AF, or AC and AN), and where there are none the diversity of humans.",
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
            max=_MOST_MAPPING_QUALITY,
            help="Leave out reads that are mapped with less.",
            rich_help_panel=_GENOTYPING,
        ),
    ] = _DEFAULT.least_mapping_quality,
    regions: SiteRegions = None,
    targets_file: SiteTargetsFile = None,
    output: Output = None,
    json: Json = None,
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
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
    inputs = GenotypeInputs(reads, reference, sites, given_regions(regions, targets_file))
    _check_paths(inputs, output, json)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    announce("genotype", chosen, quiet=quiet)
    statistics = RunStatistics("genotype", sys.argv, [d.name for d in devices], threads)
    options = GenotypeOptions(ploidy, prior, pcr_model, min_mapping_quality)
    with GenotypeSession(inputs, options, threads) as session:
        _genotype(session, _Run(devices, threads, output, quiet, statistics))
    _report(statistics, json)


def _check_paths(inputs: GenotypeInputs, output: Path | None, json: Path | None) -> None:
    """Refuse, before anything takes its time, what cannot be read or must not be written."""
    paths = [*inputs.reads, str(inputs.reference), inputs.sites]
    if paths.count(_STANDARD) > 1 or str(inputs.reference) == _STANDARD:
        raise UsageError("standard input (-) can be either reads or sites, once")
    for path in paths:
        if path != _STANDARD and not Path(path).exists():
            raise InputError(f"{path}: no such file")
    for written in (output, json):
        refuse_to_replace(paths, written)
        require_folder(written)


def _genotype(session: GenotypeSession, run: _Run) -> None:
    """Send the sites through the workers into the output."""
    header = genotyped_header(
        session.header,
        session.contigs,
        session.samples,
        shlex.join(["hapgpu", *sys.argv[1:]]),
        hapgpu.__version__,
    )
    timed = run.statistics.timed
    lengths = list(session.contigs.values())
    threads = min(run.threads, MOST_IO_THREADS)
    with VcfWriter(str(run.output or _STANDARD), header, lengths, threads) as output:
        workers = session.genotypers(run.devices, timed)
        run_pipeline(
            run.statistics.timed_source("read", session.batches()),
            [timed("genotype", _Worker(genotyper)) for genotyper in workers],
            timed("write", _Sink(output, run.statistics)),
            progress=choose_progress("hapgpu genotype", quiet=run.quiet, unit="sites"),
            threaded=run.threads > 1,
        )
    for what, number in session.read_counts.items():
        run.statistics.count(what, number)


def _report(statistics: RunStatistics, json: Path | None) -> None:
    counts = statistics.counts
    for what, told in _LEFT_OUT.items():
        if number := counts.get(what):
            logger.warning("%d %s", number, told)
    logger.info("%s", counts)
    if json is not None:
        statistics.write(json)

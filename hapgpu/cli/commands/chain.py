"""`hapgpu chain`: long reads mapped by minimizers and chains, as minimap2 does without -c."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain as joined
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.chaining.index.files import SUFFIX
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.index.open import open_index
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.run.workers import block_transfer, chainers_for
from hapgpu.cli.commands.chain_anchors import chain_anchor_file
from hapgpu.cli.options.chain import (
    AllChains,
    Bandwidths,
    Compressed,
    Cutoffs,
    Gap,
    Kmer,
    LeastCount,
    LeastScore,
    MaskLevel,
    MaxIterations,
    MaxSkip,
    MostSecondary,
    NoHashName,
    NoLongJoin,
    OccurrenceDistance,
    PafNoHit,
    Preset,
    ReadFraction,
    Repetitive,
    ScoreRatio,
    Secondary,
    Window,
    YesNo,
    chosen_options,
)
from hapgpu.cli.options.checks import require_inputs
from hapgpu.cli.options.common import (
    Debug,
    DeviceName,
    GpuMemory,
    Json,
    MaxRecord,
    Output,
    Quiet,
    Threads,
    Verbose,
)
from hapgpu.cli.options.files import FASTA_INDEXES, OUTPUT, STATISTICS, CommandFiles, Read
from hapgpu.cli.options.numbers import OneOrTwo
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.errors import UsageError
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.runtime.devices import Device, resolve_devices
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.statistics import RunStatistics

EXAMPLES: Final = """Nanopore reads to a reference, whose index is kept for the next run:
hapgpu index --minimizers reference.fa && hapgpu chain reference.fa reads.fq.gz --paf -o reads.paf

Accurate reads, without secondary chains:
hapgpu chain -x map-hifi --secondary=no reference.fa reads.fq.gz > reads.paf

Anchors of another program, and how many predecessors they may have:
hapgpu chain --anchors anchors.npz -o chains.npz --json statistics.json"""

FILES: Final = CommandFiles(
    reads=(
        Read("anchors"),
        Read("reference", (*FASTA_INDEXES, f".*{SUFFIX}")),
        Read("reads", standard=True),
    ),
    writes=(OUTPUT, STATISTICS),
)


@dataclass(frozen=True, slots=True)
class _Job:
    """Which reads are mapped to what, and by whom."""

    reference: Path
    reads: Sequence[str]
    options: MapOptions
    devices: Sequence[Device]
    threads: int
    max_record: int


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writes the lines of blocks and counts."""

    output: OutputFile
    statistics: RunStatistics

    def __call__(self, block: TextBlock) -> int:
        self.output.write(block.text.data)
        for what, number in block.counts.items():
            self.statistics.count(what, number)
        return block.counts["reads"]


def chain(  # noqa: PLR0913  (its parameters are the options)
    *,
    reference: Annotated[
        Path | None,
        typer.Argument(
            metavar="REF.fa|INDEX",
            help="Reference: FASTA, plain or gzip, or an index of hapgpu index --minimizers.",
        ),
    ] = None,
    reads: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="READS",
            help="FASTQ or FASTA, plain, gzip or bgzip; - is standard input.",
        ),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            "--anchors",
            metavar="FILE.npz",
            help="Instead of reads, chain the anchors in the arrays x, y and offsets, and write "
            "their scores and chains as .npz. Of the options below, -k and those of chains hold; "
            "chains are not joined.",
        ),
    ] = None,
    preset: Preset = None,
    kmer: Kmer = None,
    window: Window = None,
    hpc: Compressed = False,
    repetitive: Repetitive = None,
    cutoffs: Cutoffs = None,
    occurrence_distance: OccurrenceDistance = None,
    read_fraction: ReadFraction = None,
    gap: Gap = None,
    bandwidths: Bandwidths = None,
    min_count: LeastCount = None,
    min_score: LeastScore = None,
    max_skip: MaxSkip = None,
    max_iterations: MaxIterations = None,
    no_long_join: NoLongJoin = False,
    mask_level: MaskLevel = None,
    score_ratio: ScoreRatio = None,
    max_secondary: MostSecondary = None,
    secondary: Secondary = YesNo.YES,
    all_chains: AllChains = False,
    no_hash_name: NoHashName = False,
    paf_no_hit: PafNoHit = False,
    paf: Annotated[
        bool,
        typer.Option("--paf", help="Write PAF, the only format so far.", rich_help_panel="Output"),
    ] = False,
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
    """Map long reads to a reference: writes the lines of PAF that minimap2 2.30 does without -c.

    The options are minimap2's, with its defaults, which stand in brackets. The index
    of a FASTA file is taken where hapgpu index --minimizers put it, or else built for
    this run only.
    """
    set_up_messages("chain", quiet=quiet, verbose=verbose, debug=debug)
    cutoffs, bandwidths = cutoffs or OneOrTwo(), bandwidths or OneOrTwo()
    options = chosen_options(
        preset,
        sketch={"k": kmer, "w": window, "is_hpc": hpc or None},
        seeds={
            "repetitive": repetitive,
            "min_cutoff": cutoffs.first,
            "max_cutoff": cutoffs.second,
            "occurrence_distance": occurrence_distance,
            "read_fraction": read_fraction,
        },
        chains={
            "max_gap": gap,
            "bandwidth": bandwidths.first,
            "long_bandwidth": bandwidths.second,
            "min_count": min_count,
            "min_score": min_score,
            "max_skip": max_skip,
            "max_iterations": max_iterations,
            "joins": not no_long_join,
        },
        mappings={
            "mask_level": mask_level,
            "score_ratio": score_ratio,
            "max_secondary": max_secondary,
            "all_chains": all_chains,
            "prints_secondary": secondary is YesNo.YES,
            "uses_names": not no_hash_name,
            "prints_unmapped": paf_no_hit,
        },
    )
    _check_given(reference, reads, anchors, paf=paf)
    require_inputs(path for path in (anchors, reference, *(reads or ())) if path is not None)
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    announce("chain", chosen, quiet=quiet)
    statistics = RunStatistics("chain", sys.argv, [d.name for d in devices], threads)
    with OutputFile(output) as sink:
        if anchors is not None:
            chain_anchor_file(anchors, sink, options, devices[0], statistics, max_record)
        elif reference is not None and reads:
            job = _Job(reference, reads, options, devices, threads, max_record)
            _map(job, _Sink(sink, statistics), quiet=quiet)
    report(statistics, json)


def _check_given(
    reference: Path | None, reads: Sequence[str] | None, anchors: Path | None, *, paf: bool
) -> None:
    """Refuse a command line that does not name what is to be chained."""
    if anchors is not None and (reference is not None or paf):
        raise UsageError("--anchors takes neither a reference and reads nor --paf")
    if anchors is None and not reads:
        raise UsageError("a reference and reads are needed: hapgpu chain REF.fa READS.fq")


def _map(job: _Job, sink: _Sink, *, quiet: bool) -> None:
    statistics = sink.statistics

    def indexed(path: Path) -> MinimizerIndex:
        return open_index(path, job.options.sketch, job.threads)

    index = statistics.timed("index", indexed)(job.reference)
    chainers = chainers_for(job.devices, index, job.options)
    transfer = block_transfer(job.devices, job.threads)
    blocks = joined.from_iterable(
        read_blocks(path, transfer.size, transfer.allocate, transfer.threads, job.max_record)
        for path in job.reads
    )
    run_pipeline(
        statistics.timed_source("read", blocks),
        [statistics.timed("chain", chainer) for chainer in chainers],
        statistics.timed("write", sink),
        progress=choose_progress("hapgpu chain", quiet=quiet),
        threaded=len(chainers) > 1,
    )

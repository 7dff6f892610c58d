"""`hapgpu chain`: mapping and alignment of long reads, as minimap2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.chaining.index.files import SUFFIX
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.index.open import open_index
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.run.workers import block_transfer, chainers_for
from hapgpu.cli.aligned_run import align_reads, on_cpu
from hapgpu.cli.commands.chain_anchors import chain_anchor_file
from hapgpu.cli.fastx_run import WARNINGS, ReadFiles, process_reads
from hapgpu.cli.options.align import AlignArguments, LineArguments
from hapgpu.cli.options.chain import MapArguments
from hapgpu.cli.options.checks import require_inputs
from hapgpu.cli.options.common import ComputeOptions, NoPG, Output, ReportOptions
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    OUTPUT,
    STATISTICS,
    CommandFiles,
    Read,
)
from hapgpu.cli.run import Run, start_run
from hapgpu.errors import UsageError
from hapgpu.io.files.output import OutputFile

EXAMPLES: Final = """Map Nanopore reads, and keep the index for the next run:
hapgpu index --minimizers reference.fa && hapgpu chain reference.fa reads.fq.gz --paf -o reads.paf

Align reads to a sorted BAM:
hapgpu chain -a reference.fa reads.fq.gz | samtools sort -o reads.bam

Map accurate reads, without secondary mappings:
hapgpu chain -x map-hifi --secondary=no reference.fa reads.fq.gz > reads.paf

Chain the anchors of another program, and count their predecessors:
hapgpu chain --anchors anchors.npz -o chains.npz --json statistics.json"""

FILES: Final = CommandFiles(
    reads=(
        Read("anchors"),
        Read("reference", (*FASTA_INDEXES, f".*{SUFFIX}")),
        Read("reads", ALIGNMENT_INDEXES, standard=True),
    ),
    writes=(OUTPUT, STATISTICS),
)

_SHOWN: Final = ("reads", "bases", "mapped", "records")
_SHOWN_OF_ANCHORS: Final = ("reads", "anchors", "chains")
"""Counts of the closing summary."""


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
            help="FASTQ, FASTA, plain, gzip or bgzip, or unaligned BAM, CRAM or SAM; - is standard "
            "input.",
        ),
    ] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            "--anchors",
            metavar="FILE.npz",
            help="Chain ready-made anchors (arrays x, y, offsets) instead of reads, to .npz. Only "
            "-k and the options on chains apply.",
        ),
    ] = None,
    arguments: MapArguments,
    alignment: AlignArguments,
    lines: LineArguments,
    output: Output = None,
    no_pg: NoPG = False,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Map long reads to a reference; writes the same PAF and SAM as minimap2 2.30.

    Bases are aligned with -c, -a or --cs, on the CPU. The options are minimap2's; defaults are in
    brackets. For a FASTA file, the index of hapgpu index --minimizers is used, or an index is
    built for this run.
    """
    options = arguments.map_options(alignment)
    form = lines.alignment_form(output, alignment.gap_open_or_format or (), with_pg=not no_pg)
    _check_inputs(reference, reads, anchors, writes_reads=lines.paf or form is not None)
    require_inputs(path for path in (anchors, reference, *(reads or ())) if path is not None)
    run = start_run(
        "chain",
        compute if form is None else on_cpu(compute),
        reporting,
        output,
        variant=form.variant if form else (),
    )
    if form is not None and reference is not None and reads:
        files = ReadFiles(
            reads,
            block_transfer(run.devices, run.threads),
            compute.max_record,
            form.lines.copies_comments,
        )
        align_reads(run, reference, files, options, form, output)
    else:
        with OutputFile(output) as file:
            if anchors is not None:
                chain_anchor_file(anchors, file, options, run, compute.max_record)
            elif reference is not None and reads:
                _map(run, reference, reads, options, compute.max_record, file)
    run.finish(_SHOWN if anchors is None else _SHOWN_OF_ANCHORS, WARNINGS)


def _check_inputs(
    reference: Path | None,
    reads: Sequence[str] | None,
    anchors: Path | None,
    *,
    writes_reads: bool,
) -> None:
    """Refuse a command line without inputs, or with both kinds of them."""
    if anchors is not None and (reference is not None or writes_reads):
        raise UsageError(
            "--anchors: chains anchors to .npz; drop the reference, reads and the options on PAF"
            " and SAM"
        )
    if anchors is None and not reads:
        raise UsageError(
            "REF.fa, READS: missing; give a reference and reads, or --anchors FILE.npz"
        )


def _map(
    run: Run,
    reference: Path,
    reads: Sequence[str],
    options: MapOptions,
    max_record: int,
    output: OutputFile,
) -> None:
    """Map the reads of all files, one file after the other."""
    with run.showing("bases", "index") as progress:

        def opened(path: Path) -> MinimizerIndex:
            return open_index(path, options.sketch, run.threads, progress)

        index = run.statistics.timed("index", opened)(reference)
    files = ReadFiles(reads, block_transfer(run.devices, run.threads), max_record)
    process_reads(run, "chain", files, chainers_for(run.devices, index, options), output.write)

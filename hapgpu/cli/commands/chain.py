"""`hapgpu chain`: mapping and alignment of long reads, as minimap2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from hapgpu.chaining.index.files import SUFFIX
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.index.open import open_index
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.run.workers import block_transfer, chainers_for
from hapgpu.cli.aligned_run import align_reads, on_cpu
from hapgpu.cli.commands.chain_anchors import chain_anchor_file
from hapgpu.cli.fastx_run import WARNINGS, ReadFiles, process_reads
from hapgpu.cli.options.align import AlignArguments, LineArguments, gap_open_and_format
from hapgpu.cli.options.chain import MapArguments, YesNo
from hapgpu.cli.options.checks import require_inputs
from hapgpu.cli.options.common import ComputeOptions, NoPG, Output, ReportOptions
from hapgpu.cli.options.effects import DROP_ONE, AllBut, NoEffect, contradicts
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    output_of,
)
from hapgpu.cli.options.input_kinds import ANCHORS, CHAIN_REFERENCE, READS
from hapgpu.cli.options.output_names import ALIGNMENTS, ANY_FORMAT, MAPPINGS, Formats
from hapgpu.cli.run import Run, start_run
from hapgpu.errors import UsageError
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.text_output import WriteText, open_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

EXAMPLES: Final = """Map Nanopore reads, and keep the index for the next run:
hapgpu index --minimizers reference.fa && hapgpu chain reference.fa reads.fq.gz --paf -o reads.paf

Align reads to a sorted BAM:
hapgpu chain -a reference.fa reads.fq.gz | samtools sort -o reads.bam

Map accurate reads, without secondary mappings:
hapgpu chain -x map-hifi --secondary=no reference.fa reads.fq.gz > reads.paf

Chain the anchors of another program, and count their predecessors:
hapgpu chain --anchors anchors.npz -o chains.npz --json statistics.json"""


def _formats(values: Values) -> Formats:
    """Return the formats of the output: those of SAM also if only its name asks for them."""
    if values.get("anchors"):
        return ANY_FORMAT if values.get("reference") else ("npz",)
    _, by_letter = gap_open_and_format(values.get("gap_open_or_format") or ())
    if values.get("output_fmt") or by_letter or (values.get("paf") and values.get("sam")):
        return ANY_FORMAT
    if values.get("paf"):
        return MAPPINGS
    return ALIGNMENTS if values.get("sam") else MAPPINGS + ALIGNMENTS


FILES: Final = CommandFiles(
    reads=(
        Read("anchors", expected=ANCHORS),
        Read("reference", (*FASTA_INDEXES, f".*{SUFFIX}"), expected=CHAIN_REFERENCE),
        Read("reads", ALIGNMENT_INDEXES, standard=True, expected=READS),
    ),
    writes=(output_of(_formats), STATISTICS),
)


def _is_sam(values: Values) -> bool:
    """Tell whether SAM, BAM or CRAM is written."""
    return _lines(values).chosen_format(values["output"], _opens(values)) is not None


def _is_aligned(values: Values) -> bool:
    """Tell whether bases are aligned."""
    return bool(values["cigar"] or values["cs"]) or _is_sam(values)


def _lines(values: Values) -> LineArguments:
    return LineArguments(**{option.name: values[option.name] for option in fields(LineArguments)})


def _opens(values: Values) -> Sequence[str]:
    return cast("Sequence[str]", values["gap_open_or_format"] or ())


def _names(group: type[DataclassInstance]) -> list[str]:
    return [option.name for option in fields(group)]


_OF_ANCHORS: Final = (
    *("anchors", "output", "kmer", "preset", "max_gap", "bandwidths", "min_count", "min_score"),
    *("max_skip", "max_iterations"),
    *_names(ComputeOptions),
    *_names(ReportOptions),
)
_OF_SAM: Final = "long_cigar", "soft_clip", "hit_only", "secondary_seq", "read_group", "no_pg"

NO_EFFECT: Final = (
    NoEffect(
        AllBut(*_OF_ANCHORS),
        lambda values: values["anchors"] is not None,
        f"with --anchors; {DROP_ONE}",
    ),
    NoEffect(_OF_SAM, lambda values: not _is_sam(values), "in PAF; add -a"),
    NoEffect(
        [*_names(AlignArguments), "md", "ds", "eqx", "comments"],
        lambda values: not _is_aligned(values),
        "without base alignment; add -c, -a or --cs",
    ),
    NoEffect(["paf_no_hit"], _is_sam, "in SAM; drop it"),
    NoEffect(
        ["secondary_seq"],
        lambda values: values["secondary"] is YesNo.NO or values["max_secondary"] == 0,
        f"with --secondary=no or -N 0; {DROP_ONE}",
    ),
    NoEffect(
        ["cs"],
        lambda values: (values["md"] or values["ds"]) and (values["cigar"] or _is_sam(values)),
        f"with --MD or --ds; {DROP_ONE}",
    ),
    contradicts("md", "--MD", "ds"),
    NoEffect(
        ["cutoffs"], lambda values: (values["repetitive"] or 0) >= 1, f"with -f INT; {DROP_ONE}"
    ),
    NoEffect(
        ["max_secondary"],
        lambda values: values["score_ratio"] == 0 and values["max_secondary"],
        f"with -p 0; {DROP_ONE}",
    ),
    contradicts("all_chains", "-P", "mask_level", "score_ratio", "max_secondary"),
)

_SHOWN: Final = ("reads", "bases", "mapped", "records")
_SHOWN_OF_ANCHORS: Final = ("reads", "anchors", "chains")
"""Counts of the closing summary."""


def chain(
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
    options = arguments.map_options(alignment, compute.max_record)
    form = lines.alignment_form(output, alignment.gap_open_or_format or (), with_pg=not no_pg)
    if anchors is None and not reads:
        raise UsageError(
            "REF.fa, READS: missing; give a reference and reads, or --anchors FILE.npz"
        )
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
    elif anchors is not None:
        with OutputFile(output) as file:
            chain_anchor_file(anchors, file, options, run, compute.max_record)
    elif reference is not None and reads:
        with open_text(output, run.threads) as write:
            _map(run, reference, reads, options, compute.max_record, write)
    run.finish(_SHOWN if anchors is None else _SHOWN_OF_ANCHORS, WARNINGS)


def _map(
    run: Run,
    reference: Path,
    reads: Sequence[str],
    options: MapOptions,
    max_record: int,
    write: WriteText,
) -> None:
    """Map the reads of all files, one file after the other."""
    with run.showing("bases", "index") as progress:

        def opened(path: Path) -> MinimizerIndex:
            return open_index(path, options.sketch, run.threads, progress)

        index = run.statistics.timed("index", opened)(reference)
    files = ReadFiles(reads, block_transfer(run.devices, run.threads), max_record)
    process_reads(run, "chain", files, chainers_for(run.devices, index, options), write)

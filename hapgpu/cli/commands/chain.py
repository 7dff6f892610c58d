"""`hapgpu chain`: mapping and alignment of long reads, as minimap2."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from hapgpu.cli.options.align import (
    AlignArguments,
    AlignmentForm,
    LineArguments,
    gap_open_and_format,
)
from hapgpu.cli.options.chain import LongReadArguments, SketchArguments, YesNo
from hapgpu.cli.options.common import ComputeOptions, NoPG, OptionalReads, Output, ReportOptions
from hapgpu.cli.options.effects import DROP_ONE, AllBut, NoEffect, contradicts
from hapgpu.cli.options.file_kinds import (
    ALIGNMENTS,
    ANCHORS,
    ANY_FORMAT,
    CHAIN_INDEX,
    CHAIN_REFERENCE,
    MAPPINGS,
    READS,
    REFERENCE,
    Expected,
    Formats,
)
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    alignment_formats,
    output_of,
)
from hapgpu.cli.options.input_checks import BuiltIndex
from hapgpu.errors import UsageError
from hapgpu.io.files.reread import is_pipe
from hapgpu.longread.index.names import SUFFIX, default_index_path, index_command

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from hapgpu.io.alignments.text_pipeline import SamOutput

EXAMPLES: Final = """Map Nanopore reads, and keep the index for the next run:
hapgpu index --minimizers reference.fa
hapgpu chain reference.fa reads.fq.gz --paf -o reads.paf

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
    formats = alignment_formats({**values, "output_fmt": values.get("output_fmt") or by_letter})
    is_sam = formats != ALIGNMENTS or values.get("sam")
    if values.get("paf"):
        return ANY_FORMAT if is_sam else MAPPINGS
    return formats if is_sam else MAPPINGS + ALIGNMENTS


_BASES: Final = replace(REFERENCE, words="FASTA (the reference, whose bases are aligned)")


def _reference_kinds(values: Values) -> Expected:
    """Return the kinds of the reference: an index has no bases to align to."""
    return _BASES if _is_aligned(values) else CHAIN_REFERENCE


def _built_index(values: Values) -> BuiltIndex:
    """Return the index of the reference, which may not exist."""
    fasta = values["reference"]
    arguments = {option.name: values[option.name] for option in fields(SketchArguments)}
    sketch = SketchArguments(**arguments).sketch_options()
    return BuiltIndex(default_index_path(fasta, sketch), CHAIN_INDEX, index_command(fasta, sketch))


FILES: Final = CommandFiles(
    reads=(
        Read("anchors", expected=ANCHORS),
        Read(
            "reference",
            (*FASTA_INDEXES, f".*{SUFFIX}"),
            expected=_reference_kinds,
            built_index=_built_index,
        ),
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
    NoEffect(
        ["uncompressed"],
        lambda values: _lines(values).chosen_format(None, _opens(values)) in {"sam", "cram"},
        f"with -O sam or cram; {DROP_ONE}",
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
    reads: OptionalReads = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            "--anchors",
            metavar="FILE.npz",
            help="Chain ready-made anchors (arrays x, y, offsets) instead of reads, to .npz. Only "
            "-k and the options on chains apply.",
        ),
    ] = None,
    arguments: LongReadArguments,
    alignment: AlignArguments,
    lines: LineArguments,
    output: Output = None,
    no_pg: NoPG = False,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Map long reads to a reference; writes the same PAF and SAM as minimap2 2.30.

    Bases are aligned with -c, -a or --cs. The options are minimap2's; defaults are in brackets.
    For a FASTA file, the index of hapgpu index --minimizers is used, or an index is built for
    this run.
    """
    from hapgpu.cli.run import start_run
    from hapgpu.io.alignments.text_pipeline import EXCLUDED_WARNING, ReadFiles
    from hapgpu.longread.pipeline import align_long_reads, chain_anchor_file, map_long_reads

    options = arguments.long_read_options(alignment, compute.max_record)
    form = lines.alignment_form(output, alignment.gap_open_or_format or (), with_pg=not no_pg)
    if anchors is None and not reads:
        raise UsageError(
            "REF.fa, READS: missing; give a reference and reads, or --anchors FILE.npz"
        )
    run = start_run(
        "chain",
        compute,
        reporting,
        output,
        variant=form.variant if form else (),
    )
    if anchors is not None:
        chain_anchor_file(run, anchors, options, compute.max_record, output)
    elif reference is not None and reads and form is None:
        files = ReadFiles(reads, compute.max_record)
        map_long_reads(run, reference, files, options, output)
    elif reference is not None and reads and form is not None:
        files = ReadFiles(reads, compute.max_record, form.lines.copies_comments)
        sam_or_paf = _output_of(form, output, reference)
        align_long_reads(run, reference, files, options, form.lines, sam_or_paf)
    run.finish(_SHOWN if anchors is None else _SHOWN_OF_ANCHORS, EXCLUDED_WARNING)


def _output_of(
    form: AlignmentForm, output: Path | None, reference: Path
) -> SamOutput | Path | None:
    """Return the output of SAM, or the file of PAF; refuse CRAM if the reference is a pipe."""
    from hapgpu.io.alignments.text_pipeline import SamOutput

    if form.format is None:
        return output
    if form.format == "cram" and is_pipe(str(reference)):
        raise UsageError(f"{reference}: is a pipe, but CRAM needs the reference as a file")
    command_line = " ".join(sys.argv) if form.has_program else None
    return SamOutput(output, form.format, form.group, command_line, form.uncompressed)

"""`hapgpu map`: all hits of short reads in a reference, with at most one error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import (
    ComputeOptions,
    HitOnly,
    NoPG,
    Output,
    OutputFmt,
    OutputFormat,
    ReadGroupLine,
    Reads,
    ReportOptions,
    SecondarySeq,
    Uncompressed,
)
from hapgpu.cli.options.effects import UNCOMPRESSED, NoEffect
from hapgpu.cli.options.file_kinds import MAP_INDEX, MAP_REFERENCE, READS
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STANDARD,
    STATISTICS,
    CommandFiles,
    Read,
    Values,
    alignment_formats,
    output_of,
)
from hapgpu.cli.options.input_checks import BuiltIndex
from hapgpu.errors import UsageError
from hapgpu.shortread.index.names import SUFFIX, default_index_path, index_command

EXAMPLES: Final = r"""Find all hits of the reads of two files:
hapgpu index reference.fa
hapgpu map reference.fa reads_1.fq.gz reads_2.fq.gz -o hits.bam

Write only the best hits, sorted:
hapgpu map reference.fa reads.fq.gz --best -R '@RG\tID:1\tSM:a' \
    | samtools sort -o best.bam"""


def _built_index(values: Values) -> BuiltIndex:
    """Return the index of the reference, which may not exist."""
    fasta = values["reference"]
    path = default_index_path(fasta)
    return BuiltIndex(path, MAP_INDEX, index_command(fasta, path))


FILES: Final = CommandFiles(
    reads=(
        Read(
            "reference",
            (*FASTA_INDEXES, SUFFIX),
            expected=MAP_REFERENCE,
            built_index=_built_index,
        ),
        Read("reads", ALIGNMENT_INDEXES, standard=True, expected=READS),
    ),
    writes=(output_of(alignment_formats), STATISTICS),
)

NO_EFFECT: Final = (
    UNCOMPRESSED,
    NoEffect(
        ["no_indels", "best"],
        lambda values: values["errors"] == 0,
        "with --errors 0; drop it",
    ),
)

logger = logging.getLogger(__name__)

_MAPPING: Final = "Mapping"


def map(  # noqa: A001  (the name of the command; its parameters are the options)
    *,
    reference: Annotated[
        Path,
        typer.Argument(
            metavar="REF.fa|INDEX",
            help="Reference: FASTA, plain or gzip, or an index of hapgpu index.",
        ),
    ],
    reads: Reads,
    errors: Annotated[
        int,
        typer.Option(
            "--errors",
            metavar="INT",
            min=0,
            max=1,
            help="Maximum mismatches, inserted and deleted bases of a hit.",
            rich_help_panel=_MAPPING,
        ),
    ] = 1,
    no_indels: Annotated[
        bool,
        typer.Option(
            "--no-indels", help="Find hits with mismatches only.", rich_help_panel=_MAPPING
        ),
    ] = False,
    forward_only: Annotated[
        bool,
        typer.Option(
            "--forward-only",
            help="Exclude hits on the reverse strand.",
            rich_help_panel=_MAPPING,
        ),
    ] = False,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Write only hits with the fewest errors.",
            rich_help_panel=_MAPPING,
        ),
    ] = False,
    max_hits: Annotated[
        int | None,
        typer.Option(
            "--max-hits",
            metavar="INT",
            min=1,
            help="Write at most N records per read; NH counts all hits.",
            rich_help_panel=_MAPPING,
        ),
    ] = None,
    read_group: ReadGroupLine = None,
    hit_only: HitOnly = False,
    secondary_seq: SecondarySeq = False,
    output: Output = None,
    output_fmt: OutputFmt = None,
    uncompressed: Uncompressed = False,
    no_pg: NoPG = False,
    compute: ComputeOptions,
    reporting: ReportOptions,
) -> None:
    """Find all hits of short reads in a reference, with at most one error, on both strands.

    Writes one SAM record per hit, in the order of the reads; the best hit of a read is first and
    primary. Reads are mapped one by one, not as pairs. Reads of fewer than 10 bases are written
    unmapped. For a FASTA file, the index of hapgpu index is used, or an index is built for this
    run.
    """
    from hapgpu.cli.run import start_run
    from hapgpu.io.alignments.text_pipeline import EXCLUDED_WARNING, ReadFiles, SamOutput
    from hapgpu.io.alignments.unsorted_header import parse_read_group
    from hapgpu.shortread.pipeline import ShortReadOptions, map_short_reads
    from hapgpu.shortread.sam.tables import SamOptions
    from hapgpu.shortread.search.hits import SearchOptions

    group = parse_read_group(read_group) if read_group is not None else None
    _check_reference(reference, output, output_fmt)
    run = start_run("map", compute, reporting, output)
    map_short_reads(
        run,
        reference,
        ReadFiles(reads, compute.max_record),
        ShortReadOptions(
            search=SearchOptions(errors=errors, indels=not no_indels, forward_only=forward_only),
            sam=SamOptions(
                best=best,
                max_hits=max_hits,
                unmapped=not hit_only,
                read_group=group.identifier if group else None,
                secondary_seq=secondary_seq,
            ),
        ),
        SamOutput(output, output_fmt, group, None if no_pg else " ".join(sys.argv), uncompressed),
    )
    _warn(run.statistics.counts)
    run.finish(("reads", "mapped", "hits", "records"), EXCLUDED_WARNING)


def _check_reference(reference: Path, output: Path | None, chosen: OutputFormat | None) -> None:
    """Refuse an index as the reference of CRAM."""
    from hapgpu.io.alignments.formats import output_format
    from hapgpu.shortread.index.files import FM_INDEX_FILE

    written = output_format(str(output or STANDARD), chosen)
    if written == "cram" and FM_INDEX_FILE.is_index(reference):
        raise UsageError(
            f"{reference}: is an index, but CRAM needs the reference; give the FASTA file that it"
            " was built from, beside which the index is found"
        )


def _warn(counts: Mapping[str, int]) -> None:
    from hapgpu.shortread.search.hits import MIN_READ_BASES

    if count := counts.get("too_short"):
        logger.warning("%s not mapped: fewer than %d bases", _reads(count), MIN_READ_BASES)
    if count := counts.get("reads_over_max_hits"):
        logger.warning("%s with more hits than written: limited by --max-hits", _reads(count))


def _reads(count: int) -> str:
    return "1 read" if count == 1 else f"{count:,} reads"

"""`hapgpu map`: every place of a reference where reads fit with at most one error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.checks import require_inputs
from hapgpu.cli.options.common import (
    Debug,
    DeviceName,
    GpuMemory,
    Json,
    MaxRecord,
    NoPG,
    Output,
    OutputFmt,
    Quiet,
    Threads,
    Verbose,
)
from hapgpu.cli.options.files import FASTA_INDEXES, OUTPUT, STATISTICS, CommandFiles, Read
from hapgpu.cli.terminal.messages import set_up_messages
from hapgpu.cli.terminal.progress import choose_progress
from hapgpu.cli.terminal.summary import announce, report
from hapgpu.io.alignments.text_writer import TextSink, open_sam_text
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.mapping.index.files import SUFFIX
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.index.open import open_index
from hapgpu.mapping.run.workers import block_transfer, mappers_for
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.sam.read_group import ReadGroup, parse_read_group
from hapgpu.mapping.search.hits import MIN_READ_BASES, SearchOptions
from hapgpu.runtime.devices import resolve_devices
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.statistics import RunStatistics
from hapgpu.version import __version__

EXAMPLES: Final = r"""All hits of the reads of two files:
hapgpu index reference.fa && hapgpu map reference.fa reads_1.fq.gz reads_2.fq.gz -o hits.bam

The best hits only, sorted:
hapgpu map reference.fa reads.fq.gz --best --rg '@RG\tID:1\tSM:a' | samtools sort -o best.bam"""

FILES: Final = CommandFiles(
    reads=(
        Read("reference", (*FASTA_INDEXES, SUFFIX)),
        Read("reads", standard=True),
        Read("index"),
    ),
    writes=(OUTPUT, STATISTICS),
)

logger = logging.getLogger(__name__)

_MAPPING: Final = "Mapping"


@dataclass(frozen=True, slots=True)
class _Sink:
    """Writes the records of mapped blocks and counts."""

    write: TextSink
    statistics: RunStatistics

    def __call__(self, block: TextBlock) -> int:
        self.write(block.text.data)
        for what, number in block.counts.items():
            self.statistics.count(what, number)
        return block.counts["reads"]


def map(  # noqa: A001, PLR0913
    *,
    reference: Annotated[
        Path,
        typer.Argument(metavar="REF.fa", help="Reference: FASTA, plain or gzip."),
    ],
    reads: Annotated[
        list[str],
        typer.Argument(
            metavar="READS",
            help="FASTQ or FASTA, plain, gzip or bgzip; - is standard input.",
        ),
    ],
    index: Annotated[
        Path | None,
        typer.Option(
            "--index",
            metavar="FILE",
            help="The index, where it does not lie beside the reference as REF.fa.hgx.",
        ),
    ] = None,
    errors: Annotated[
        int,
        typer.Option(
            "--errors",
            metavar="N",
            min=0,
            max=1,
            help="Mismatches, inserted and deleted bases that a hit may have: 0 or 1.",
            rich_help_panel=_MAPPING,
        ),
    ] = 1,
    no_indels: Annotated[
        bool,
        typer.Option("--no-indels", help="Mismatches only.", rich_help_panel=_MAPPING),
    ] = False,
    forward_only: Annotated[
        bool,
        typer.Option(
            "--forward-only",
            help="Leave out hits on the reverse strand.",
            rich_help_panel=_MAPPING,
        ),
    ] = False,
    best: Annotated[
        bool,
        typer.Option(
            "--best",
            help="Of a read with exact hits, leave out those with an error.",
            rich_help_panel=_MAPPING,
        ),
    ] = False,
    max_hits: Annotated[
        int | None,
        typer.Option(
            "--max-hits",
            metavar="N",
            min=1,
            help="Write at most N records of a read; NH still tells the number of hits.",
            rich_help_panel=_MAPPING,
        ),
    ] = None,
    read_group: Annotated[
        str | None,
        typer.Option(
            "--rg",
            metavar="LINE",
            help=r"Read group of all reads, as in '@RG\tID:run1\tSM:sample'.",
            rich_help_panel="Output",
        ),
    ] = None,
    no_unmapped: Annotated[
        bool,
        typer.Option(
            "--no-unmapped", help="Leave out reads without a hit.", rich_help_panel="Output"
        ),
    ] = False,
    output: Output = None,
    output_fmt: OutputFmt = None,
    no_pg: NoPG = False,
    json: Json = None,
    threads: Threads,
    device: DeviceName = "auto",
    gpu_mem: GpuMemory = None,
    max_record: MaxRecord = MAX_RECORD,
    quiet: Quiet = False,
    verbose: Verbose = False,
    debug: Debug = False,
) -> None:
    """Find every place where reads fit the reference with at most one error, on both strands.

    Writes a SAM record for each hit, in the order of the reads, the best first
    and primary. Reads are mapped one by one, not as pairs. Reads of fewer than 10
    bases are written unmapped.
    """
    set_up_messages("map", quiet=quiet, verbose=verbose, debug=debug)
    group = parse_read_group(read_group) if read_group is not None else None
    require_inputs([reference, *reads])
    devices, chosen = resolve_devices(device, threads=threads, gpu_memory=gpu_mem)
    announce("map", chosen, quiet=quiet)
    statistics = RunStatistics("map", sys.argv, [d.name for d in devices], threads)

    def indexed(fasta: Path) -> FMIndexArrays:
        return open_index(fasta, devices[0], index)

    data = statistics.timed("index", indexed)(reference)
    mappers = mappers_for(
        devices,
        data,
        SearchOptions(errors, not no_indels, forward_only),
        SamOptions(best, max_hits, not no_unmapped, group.identifier if group else None),
    )
    transfer = block_transfer(devices, threads)
    with open_sam_text(
        str(output) if output else "-",
        _header(data, group, with_pg=not no_pg),
        format=output_fmt,
        threads=threads,
        reference=reference,
        copying_threads=transfer.threads,
    ) as write:
        blocks = chain.from_iterable(
            read_blocks(path, transfer.size, transfer.allocate, transfer.threads, max_record)
            for path in reads
        )
        run_pipeline(
            statistics.timed_source("read", blocks),
            [statistics.timed("map", mapper) for mapper in mappers],
            statistics.timed("write", _Sink(write, statistics)),
            progress=choose_progress("hapgpu map", quiet=quiet),
            threaded=len(mappers) > 1,
        )
    _warn(statistics.counts)
    report(statistics, json)


def _header(index: FMIndexArrays, group: ReadGroup | None, *, with_pg: bool) -> SamHeader:
    header = SamHeader.from_references(
        index.contigs.names, index.contigs.lengths.tolist(), "SO:unsorted\tGO:query"
    )
    if group is not None:
        header = header.with_line(group.line)
    if not with_pg:
        return header
    return header.with_program("hapgpu", __version__, " ".join(sys.argv))


def _warn(counts: Mapping[str, int]) -> None:
    if short := counts.get("too_short"):
        logger.warning("%s fewer than %d bases: not mapped", _reads_have(short), MIN_READ_BASES)
    if cut := counts.get("reads_over_max_hits"):
        logger.warning("%s more hits than were written (--max-hits)", _reads_have(cut))


def _reads_have(count: int) -> str:
    return "1 read has" if count == 1 else f"{count:,} reads have"

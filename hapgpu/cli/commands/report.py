"""`hapgpu report`: one HTML page of the files that the other commands write."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from hapgpu.cli.options.common import MaxRecord, Output, ReportOptions, Threads
from hapgpu.cli.options.file_kinds import ALIGNED_READS, REFERENCE, RESULTS
from hapgpu.cli.options.files import (
    ALIGNMENT_INDEXES,
    FASTA_INDEXES,
    STATISTICS,
    VARIANT_INDEXES,
    CommandFiles,
    Read,
    in_all_runs,
    output_of,
)
from hapgpu.io.files.record_limit import MAX_RECORD

EXAMPLES: Final = """Show genotypes with the reads that support them:
hapgpu report genotypes.vcf.gz --reads sample.bam \\
    --reference reference.fa -o report.html

Show mappings of long reads, and where the time of the run went:
hapgpu chain reference.fa reads.fastq.gz --paf -o reads.paf --json chain.json
hapgpu report reads.paf chain.json -o report.html"""

FILES: Final = CommandFiles(
    reads=(
        Read("files", tuple({*ALIGNMENT_INDEXES, *VARIANT_INDEXES}), expected=RESULTS),
        Read("reads", ALIGNMENT_INDEXES, expected=ALIGNED_READS, by_index=in_all_runs),
        Read(
            "reference",
            FASTA_INDEXES,
            expected=REFERENCE,
            by_index=lambda values: bool(values["reads"]),
        ),
    ),
    writes=(output_of(("HTML",)), STATISTICS),
)


def report(
    *,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="VCF, BCF, PAF, BAM, SAM, CRAM, likelihoods or --json statistics: a section each.",
        ),
    ],
    reads: Annotated[
        list[Path] | None,
        typer.Option(
            "--reads",
            metavar="READS.bam",
            help="Aligned reads of the sites: BAM or CRAM with its index; repeatable.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference", metavar="REF.fa", help="Reference of the sites, and of CRAM: FASTA."
        ),
    ] = None,
    output: Output = None,
    threads: Threads,
    max_record: MaxRecord = MAX_RECORD,
    reporting: ReportOptions,
) -> None:
    """Write one HTML page of the files that hapgpu writes, to be opened in a browser.

    The page has a section per file, recognised by its content: variants with a summary and their
    reads (VCF, BCF), mappings (PAF), alignments (BAM, SAM, CRAM), likelihoods of pairhmm, and run
    statistics of --json and of bench. It holds all that it shows: it needs no network.
    """
    from hapgpu.cli.run import Run
    from hapgpu.io.files.output import OutputFile
    from hapgpu.report.libraries import require_libraries
    from hapgpu.report.page import SectionOptions, render
    from hapgpu.report.sections import kinds_of, sections_of
    from hapgpu.runtime.devices import resolve_devices

    require_libraries()
    kinds = kinds_of(files, has_reads=bool(reads), has_reference=reference is not None)
    devices, description = resolve_devices("cpu", threads=threads)
    run = Run("report", devices, threads, reporting, description, output)
    run.announce()
    count = run.statistics.count
    count("records", 0)

    with run.showing("records") as progress:

        def advance(records: int) -> None:
            count("records", records)
            progress.advance(records)

        options = SectionOptions(
            reads=tuple(map(str, reads or ())),
            reference=reference,
            threads=threads,
            max_record=max_record,
            advance=advance,
        )
        sections = list(sections_of(files, kinds, options))
    command_line = shlex.join(["hapgpu", *sys.argv[1:]])
    with OutputFile(output) as file:
        for piece in render(_title(files), sections, command_line):
            file.write(piece.encode("utf-8", "replace"))  # lone surrogates of names and of JSON
    run.finish(("records",))


def _title(files: list[Path]) -> str:
    """Return the heading of the page: the names of a few files, or their number."""
    names = [file.name for file in files]
    return " · ".join(names) if len(names) <= 3 else f"{names[0]} and {len(names) - 1} more files"

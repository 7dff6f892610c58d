"""The run of `hapgpu chain` with base alignment: reads in, PAF, SAM, BAM or CRAM out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from hapgpu.chaining.align.start import code_targets
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.index.open import open_index_with_bases
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.run.workers import aligners_for
from hapgpu.cli.fastx_run import ReadFiles, process_reads
from hapgpu.cli.options.align import AlignmentForm
from hapgpu.cli.options.common import ComputeOptions
from hapgpu.cli.options.files import STANDARD
from hapgpu.cli.run import Run
from hapgpu.errors import UsageError
from hapgpu.io.alignments.text_writer import open_sam_text
from hapgpu.io.alignments.unsorted_header import unsorted_header
from hapgpu.io.files.reread import is_pipe
from hapgpu.io.files.text_output import open_text
from hapgpu.io.genome.fasta import FastaRecords


def on_cpu(compute: ComputeOptions) -> ComputeOptions:
    """Return the options with the CPU as device.

    Raises
    ------
    UsageError
        A GPU is named.
    """
    if compute.device not in {"auto", "cpu"}:
        raise UsageError(
            f"--device {compute.device}: bases are aligned on the CPU only; drop --device, or -c,"
            " -a and --cs"
        )
    return replace(compute, device="cpu")


def align_reads(
    run: Run,
    reference: Path,
    files: ReadFiles,
    options: MapOptions,
    form: AlignmentForm,
    output: Path | None,
) -> None:
    """Align the reads of all files, one file after the other.

    Parameters
    ----------
    run
        The run, on the CPU.
    reference
        FASTA.
    files
        The reads.
    options
        Options of long-read mapping.
    form
        Format and lines of the output.
    output
        The file; None is standard output.

    Raises
    ------
    UsageError
        The output is CRAM, whose reference is read twice, and the reference is a pipe.
    InputError
        A file cannot be read, or a record is malformed.
    OutputError
        The output cannot be written.
    """
    if form.format == "cram" and is_pipe(str(reference)):
        raise UsageError(f"{reference}: is a pipe, but CRAM needs the reference as a file")
    with run.showing("bases", "index") as progress:

        def opened(path: Path) -> tuple[MinimizerIndex, FastaRecords]:
            return open_index_with_bases(path, options.sketch, run.threads, progress)

        index, records = run.statistics.timed("index", opened)(reference)
    targets = code_targets(records.sequences)
    del records
    workers = aligners_for(run.devices, index, targets, options, form.lines)
    if form.format is None:
        with open_text(output, run.threads) as write:
            process_reads(run, "align", files, workers, write)
        return
    with open_sam_text(
        str(output) if output else STANDARD,
        unsorted_header(
            index.names,
            index.lengths.tolist(),
            form.group,
            " ".join(sys.argv) if form.has_program else None,
        ),
        format=form.format,
        threads=run.threads,
        reference=reference,
    ) as write:
        process_reads(run, "align", files, workers, write)

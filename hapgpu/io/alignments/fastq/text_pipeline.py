"""Pipeline from files of reads to lines of text, which the mapping of all reads has in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from hapgpu.io.alignments.fastq.read_files import read_file
from hapgpu.io.alignments.text_writer import open_sam_text
from hapgpu.io.alignments.unsorted_header import ReadGroup, unsorted_header
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, ReadSettings
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.io.files.text_output import WriteText
from hapgpu.runtime.inputs import expect_file
from hapgpu.runtime.output import CountingSink, Output
from hapgpu.runtime.pipeline import Budget, run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.run_context import RunContext

EXCLUDED: Final = "excluded_by_flags"
"""Count of the secondary and supplementary records, which are not read."""
EXCLUDED_WARNING: Final = {EXCLUDED: "secondary and supplementary records excluded"}
"""Words of the warning, by the count."""
_WAITING_TEXT: Final = 128 << 20
_TEXT_PER_WORKER: Final = 16 << 20
"""Bytes of text that wait to be written, in all and for each worker besides: then workers wait."""


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files of reads.

    Attributes
    ----------
    paths
        FASTQ, FASTA, BAM, CRAM or SAM, read one file after the other; `-` is standard input.
    max_record
        The maximum size of a record, in bytes.
    with_comments
        Whether the tags of BAM, CRAM and SAM follow the names, as lines of SAM have them.
    """

    paths: Sequence[str]
    max_record: int
    with_comments: bool = False


@dataclass(frozen=True, slots=True)
class SamOutput:
    """Output of SAM, BAM or CRAM in the order of the reads.

    Attributes
    ----------
    path
        The file; None is standard output.
    format
        sam, bam or cram; None: by the extension of the path, else SAM.
    group
        Read group of all reads, if given.
    command_line
        Command line for an @PG line; None for no such line.
    """

    path: Path | None
    format: str | None
    group: ReadGroup | None
    command_line: str | None

    def opened(
        self,
        names: Sequence[str],
        lengths: Sequence[int],
        reference: Path,
        threads: int,
        copying_threads: int = 1,
    ) -> AbstractContextManager[WriteText]:
        """Open the output for lines of SAM, and write the header.

        Parameters
        ----------
        names, lengths
            Contigs.
        reference, threads, copying_threads
            See `open_sam_text`.
        """
        return open_sam_text(
            str(self.path) if self.path else "-",
            unsorted_header(names, lengths, self.group, self.command_line),
            format=self.format,
            threads=threads,
            reference=reference,
            copying_threads=copying_threads,
        )


def process_reads(
    run: RunContext,
    stage: str,
    files: ReadFiles,
    transfer: BlockTransfer,
    workers: Sequence[BlockWorker],
    write: Callable[[memoryview], object],
) -> None:
    """Turn the reads of files into lines of text, in their order, and count.

    Parameters
    ----------
    run
        Receives counts, times and progress.
    stage
        The name of the workers' stage in the statistics.
    files
        The reads.
    transfer
        The size of the blocks, and how they get to the devices.
    workers
        At least one.
    write
        Writes lines.

    Raises
    ------
    InputError
        A file cannot be read, or a record is malformed.
    OutputError
        The output cannot be written.
    """
    statistics = run.statistics
    threads = min(run.threads, MAX_IO_THREADS)
    settings = ReadSettings(transfer, files.max_record, threads, files.with_comments)
    sink = CountingSink(write, statistics)

    def count_excluded(number: int) -> None:
        if number:
            statistics.count(EXCLUDED, number)

    def put(block: TextBlock) -> int:
        return sink(Output(block.text.data, block.counts, block.counts["reads"]))

    for path in files.paths:
        expect_file(path)
    blocks = chain.from_iterable(read_file(path, settings, count_excluded) for path in files.paths)
    run_pipeline(
        statistics.timed_source("read", blocks),
        [statistics.timed(stage, worker) for worker in workers],
        statistics.timed("write", put),
        budget=Budget(
            _WAITING_TEXT + _TEXT_PER_WORKER * len(workers), lambda block: block.text.nbytes
        ),
        progress=run.progress(),
        inputs=files.paths,
        threaded=len(workers) > 1,
    )

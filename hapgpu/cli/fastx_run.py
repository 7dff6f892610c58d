"""The run that `hapgpu map` and `hapgpu chain` share: reads in, lines of text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from hapgpu.cli.run import Run
from hapgpu.io.alignments.fastq.read_files import read_file
from hapgpu.io.alignments.fastq.settings import ReadSettings
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.runtime.inputs import expect_file
from hapgpu.runtime.pipeline import Budget, run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS

EXCLUDED: Final = "excluded_by_flags"
"""Count of the secondary and supplementary records, which are not read."""
WARNINGS: Final = {EXCLUDED: "secondary and supplementary records excluded"}
"""Words for `Run.finish`."""
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
    transfer
        The size of the blocks, and how they get to the devices.
    max_record
        The maximum size of a record, in bytes.
    with_comments
        Whether the tags of BAM, CRAM and SAM follow the names, as lines of SAM have them.
    """

    paths: Sequence[str]
    transfer: BlockTransfer
    max_record: int
    with_comments: bool = False


def process_reads(
    run: Run,
    stage: str,
    files: ReadFiles,
    workers: Sequence[BlockWorker],
    write: Callable[[memoryview], Any],
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
    settings = ReadSettings(files.transfer, files.max_record, threads, files.with_comments)

    def count_excluded(number: int) -> None:
        if number:
            statistics.count(EXCLUDED, number)

    def write_and_count(block: TextBlock) -> int:
        write(block.text.data)
        for name, number in block.counts.items():
            statistics.count(name, number)
        return block.counts["reads"]

    for path in files.paths:
        expect_file(path)
    blocks = chain.from_iterable(read_file(path, settings, count_excluded) for path in files.paths)
    run_pipeline(
        statistics.timed_source("read", blocks),
        [statistics.timed(stage, worker) for worker in workers],
        statistics.timed("write", write_and_count),
        budget=Budget(
            _WAITING_TEXT + _TEXT_PER_WORKER * len(workers), lambda block: block.text.nbytes
        ),
        progress=run.progress(),
        inputs=files.paths,
        threaded=len(workers) > 1,
    )

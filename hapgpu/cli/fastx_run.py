"""The run that `hapgpu map` and `hapgpu chain` share: FASTQ in, lines of text out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hapgpu.cli.run import Run
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.runtime.inputs import expect_file
from hapgpu.runtime.pipeline import run_pipeline


@dataclass(frozen=True, slots=True)
class ReadFiles:
    """Files of reads.

    Attributes
    ----------
    paths
        FASTQ or FASTA, read one file after the other; `-` is standard input.
    transfer
        The size of the blocks, and how they get to the devices.
    max_record
        The maximum size of a record, in bytes.
    """

    paths: Sequence[str]
    transfer: BlockTransfer
    max_record: int


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
    statistics, transfer = run.statistics, files.transfer

    def write_and_count(block: TextBlock) -> int:
        write(block.text.data)
        for name, number in block.counts.items():
            statistics.count(name, number)
        return block.counts["reads"]

    for path in files.paths:
        expect_file(path)
    blocks = chain.from_iterable(transfer.blocks(path, files.max_record) for path in files.paths)
    run_pipeline(
        statistics.timed_source("read", blocks),
        [statistics.timed(stage, worker) for worker in workers],
        statistics.timed("write", write_and_count),
        progress=run.progress(),
        inputs=files.paths,
        threaded=len(workers) > 1,
    )

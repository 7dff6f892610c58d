"""Run of `map` and `chain`: blocks of the reads of files in any format to lines of text, or SAM."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from hapgpu.io.alignments.bam_lines import BamLines
from hapgpu.io.alignments.formats import open_head, output_format
from hapgpu.io.alignments.samtools_convert import ConvertedOutput
from hapgpu.io.alignments.unsorted_header import ReadGroup, unsorted_header
from hapgpu.io.bam.header import SamHeader, encode_header
from hapgpu.io.bgzf.deflater import BgzfWriter
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, ReadSettings
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.uncut_blocks import UncutBlock
from hapgpu.io.files.output import OutputFile
from hapgpu.io.files.text_output import WriteText, open_text
from hapgpu.runtime.gpu_processes import processes_for
from hapgpu.runtime.inputs import expect_file
from hapgpu.runtime.output import CountingSink, Divided, Output
from hapgpu.runtime.pipeline import Budget, run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS, Pool
from hapgpu.runtime.run_context import RunContext

EXCLUDED: Final = "excluded_by_flags"
"""Count of the secondary and supplementary records, which are not read."""
EXCLUDED_WARNING: Final = {EXCLUDED: "secondary and supplementary records excluded"}
"""Words of the warning, by the count."""
_WAITING_TEXT: Final = 128 << 20
_TEXT_PER_WORKER: Final = 16 << 20
"""Bytes of text that wait to be written, in all and for each worker besides: then workers wait."""


def read_file(
    path: str, settings: ReadSettings, count_excluded: Callable[[int], object]
) -> Iterator[ReadBlock | UncutBlock]:
    """Read a file in blocks.

    Parameters
    ----------
    path
        FASTQ, FASTA, BAM, CRAM or SAM; `-` is standard input.
    settings
        How to read it.
    count_excluded
        Receives numbers of records that are excluded because they are secondary or supplementary.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    transfer, max_record = settings.transfer, settings.max_record
    opened = open_head(path)
    opened.warn_of_old_qualities()
    if opened.has_records:
        from hapgpu.io.alignments.read_texts import read_texts  # noqa: PLC0415  (imports pysam)

        yield from read_texts(opened, settings, count_excluded)
    elif opened.stream.seekable():
        opened.stream.seek(-len(opened.head), os.SEEK_CUR)
        opened.close()
        yield from transfer.blocks(path, max_record)
    else:
        with closing(opened.rejoined()) as stream:
            yield from read_blocks(
                stream,
                transfer.size,
                transfer.allocate,
                transfer.reading_threads,
                max_record,
                name=opened.name,
            )


@dataclass(frozen=True, slots=True)
class LineOutput:
    """Output of lines, in the form that its format needs.

    Attributes
    ----------
    write
        Appends lines or, for BAM, records.
    convert
        For BAM: converts whole lines to records; None for text.
    """

    write: WriteText
    convert: BamLines | None = None

    def wrapped(self, workers: Sequence[BlockWorker]) -> Sequence[BlockWorker]:
        """Return workers whose results can be written: they convert them, if it is necessary."""
        convert = self.convert
        if convert is None:
            return workers
        return [_ConvertingWorker(worker, convert) for worker in workers]


@dataclass(frozen=True, slots=True)
class _ConvertingWorker:
    """Worker that converts its lines, in its own thread or process."""

    worker: BlockWorker
    convert: BamLines

    def __call__(self, block: Any) -> TextBlock | Divided[Any, TextBlock]:
        result = self.worker(block)
        if isinstance(result, Divided):
            return replace(result, result=self._converted(result.result))
        return self._converted(result)

    def _converted(self, lines: TextBlock) -> TextBlock:
        return replace(lines, text=self.convert(lines.text))


@contextmanager
def open_lines(path: str | Path | None, threads: int) -> Iterator[LineOutput]:
    """Open an output for text: see `open_text`."""
    with open_text(path, threads) as write:
        yield LineOutput(write)


@contextmanager
def open_sam_text(
    path: str,
    header: SamHeader,
    *,
    format: str | None = None,  # noqa: A002 (the name of the option)
    uncompressed: bool = False,
    threads: int = 1,
    reference: Path | None = None,
    copying_threads: int = 1,
) -> Iterator[LineOutput]:
    """Open an output for lines of SAM; an exception in the context discards it.

    Parameters
    ----------
    path
        A file, which appears when it is complete, or `-` for standard output.
    header
        Header of the output, which is written first.
    format
        `sam`, `bam` or `cram`; by default from `uncompressed` or the extension of the path.
    uncompressed
        Write BAM without compression, for a pipe; makes BAM the default format.
    threads
        CPU threads that compress.
    reference
        FASTA with which CRAM is compressed.
    copying_threads
        Threads that write plain SAM to a file.

    Raises
    ------
    UsageError
        The format is unknown.
    OutputError
        The output cannot be created or written.
    """
    chosen_format = output_format(path, format, uncompressed=uncompressed)
    text = memoryview(header.text.encode("utf-8", "surrogateescape"))
    if chosen_format == "sam":
        with open_text(path, threads, copying_threads) as write:
            write(text)
            yield LineOutput(write)
        return
    with OutputFile(path) as output:
        if chosen_format == "bam":
            with Pool(min(threads, MAX_IO_THREADS)) as pool:
                blocks = BgzfWriter(output, pool, compressed=not uncompressed)
                blocks.write(memoryview(encode_header(header)))
                yield LineOutput(blocks.write, BamLines(header, output.name))
                blocks.finish()
            return
        with closing(ConvertedOutput(output, threads, reference)) as converted:
            converted.write(text)
            yield LineOutput(converted.write)
            converted.finish()


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
    uncompressed
        Whether BAM is written without compression.
    """

    path: Path | None
    format: str | None
    group: ReadGroup | None
    command_line: str | None
    uncompressed: bool = False

    def opened(
        self,
        names: Sequence[str],
        lengths: Sequence[int],
        reference: Path,
        threads: int,
        copying_threads: int = 1,
    ) -> AbstractContextManager[LineOutput]:
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
            uncompressed=self.uncompressed,
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
        At least one; of `LineOutput.wrapped`, if `write` takes records.
    write
        Writes lines, or records.

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
        extent=files.paths,
        threaded=len(workers) > 1,
        # One is best for CPU threads: a block takes little of Python's lock, and its text is long.
        processes=processes_for(run.devices, run.processes, tallies=[run.statistics]),
    )

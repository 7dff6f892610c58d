"""Resources of a run, and options of its output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from hapgpu.io.alignments.writer import RecordWriter, open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics

FIRST_OF_TWO: Final = "pass 1 of 2"
"""To the reference: reads that move are found."""

_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True, slots=True)
class Resources:
    """Devices, threads, statistics and progress of a run.

    Attributes
    ----------
    workers
        Devices, one entry per worker.
    threads
        CPU threads.
    statistics
        Counts and times.
    progress
        Returns the progress display of a pass, which is given in words.
    """

    workers: Sequence[Device]
    threads: int
    statistics: RunStatistics
    progress: Callable[[str], Progress]

    @property
    def io_threads(self) -> int:
        """CPU threads for reading, and for writing."""
        return min(self.threads, MAX_IO_THREADS)

    @property
    def is_threaded(self) -> bool:
        """Whether steps run concurrently; on the CPU each step uses all threads."""
        return not isinstance(self.workers[0], CpuDevice)

    def pipe(
        self,
        step: str,
        source: Iterable[_In],
        workers: Sequence[Callable[[_In], _Out]],
        sink: Callable[[_Out], int],
        *,
        source_name: str,
        run_pass: str = "",
    ) -> None:
        """Send batches through the workers into the sink, and time the steps.

        Parameters
        ----------
        step
            Name of the workers' stage in the statistics.
        source, workers, sink
            See `run_pipeline`.
        source_name
            Name of the reads.
        run_pass
            Which pass this is, in words, if there are several.
        """
        run_pipeline(
            self.statistics.timed_source("read", source),
            [self.statistics.timed(step, worker) for worker in workers],
            self.statistics.timed("write", sink),
            progress=self.progress(run_pass),
            inputs=[source_name],
            threaded=self.is_threaded,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """Path, format and contents of the output.

    Attributes
    ----------
    path
        A file, or `-` for standard output.
    format
        `sam`, `bam` or `cram`; None for the format that the path implies.
    uncompressed
        Whether BAM is written without compression.
    write_index
        Whether to index the file.
    loci_only
        Whether to write only the reads at loci.
    finish_header
        Adds the @PG line of this run to a header.
    alleles_table
        Name of the file for the table of reads per sample and haplotype, if it is wanted.
    """

    path: str
    format: str | None
    uncompressed: bool
    write_index: bool
    loci_only: bool
    finish_header: Callable[[SamHeader], SamHeader]
    alleles_table: str | None = None

    def open(self, header: SamHeader, threads: int, reference: Path) -> RecordWriter:
        """Open the output; `reference` is the FASTA of the contigs, which CRAM needs."""
        return open_writer(
            self.path,
            self.finish_header(header),
            format=self.format,
            threads=threads,
            uncompressed=self.uncompressed,
            reference=reference,
            write_index=self.write_index,
        )

"""The runs of `hapgpu pairhmm`, on the CPU or GPUs: aligned reads or text batches to a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.files.text_output import WriteText, open_text
from hapgpu.pairhmm.batches import HmmBatch, TextOutput
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.reads.cpu import opened_on_cpu
from hapgpu.pairhmm.reads.scorer import ScoringTask
from hapgpu.pairhmm.reads.tables import MatrixTable, PairTable, Table
from hapgpu.pairhmm.text_batches.reader import no_text_batches, read_hmm_batches
from hapgpu.pairhmm.text_batches.tables import LIKELIHOOD_HEADER, likelihood_text, text_output
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, gpus_of, worker_devices
from hapgpu.runtime.gpu_processes import gpu_processes, input_memory, processes_for
from hapgpu.runtime.output import CountingSink, Divided
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics

_Batch = TypeVar("_Batch")
_Worker = Callable[[_Batch], TextOutput | Divided[Any, TextOutput]]


@dataclass(frozen=True, slots=True)
class LikelihoodRun:
    """Devices, threads, processes, output, progress and statistics of a run."""

    devices: list[Device]
    threads: int
    processes: int
    output: Path | None
    progress: Progress
    statistics: RunStatistics

    @property
    def gpus(self) -> list[CudaDevice]:
        """The devices, if they are GPUs."""
        return gpus_of(self.devices)

    @property
    def gpu_processes(self) -> int:
        """Number of processes of workers on GPUs."""
        return gpu_processes(self.gpus, self.processes)

    @property
    def cpu_workers(self) -> list[CpuDevice]:
        """The threads of each worker on the CPU."""
        return CpuDevice(self.threads).divided(self.processes)


def score_reads(run: LikelihoodRun, task: ScoringTask, *, as_matrix: bool) -> None:
    """Compute the likelihoods of aligned reads and write a table.

    Parameters
    ----------
    run
        Resources of the run.
    task
        The reads and the haplotypes.
    as_matrix
        Write a line per read, instead of a line per pair.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged, the output cannot be written, or a GPU fails.
    """
    table: Table = (MatrixTable if as_matrix else PairTable)(task.haplotypes)
    copying_threads = run.threads if run.gpus else 1
    with (
        _opened(run, task, table) as (batches, workers),
        open_text(run.output, run.threads, copying_threads) as write,
    ):
        write(memoryview(table.header))
        _write_all(run, task.reads.path, batches, workers, write)


def score_batches(run: LikelihoodRun, path: str, max_record: int, *, as_matrix: bool) -> None:
    """Compute the likelihoods of text batches and write a table.

    Raises
    ------
    InputError, OutputError, DeviceError
        The input is damaged or empty, the output cannot be written, or a GPU fails.
    """
    threads = min(run.threads, MAX_IO_THREADS)
    with open_text(run.output, threads, copying_threads=threads) as write:
        if not as_matrix:
            write(memoryview(LIKELIHOOD_HEADER))
        if run.gpus:
            from hapgpu.pairhmm.text_batches.cuda import TextBatchScorer  # noqa: PLC0415  (imports CuPy)

            scorer = TextBatchScorer(path, max_record, as_matrix=as_matrix)
            pieces = scorer.pieces(threads, input_memory(run.gpu_processes))
            on_gpus = [partial(scorer.score, device) for device in worker_devices(run.gpus)]
            _write_all(run, path, pieces, on_gpus, write)
        else:
            batches = _numbered(read_hmm_batches(path, max_record=max_record))
            on_cpu = [
                partial(_scored_on_cpu, device, as_matrix=as_matrix) for device in run.cpu_workers
            ]
            _write_all(run, path, batches, on_cpu, write)
        if not run.statistics.counts.get("batches"):
            raise no_text_batches(path)


def _opened(
    run: LikelihoodRun, task: ScoringTask, table: Table
) -> AbstractContextManager[tuple[Iterator[Any], Sequence[_Worker[Any]]]]:
    """Open the reads: batches of a kind that the workers of the devices take."""
    if not run.gpus:
        return opened_on_cpu(task, table, run.cpu_workers, run.threads)
    from hapgpu.pairhmm.reads.cuda.scorer import opened_on_gpus  # noqa: PLC0415  (imports CuPy)

    return opened_on_gpus(task, table, run.gpus, run.threads, run.gpu_processes)


def _write_all(
    run: LikelihoodRun,
    source_name: str,
    batches: Iterable[_Batch],
    workers: Sequence[_Worker[_Batch]],
    write: WriteText,
) -> None:
    """Send batches through the workers, and write their text."""

    def write_parts(text: Iterable[NDArray[np.uint8]]) -> None:
        for part in text:
            write(part.data)

    run_pipeline(
        run.statistics.timed_source("read", batches),
        [run.statistics.timed("pairhmm", worker) for worker in workers],
        run.statistics.timed("write", CountingSink(write_parts, run.statistics)),
        progress=run.progress,
        extent=[source_name],
        threaded=run.threads > 1 or bool(run.gpus),
        processes=processes_for(run.devices, run.processes, tallies=[run.statistics]),
    )


def _numbered(batches: Iterable[HmmBatch]) -> Iterator[tuple[int, HmmBatch]]:
    """Yield batches with the number of their first text batch in the file."""
    first = 0
    for batch in batches:
        yield first, batch
        first += len(batch)


def _scored_on_cpu(
    device: Device, numbered: tuple[int, HmmBatch], *, as_matrix: bool
) -> TextOutput:
    """Compute the likelihoods of text batches, and write their text."""
    likelihoods = log10_likelihoods(numbered[1], device)
    return text_output(
        numbered[1], [likelihood_text(*numbered, likelihoods=likelihoods, as_matrix=as_matrix)]
    )

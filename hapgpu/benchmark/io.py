"""Benchmark of reading and writing BAM, for `hapgpu bench io`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from hapgpu.arrays.batches import ReadBatch
from hapgpu.benchmark.measurement import Measurement, doubling_counts, measuring, plan
from hapgpu.io.alignments.reader import open_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.simulation.short_reads import REFERENCE_LENGTH, simulated_reads

_BATCH_READS: Final = 50_000
_BATCHES: Final = 8
_TASKS: Final = 3
_TO_GPU: Final = "BAM to GPU memory"
_HEADER: Final = SamHeader.from_references(["chr20"], [REFERENCE_LENGTH])


def benchmark_io(
    devices: Sequence[Device], threads: int, copies: int = 10, seconds: float = 3.0
) -> Iterator[Measurement]:
    """Measure reading and writing of a temporary file, with 1, 2, 4 ... and all threads.

    On GPUs, also reading into the memory of each, with all threads.

    The file is BAM of 400,000 simulated reads of 150 bases for each copy. What a process does once
    (imports, compiling) is not measured.

    Parameters
    ----------
    devices
        The devices.
    threads
        CPU threads at most.
    copies
        Copies of 400,000 reads in the file.
    seconds
        Minimum duration of the runs of one measurement.
    """
    batch = simulated_reads(_BATCH_READS)
    reads = copies * _BATCHES * _BATCH_READS
    gpus = [device for device in devices if not isinstance(device, CpuDevice)]
    counts = doubling_counts(threads)
    plan(_TASKS * len(counts) + len(gpus))
    with leftovers.temporary_directory() as directory:
        path = str(Path(directory, "reads.bam"))
        copy = str(Path(directory, "copy.bam"))
        _write(path, batch, 1, threads, uncompressed=False)  # compiles
        _read(path, threads)
        _write(path, batch, copies * _BATCHES, threads, uncompressed=False)
        for count in counts:
            for task, run in _tasks(path, copy, batch, copies * _BATCHES, count).items():
                measuring(task)
                yield _measured("cpu", task, count, reads, _median_seconds(run, seconds))
        for device in gpus:
            from hapgpu.benchmark.cuda.io import read_to_gpu  # noqa: PLC0415  (imports CuPy)

            read = partial(read_to_gpu, path, device, threads)
            measuring(_TO_GPU)
            read()  # compiles
            taken = _median_seconds(read, seconds)
            yield _measured(device.name, _TO_GPU, threads, reads, taken)


def _measured(device: str, task: str, threads: int, reads: int, seconds: float) -> Measurement:
    return Measurement(
        device=device,
        task=task,
        data=f"{threads} thread{'s' * (threads > 1)}",
        unit="reads",
        numbers={"threads": threads, "reads": reads},
        seconds=seconds,
    )


def _tasks(
    path: str, copy: str, batch: ReadBatch, batches: int, threads: int
) -> dict[str, Callable[[], None]]:
    """Return the tasks to measure by name: reading `path`, and writing `copy`."""
    return {
        "BAM to columns": lambda: _read(path, threads),
        "columns to BAM": lambda: _write(copy, batch, batches, threads, uncompressed=False),
        "columns to uncompressed BAM": (
            lambda: _write(copy, batch, batches, threads, uncompressed=True)
        ),
    }


def _read(path: str, threads: int) -> None:
    with open_reads(path, threads=threads) as source:
        for _ in source.batches():
            pass


def _write(path: str, batch: ReadBatch, batches: int, threads: int, *, uncompressed: bool) -> None:
    with open_writer(path, _HEADER, threads=threads, uncompressed=uncompressed) as writer:
        for _ in range(batches):
            writer.write(batch)


def _median_seconds(run: Callable[[], object], seconds: float) -> float:
    """Return the median time of several runs, at least one, which last `seconds` together."""
    times: list[float] = []
    while sum(times) < seconds:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return float(np.median(times))

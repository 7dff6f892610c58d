"""Benchmark of the pair-HMM, for `hapgpu bench pairhmm`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.current import measuring, plan
from hapgpu.benchmark.measurement import thread_variants
from hapgpu.benchmark.sample_files import sample_files
from hapgpu.benchmark.whole_runs import WHOLE_RUN, RunCommand, files_of_run, measured_run
from hapgpu.io.files.compressed import open_inflated
from hapgpu.pairhmm.batches import HmmBatch, HmmReads, uniform_column
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.pairhmm.text_batches.reader import read_hmm_batches
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.simulation.sequences import random_bases, replace_bases

SHAPES = ((64, 64), (128, 128), (256, 256), (512, 512), (150, 350))
"""Read and haplotype lengths."""

BATCH_SEQUENCES = 32
"""Reads, and haplotypes, of a simulated text batch."""

_VARIANT_RATE = 0.01
_ERROR_RATE = 0.005
_QUALITIES = ((20, 40), (40, 45), (40, 45), (10, 10))  # minimum and maximum of each kind
_GPU_CELLS = 5e10
_CPU_CELLS = 3e8
_GPU_REPEATS = 9
_CPU_REPEATS = 3
_WHOLE_CALL = "whole call"
_STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line of the benchmark: `seconds` for all matrix cells of the data.

    `bound` and `busy` are those of a whole run, see `WholeRun`; `share` is its rate of cells as a
    fraction of the rate of the last shape, of the kernels alone on a GPU; for the text batches of a
    file, of the fastest call.
    """

    device: str
    task: str
    data: str
    cells: int
    seconds: float
    bound: str | None = None
    busy: float | None = None
    share: float | None = None

    @property
    def gcups(self) -> float:
        """Matrix cells per second, in 1e9; every cell of every pair counts."""
        return self.cells / self.seconds / 1e9


def random_text_batches(
    count: int, read_length: int, haplotype_length: int, seed: int = 1
) -> HmmBatch:
    """Simulate text batches of 32 haplotypes and 32 reads, one read per haplotype.

    The haplotypes of a text batch differ in 1 % of their bases, reads in 0.5 % from their
    haplotype; a read that is longer than its haplotype repeats it. Qualities vary by base.
    """
    rng = np.random.default_rng(seed)
    sequences = count * BATCH_SEQUENCES
    genomes = random_bases((count, haplotype_length), rng)
    haplotypes = np.repeat(genomes, BATCH_SEQUENCES, axis=0)
    replace_bases(haplotypes, _VARIANT_RATE, rng, np.float32)
    starts = rng.integers(0, max(1, haplotype_length - read_length + 1), sequences)
    columns = (starts[:, None] + np.arange(read_length)) % haplotype_length
    reads = np.take_along_axis(haplotypes, columns, axis=1)
    replace_bases(reads, _ERROR_RATE, rng, np.float32)
    batch_offsets = np.arange(count + 1) * BATCH_SEQUENCES
    qualities = (
        uniform_column(rng.integers(*limits, reads.size, dtype=np.uint8, endpoint=True))
        for limits in _QUALITIES
    )
    return HmmBatch(
        HmmReads(Ragged.from_lengths(reads.ravel(), [read_length] * sequences), *qualities),
        Ragged.from_lengths(haplotypes.ravel(), [haplotype_length] * sequences),
        batch_offsets,
        batch_offsets,
    )


def benchmark_pairhmm(device: Device, run: RunCommand | None = None) -> Iterator[Measurement]:
    """Measure the pair-HMM for each shape, on simulated text batches.

    On a GPU: the float32 kernels alone, and whole calls, transfers included. On the CPU: whole
    calls, with one thread and with all threads. At last, if `run` is given, `hapgpu pairhmm` of a
    sample.
    """
    per_shape = len(thread_variants(device)) + (not isinstance(device, CpuDevice))  # kernels alone
    plan(per_shape * len(SHAPES) + (run is not None))
    for read_length, haplotype_length in SHAPES:
        cells = _CPU_CELLS if isinstance(device, CpuDevice) else _GPU_CELLS
        batch_cells = BATCH_SEQUENCES**2 * read_length * haplotype_length
        batch = random_text_batches(max(1, int(cells / batch_cells)), read_length, haplotype_length)
        data = f"{read_length} x {haplotype_length}"
        lines: list[Measurement] = []
        if not isinstance(device, CpuDevice):
            from hapgpu.pairhmm.forward.cuda import forward_seconds  # noqa: PLC0415  (as for `cuda` itself)

            measuring(f"kernels, {data}")
            seconds = forward_seconds(batch, device, _GPU_REPEATS)
            lines = [Measurement(device.name, "kernels", data, batch.cells, seconds)]
            yield lines[0]
        for line in _whole_calls(batch, data, device):
            lines.append(line)
            yield line
    if run is not None:
        with files_of_run() as directory:
            files = sample_files(directory, device)
            inputs = (files.reads, files.haplotypes)
            whole = _whole_run(run, inputs, directory, files.data, device)
            yield _with_share(whole, lines)


def _whole_run(
    run: RunCommand, inputs: Sequence[str | Path], directory: Path, data: str, device: Device
) -> Measurement:
    measuring(WHOLE_RUN)
    whole = measured_run(run, [*inputs, "-o", directory / "table.tsv"], device)
    cells = whole.counts["cells"]
    return Measurement(device.name, WHOLE_RUN, data, cells, whole.seconds, whole.bound, whole.busy)


def benchmark_text_batches(
    path: str, copies: int, device: Device, run: RunCommand | None = None
) -> Iterator[Measurement]:
    """Measure whole calls with the batches of a file of text batches, repeated.

    At last, if `run` is given and the file is not standard input, `hapgpu pairhmm --batches`.

    Parameters
    ----------
    path
        Text batches; `-` for standard input.
    copies
        How many times to use the batches, at least once.
    device
        A GPU, or the CPU: with one thread and with all threads.
    run
        Runs `hapgpu pairhmm`.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    once = HmmBatch.concatenate(list(read_hmm_batches(path)))
    batch = HmmBatch.concatenate([once] * copies)
    data = f"{Path(path).name} x{copies}"
    lines = []
    has_run = run is not None and path != _STANDARD_INPUT
    plan(len(thread_variants(device)) + has_run)
    for line in _whole_calls(batch, data, device):
        lines.append(line)
        yield line
    if run is not None and path != _STANDARD_INPUT:
        with files_of_run() as directory:
            repeated = directory / "batches.in"
            _write_copies(path, repeated, copies)
            whole = _whole_run(run, ("--batches", repeated), directory, data, device)
            yield _with_share(whole, lines)


def _with_share(whole: Measurement, lines: Sequence[Measurement]) -> Measurement:
    return replace(whole, share=whole.gcups / max(line.gcups for line in lines))


def _write_copies(path: str, repeated: Path, copies: int) -> None:
    """Write the text of a file several times, inflated if it is compressed."""
    with open_inflated(path, path) as stream:
        text = stream.read()
    with repeated.open("wb") as file:
        for _ in range(copies):
            file.write(text)


def _whole_calls(batch: HmmBatch, data: str, device: Device) -> Iterator[Measurement]:
    for used in thread_variants(device):
        measuring(f"{_WHOLE_CALL}, {data}")
        seconds = _median_seconds(batch, used)
        yield Measurement(used.name, _WHOLE_CALL, data, batch.cells, seconds)


def _median_seconds(batch: HmmBatch, device: Device) -> float:
    """Return the median time of several calls, after one call without timing."""
    log10_likelihoods(batch, device)
    seconds = []
    for _ in range(_CPU_REPEATS if isinstance(device, CpuDevice) else _GPU_REPEATS):
        start = time.perf_counter()
        log10_likelihoods(batch, device)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))

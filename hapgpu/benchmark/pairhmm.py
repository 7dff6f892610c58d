"""Benchmark of the pair-HMM, for `hapgpu bench pairhmm`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.input_files import SampleFiles, sample_files, scaling_files
from hapgpu.benchmark.measurement import (
    GPU_REPEATS,
    Measurement,
    measuring,
    plan,
    repeats_on,
    thread_variants,
    timed,
)
from hapgpu.benchmark.whole_runs import (
    WHOLE_RUN,
    CommandRun,
    RunCommand,
    files_of_run,
    measured_run,
)
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
_WHOLE_CALL = "whole call"
_STANDARD_INPUT = "-"


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
            from hapgpu.pairhmm.forward.cuda import forward_seconds  # noqa: PLC0415  (imports CuPy)

            measuring(f"kernels, {data}")
            seconds = forward_seconds(batch, device, GPU_REPEATS)
            lines = [_measured(device, "kernels", data, batch.cells, seconds)]
            yield lines[0]
        for line in _whole_calls(batch, data, device):
            lines.append(line)
            yield line
    if run is not None:
        with files_of_run() as directory:
            command = _command_of_sample(sample_files(directory, device), directory)
            yield _whole_run(run, command, device, lines)


def pairhmm_run(directory: Path, batches: str | None, copies: int, threads: int) -> CommandRun:
    """Write the files of `hapgpu pairhmm`; return it with them.

    Parameters
    ----------
    directory
        Output directory.
    batches
        Text batches; `-` for standard input. None: a simulated sample of 2 Mb at 30x per copy.
    copies
        How many times to use the data, at least once.
    threads
        CPU threads to write with.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    if batches is not None:
        return _command_of_batches(batches, copies, directory)
    return _command_of_sample(scaling_files(directory, copies, threads), directory)


def _command_of_sample(files: SampleFiles, directory: Path) -> CommandRun:
    return _command(directory, files.data, files.reads, files.haplotypes)


def _command_of_batches(path: str, copies: int, directory: Path) -> CommandRun:
    repeated = directory / "batches.in"
    _write_copies(path, repeated, copies)
    return _command(directory, _repeated_name(path, copies), "--batches", repeated)


def _command(directory: Path, data: str, *inputs: str | Path) -> CommandRun:
    arguments = (*inputs, "-o", directory / "table.tsv")
    return CommandRun(data=data, unit="cells", command="pairhmm", arguments=arguments)


def _repeated_name(path: str, copies: int) -> str:
    return f"{Path(path).name} x{copies}"


def _whole_run(
    run: RunCommand, command: CommandRun, device: Device, lines: Sequence[Measurement]
) -> Measurement:
    """Measure a command, and compare it with the fastest of the lines."""
    measuring(WHOLE_RUN)
    whole = measured_run(run, command, device)
    line = _measured(device, WHOLE_RUN, command.data, whole.counts["cells"], whole.seconds)
    return line.of_run(whole).compared_with(max(lines, key=lambda line: line.rate))


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
    data = _repeated_name(path, copies)
    lines = []
    has_run = run is not None and path != _STANDARD_INPUT
    plan(len(thread_variants(device)) + has_run)
    for line in _whole_calls(batch, data, device):
        lines.append(line)
        yield line
    if run is not None and path != _STANDARD_INPUT:
        with files_of_run() as directory:
            yield _whole_run(run, _command_of_batches(path, copies, directory), device, lines)


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
        call = partial(log10_likelihoods, batch, used)
        call()  # compiles
        _, seconds = timed(call, repeats_on(used))
        yield _measured(used, _WHOLE_CALL, data, batch.cells, seconds)


def _measured(device: Device, task: str, data: str, cells: int, seconds: float) -> Measurement:
    numbers = {"cells": cells}
    return Measurement(
        device=device.name, task=task, data=data, unit="cells", numbers=numbers, seconds=seconds
    )

"""Benchmark of alignment, for `hapgpu bench realign`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from hapgpu.arrays.batches import PairBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.benchmark.input_files import (
    HAPLOTYPE_LENGTH,
    READ_LENGTH,
    SampleFiles,
    sample_files,
    scaling_files,
)
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
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.scoring import PRESETS, Overhang
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.simulation.sequences import random_bases, replace_bases

SHAPES = ((100, 350), (150, 350), (250, 500), (400, 400))
"""Read and haplotype lengths."""

_USUAL_SHAPE = (150, 350)

_ERROR_RATE = 0.005
_GPU_CELLS = 4e9
_CPU_CELLS = 5e8
_WHOLE_CALL = "align, whole call"
_SCORING = PRESETS["read-to-haplotype"]


def random_pairs(count: int, read_length: int, haplotype_length: int, seed: int = 1) -> PairBatch:
    """Simulate haplotypes, each with one read that differs from it in 0.5 % of the bases.

    The middle base of each read differs too: no read matches exactly, which a GPU finds without
    computing any cell.
    """
    rng = np.random.default_rng(seed)
    haplotypes = random_bases((count, haplotype_length), rng)
    starts = rng.integers(0, max(1, haplotype_length - read_length + 1), count)
    columns = (starts[:, None] + np.arange(read_length)) % haplotype_length
    reads = np.take_along_axis(haplotypes, columns, axis=1)
    middle = reads[:, read_length // 2].copy()
    replace_bases(reads, _ERROR_RATE, rng)
    reads[:, read_length // 2] = np.where(middle == ord("A"), ord("C"), ord("A"))
    rows = np.arange(count, dtype=np.int32)
    return PairBatch(
        Ragged.from_lengths(haplotypes.ravel(), [haplotype_length] * count),
        Ragged.from_lengths(reads.ravel(), [read_length] * count),
        rows,
        rows,
    )


def benchmark_realign(device: Device, run: RunCommand | None = None) -> Iterator[Measurement]:
    """Measure alignment and scoring for each shape, overhangs soft-clipped.

    On a GPU: the kernels alone, and whole calls, transfers included. On the CPU: whole calls, with
    one thread and with all threads. At last, if `run` is given, `hapgpu realign` of a sample.
    """
    scoring: Measurement | None = None
    tasks = 2 * len(thread_variants(device)) if isinstance(device, CpuDevice) else 3
    plan(tasks * len(SHAPES) + (run is not None))
    for read_length, haplotype_length in SHAPES:
        cells = _CPU_CELLS if isinstance(device, CpuDevice) else _GPU_CELLS
        count = int(cells / (read_length * haplotype_length))
        pairs = random_pairs(count, read_length, haplotype_length)
        for name, task, seconds in _timings(pairs, device):
            line = _measured(name, task, read_length, haplotype_length, count, seconds)
            if (read_length, haplotype_length) == _USUAL_SHAPE and task.startswith("score"):
                scoring = line  # at last with all threads
            yield line
    if run is not None:
        whole = _whole_run(device, run)
        yield whole.compared_with(scoring) if scoring else whole


def _whole_run(device: Device, run: RunCommand) -> Measurement:
    measuring(WHOLE_RUN)
    with files_of_run() as directory:
        files = sample_files(directory, device)
        whole = measured_run(run, _command_run(files), device)
    shape = (READ_LENGTH, HAPLOTYPE_LENGTH)
    return _measured(device.name, WHOLE_RUN, *shape, files.pairs, whole.seconds).of_run(whole)


def realign_run(directory: Path, copies: int, threads: int) -> CommandRun:
    """Simulate a sample of 2 Mb at 30x per copy; return `hapgpu realign` of its files."""
    return _command_run(scaling_files(directory, copies, threads))


def _command_run(files: SampleFiles) -> CommandRun:
    output = files.reads.with_name("realigned.bam")
    return CommandRun(
        data=files.data,
        unit="reads",
        command="realign",
        arguments=(files.reads, files.haplotypes, "-u", "-o", output),
    )


def _measured(
    device: str, task: str, read_length: int, haplotype_length: int, pairs: int, seconds: float
) -> Measurement:
    return Measurement(
        device=device,
        task=task,
        data=f"{read_length} x {haplotype_length}",
        unit="cells",
        numbers={
            "read_length": read_length,
            "haplotype_length": haplotype_length,
            "pairs": pairs,
            "cells": pairs * read_length * haplotype_length,
        },
        seconds=seconds,
    )


def _timings(pairs: PairBatch, device: Device) -> Iterator[tuple[str, str, float]]:
    if isinstance(device, CpuDevice):
        for used in thread_variants(device):
            for task, call in (("align", align_pairs), ("score", score_pairs)):
                measuring(f"{task}, {used.name}")
                yield used.name, task, _median_seconds(call, pairs, used)
        return
    from hapgpu.realign.align.cuda.aligner import kernel_seconds  # noqa: PLC0415  (only where a GPU is used)

    for task, with_trace in (("align, kernels", True), ("score, kernels", False)):
        measuring(task)
        seconds = kernel_seconds(
            pairs, _SCORING, Overhang.SOFTCLIP, device, with_trace=with_trace, repeats=GPU_REPEATS
        )
        yield device.name, task, seconds
    measuring(_WHOLE_CALL)
    yield device.name, _WHOLE_CALL, _median_seconds(align_pairs, pairs, device)


def _median_seconds(call: Callable[..., object], pairs: PairBatch, device: Device) -> float:
    call(pairs.take(np.arange(min(len(pairs), 200))), _SCORING, Overhang.SOFTCLIP, device)
    run = partial(call, pairs, _SCORING, Overhang.SOFTCLIP, device)
    return timed(run, repeats_on(device))[1]

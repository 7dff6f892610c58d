"""Benchmark of alignment, for `hapgpu bench realign`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from hapgpu.arrays.batches import PairBatch
from hapgpu.benchmark.input_files import (
    HAPLOTYPE_LENGTH,
    READ_LENGTH,
    SampleFiles,
    sample_files,
    scaling_files,
)
from hapgpu.benchmark.measurement import (
    Measurement,
    measuring,
    plan,
    repeats_on,
    thread_variants,
    timed,
)
from hapgpu.benchmark.pairs import (
    Work,
    close_reads,
    distant_reads,
    padded_haplotypes,
    reads_with_indels,
    work_on_the_cpu,
)
from hapgpu.benchmark.whole_runs import (
    WHOLE_RUN,
    CommandRun,
    RunCommand,
    files_of_run,
    measured_run,
)
from hapgpu.errors import UsageError
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.queue import AlignmentQueue
from hapgpu.realign.scoring import PRESETS, Overhang, Scoring
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device

SHAPES: Final = ((100, 350), (150, 350), (250, 500), (400, 400))
"""Read and haplotype lengths."""

QUEUED_PAIRS: Final = 100
"""Pairs of a call in a queue, as GATK makes them."""

_USUAL_SHAPE: Final = (150, 350)
_PADDED_LENGTH: Final = 400
_GPU_CELLS: Final = 1e10
_CPU_CELLS: Final = 5e8
_USUAL_READS: Final = "0.4 % errors"
_UNIT: Final = "effective_cells"
_READ, _HAPLOTYPE = PRESETS["read-to-haplotype"], PRESETS["haplotype-to-reference"]


class AlignCase(NamedTuple):
    """Pairs to measure: what they are, bases of each, weights, and how to make a number of them."""

    name: str
    read_length: int
    haplotype_length: int
    scoring: Scoring
    make: Callable[[int], PairBatch]

    @property
    def data(self) -> str:
        """Name of the data."""
        return f"{self.read_length} x {self.haplotype_length}, {self.name}"


def align_cases() -> list[AlignCase]:
    """Return what is measured: reads that all need a matrix, in each shape, then others.

    The reads of the last case but one, of the usual shape, differ from their haplotypes as
    usual reads do.
    """
    cases = [_read_case("2 errors or more", distant_reads, shape) for shape in SHAPES]
    length = _PADDED_LENGTH
    make = partial(padded_haplotypes, length=length)
    return [
        *cases,
        _read_case("10 % with indels", reads_with_indels, _USUAL_SHAPE),
        _read_case(_USUAL_READS, close_reads, _USUAL_SHAPE),
        AlignCase("padded haplotypes", length, length, _HAPLOTYPE, make),
    ]


def _read_case(
    name: str, make: Callable[[int, int, int], PairBatch], shape: tuple[int, int]
) -> AlignCase:
    def make_pairs(count: int) -> PairBatch:
        return make(count, *shape)

    return AlignCase(name, *shape, _READ, make_pairs)


def benchmark_realign(device: Device, run: RunCommand | None = None) -> Iterator[Measurement]:
    """Measure alignment and scoring of simulated pairs, overhangs soft-clipped.

    On a GPU: the kernels alone, calls with all data on the GPU, and whole calls, transfers
    included: one of all pairs, and queued calls of 100. On the CPU: whole calls, with one thread
    and with all threads. At last, if `run` is given, `hapgpu realign` of a sample.
    """
    cases = align_cases()
    tasks = 2 * len(thread_variants(device)) if isinstance(device, CpuDevice) else 5
    plan(tasks * len(cases) + (run is not None))
    scoring: Measurement | None = None
    for case in cases:
        cells = _CPU_CELLS if isinstance(device, CpuDevice) else _GPU_CELLS
        pairs = case.make(max(1, int(cells / (case.read_length * case.haplotype_length))))
        for line in _measurements(case, pairs, device):
            if case.name == _USUAL_READS and line.task.startswith("score"):
                scoring = line  # at last with all threads
            yield line
    if run is not None:
        whole = _whole_run(device, run)
        yield whole.compared_with(scoring) if scoring else whole


def compare_designs(device: Device) -> Iterator[Measurement]:
    """Measure the aligner of hapgpu and the design of Ren et al. 2019 with as many pairs per call.

    Raises
    ------
    UsageError
        The device is no GPU.
    """
    if isinstance(device, CpuDevice):
        raise UsageError("--method ren2019: needs a GPU; give --device cuda")
    from hapgpu.benchmark.cuda.alignment import compare_with_ren2019  # noqa: PLC0415  (imports CuPy)

    return compare_with_ren2019(device)


def _whole_run(device: Device, run: RunCommand) -> Measurement:
    measuring(WHOLE_RUN)
    with files_of_run() as directory:
        files = sample_files(directory, device)
        whole = measured_run(run, _command_run(files), device)
    shape = (READ_LENGTH, HAPLOTYPE_LENGTH)
    numbers = _numbers(shape, files.pairs, files.pairs * READ_LENGTH * HAPLOTYPE_LENGTH)
    measurement = Measurement(
        device=device.name,
        task=WHOLE_RUN,
        data=files.data,
        unit=_UNIT,
        numbers={**numbers, "cells": None, "matrix_pairs": None},
        seconds=whole.seconds,
    )
    return measurement.of_run(whole)


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


def _numbers(shape: tuple[int, int], pairs: int, effective_cells: int) -> dict[str, int]:
    read_length, haplotype_length = shape
    return {
        "read_length": read_length,
        "haplotype_length": haplotype_length,
        "pairs": pairs,
        "effective_cells": effective_cells,
    }


def _measurements(case: AlignCase, pairs: PairBatch, device: Device) -> Iterator[Measurement]:
    if isinstance(device, CpuDevice):
        return _measured_on_the_cpu(case, pairs, device)
    return _measured_on_a_gpu(case, pairs, device)


def _measured_on_the_cpu(
    case: AlignCase, pairs: PairBatch, device: CpuDevice
) -> Iterator[Measurement]:
    alignments = align_pairs(pairs, case.scoring, Overhang.SOFTCLIP, device)
    for used in thread_variants(device):
        for task, call in (("align", align_pairs), ("score", score_pairs)):
            measuring(f"{task}, {used.name}")
            with_trace = task == "align"
            work = work_on_the_cpu(pairs, case.scoring, alignments, with_trace=with_trace)
            seconds = _median_seconds(call, case, pairs, used)
            yield _measured(used, task, case, pairs, work, seconds)


def _measured_on_a_gpu(
    case: AlignCase, pairs: PairBatch, device: CudaDevice
) -> Iterator[Measurement]:
    from hapgpu.benchmark.cuda.realign import DeviceBenchmark  # noqa: PLC0415  (imports CuPy)

    for task in ("align", "score"):
        on_device = DeviceBenchmark(
            pairs, case.scoring, Overhang.SOFTCLIP, device, with_trace=task == "align"
        )
        work = on_device.work()
        measuring(f"{task}, kernels")
        seconds = on_device.kernel_seconds()
        yield _measured(device, f"{task}, kernels", case, pairs, work, seconds)
        if task == "align":
            measuring("align, on the GPU")
            seconds = on_device.device_seconds()
            yield _measured(device, "align, on the GPU", case, pairs, work, seconds)
            measuring("align, whole call")
            seconds = _median_seconds(align_pairs, case, pairs, device)
            yield _measured(device, "align, whole call", case, pairs, work, seconds)
            queued = f"align, queued calls of {QUEUED_PAIRS}"
            measuring(queued)
            seconds = queued_seconds(pairs, case.scoring, device)
            yield _measured(device, queued, case, pairs, work, seconds)


def _measured(
    device: Device, task: str, case: AlignCase, pairs: PairBatch, work: Work, seconds: float
) -> Measurement:
    effective_cells = int((pairs.reference_lengths * pairs.query_lengths).sum())
    shape = (case.read_length, case.haplotype_length)
    numbers = _numbers(shape, len(pairs), effective_cells)
    return Measurement(
        device=device.name,
        task=task,
        data=case.data,
        unit=_UNIT,
        numbers={**numbers, "cells": work.cells, "matrix_pairs": work.pairs},
        seconds=seconds,
    )


def _median_seconds(
    call: Callable[..., object], case: AlignCase, pairs: PairBatch, device: Device
) -> float:
    run = partial(call, pairs, case.scoring, Overhang.SOFTCLIP, device)
    run()
    return timed(run, repeats_on(device))[1]


def queued_seconds(pairs: PairBatch, scoring: Scoring, device: Device) -> float:
    """Measure calls of 100 pairs, soft-clipped: the median of the seconds of all calls.

    All calls are submitted before a result is asked for.

    Parameters
    ----------
    pairs
        At least one; pair i is reference i with query i.
    scoring, device
        Weights and device.
    """
    calls = [
        (
            pairs.references[start : start + QUEUED_PAIRS],
            pairs.queries[start : start + QUEUED_PAIRS],
        )
        for start in range(0, len(pairs), QUEUED_PAIRS)
    ]
    name, threads = "cpu", None
    if isinstance(device, CpuDevice):
        threads = device.threads
    else:
        name = f"cuda:{device.index}"
    with AlignmentQueue(scoring=scoring, device=name, threads=threads) as queue:

        def run() -> None:
            pending = [queue.submit(*call) for call in calls]
            for each in pending:
                each.result()

        run()
        return timed(run, repeats_on(device))[1]

"""Benchmark of long-read mapping with simulated reads (`hapgpu bench chain`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from hapgpu.benchmark.alignments import (
    alignment_measurements,
    alignment_run,
    benchmark_alignments,
    compute_all,
)
from hapgpu.benchmark.long_read_data import LongReadData, bases_measured, simulated_data
from hapgpu.benchmark.measurement import (
    Measurement,
    measuring,
    plan,
    thread_variants,
    timed,
    timed_blocks,
)
from hapgpu.benchmark.stages import STAGES, StagedChainer, staged_cpu
from hapgpu.benchmark.whole_runs import (
    WHOLE_RUN,
    CommandRun,
    RunCommand,
    files_of_run,
    measured_run,
)
from hapgpu.io.genome.fasta import FastaRecords
from hapgpu.longread.index.build import build_index_of_records
from hapgpu.longread.index.files import MINIMIZER_FILE
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.names import SUFFIX
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.pipeline import open_workers
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, usable_cpus
from hapgpu.simulation.long_reads import LongReadModel

_WHOLE_PATH: Final = "text to lines"
_SCALING_BASES: Final = 200_000_000


def benchmark_reads(
    device: Device,
    reference: Path,
    options: LongReadOptions,
    bases: int | None = None,
    model: LongReadModel | None = None,
    run: RunCommand | None = None,
) -> Iterator[Measurement]:
    """Measure the mapping of reads simulated from a reference, from memory to memory.

    The measurements are: building the index from the FASTA file; the whole run from FASTQ text to
    lines of PAF, on the CPU with one thread and with all; each stage in one thread, one block after
    another. Then, if `run` is given, `hapgpu chain` of the same index and reads in files. At last
    the same of base alignment, from the text to SAM, the stages on the CPU only.

    Parameters
    ----------
    device
        Device to use; the index is built on the CPU.
    reference
        FASTA file.
    options
        Options of long-read mapping.
    bases
        Approximate number of bases of the reads; None: 20 million on the CPU, a billion on a GPU.
    model
        Model of the simulated reads.
    run
        Runs `hapgpu chain` with these options.

    Raises
    ------
    InputError
        The reference cannot be read.
    DeviceError
        The index or a block does not fit the memory of the GPU.
    """
    model = LongReadModel() if model is None else model
    variants = thread_variants(device)
    plan(1 + len(variants) + len(STAGES) + (run is not None))
    plan(alignment_measurements(device, runs=run is not None))
    measuring("index")
    index, records, index_measurement = _timed_index(device, reference, options)
    yield index_measurement
    data = simulated_data(device, reference, records, index, bases, model)
    for variant in variants:
        measuring(f"{_WHOLE_PATH}, {variant.name}")
        chainers = open_workers([variant], data.index, options)
        compute = partial(compute_all, chainers[0])
        _, seconds = timed_blocks(compute, data.blocks, len(chainers))
        in_memory = data.measured(variant, _WHOLE_PATH, seconds)
        yield in_memory
    measuring("stages")
    for stage, seconds in _stage_seconds(device, data, options).items():
        yield data.measured(variants[0], stage, seconds)
    if run is not None:
        measuring(WHOLE_RUN)
        yield _whole_run(data, device, run).compared_with(in_memory)
    yield from benchmark_alignments(device, data, options, run)


def chain_runs(
    directory: Path,
    reference: Path,
    options: LongReadOptions,
    model: LongReadModel,
    bases: int | None,
    threads: int,
) -> list[CommandRun]:
    """Write simulated reads and the index; return `hapgpu chain` of them, without and with -a.

    Parameters
    ----------
    directory
        Output directory.
    reference, options, model
        As for `benchmark_reads`.
    bases
        Approximate number of bases of the reads; None: 200 million.
    threads
        CPU threads to prepare with.

    Raises
    ------
    InputError
        The reference cannot be read.
    """
    index, records = build_index_of_records(reference, options.sketch, threads)
    size = _SCALING_BASES if bases is None else bases
    data = simulated_data(CpuDevice(threads), reference, records, index, size, model)
    return [_command_run(data, directory), alignment_run(data, directory)]


def _command_run(data: LongReadData, directory: Path) -> CommandRun:
    """Write the index and the reads; return `hapgpu chain` of them."""
    index = directory / f"reference{SUFFIX}"
    MINIMIZER_FILE.save(data.index, index)
    return CommandRun(
        data=data.name,
        unit="bases",
        command="chain",
        arguments=(index, data.written_reads(directory), "-o", directory / "mappings.paf"),
    )


def _whole_run(data: LongReadData, device: Device, run: RunCommand) -> Measurement:
    with files_of_run() as directory:
        whole = measured_run(run, _command_run(data, directory), device)
    return data.measured(device, WHOLE_RUN, whole.seconds).of_run(whole)


def _timed_index(
    device: Device, reference: Path, options: LongReadOptions
) -> tuple[MinimizerIndex, FastaRecords, Measurement]:
    """Return the index, the sequences and the time of the second build; the first may compile."""
    cpu = device if isinstance(device, CpuDevice) else CpuDevice(usable_cpus())
    build_index_of_records(reference, options.sketch, cpu.threads)
    build = partial(build_index_of_records, reference, options.sketch, cpu.threads)
    (index, records), seconds = timed(build, 1)
    bases = int(index.lengths.sum())
    return index, records, bases_measured(cpu, "index", reference.name, bases, seconds)


def _stage_seconds(
    device: Device, data: LongReadData, options: LongReadOptions
) -> Mapping[str, float]:
    with ExitStack() as stack:
        if isinstance(device, CudaDevice):
            from hapgpu.benchmark.cuda.chaining import staged_on  # noqa: PLC0415  (imports CuPy)

            staged = stack.enter_context(staged_on(device, data.index, options))
        else:
            staged = StagedChainer(data.index, options, staged_cpu(data.index))
        staged(data.blocks[0])  # compiles
        return staged.seconds_of(data.blocks)

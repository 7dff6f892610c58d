"""How fast long reads are chained: what `hapgpu bench chain` measures of reads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hapgpu.benchmark.chaining.stages import StagedChainer, stage_seconds, staged_cpu
from hapgpu.benchmark.measurement import Measurement, median_seconds
from hapgpu.chaining.index.build import build_index
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.run.workers import block_transfer, chainers_for
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.genome.fasta import read_fasta
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, usable_cpus
from hapgpu.simulation.long_reads import LongReadModel, simulated_reads

_CPU_BASES: Final = 20_000_000
_GPU_BASES: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Data:
    """What is chained."""

    name: str
    index: MinimizerIndex
    blocks: list[ReadBlock]
    bases: int

    def measured(self, device: Device, task: str, seconds: float) -> Measurement:
        return Measurement(device.name, task, self.name, "bases", self.bases, seconds)


def benchmark_reads(
    device: Device,
    reference: Path,
    options: MapOptions,
    bases: int | None = None,
    model: LongReadModel | None = None,
) -> Iterator[Measurement]:
    """Measure how fast reads out of a reference become lines of PAF, from memory to memory.

    First how long the index takes to build, from the FASTA file; then the whole way from the text
    of FASTQ to lines, on the CPU with one thread and with all; and then each stage, in one thread,
    one block after another.

    Parameters
    ----------
    device
        Where to compute; the index is built on the CPU.
    reference
        FASTA.
    options
        Of mapping.
    bases
        Of the reads, about; None for 20 million on the CPU and a billion on a GPU.
    model
        What the reads are like.

    Raises
    ------
    InputError
        The reference cannot be read.
    DeviceError
        The index or a block does not fit into the memory of the GPU.
    """
    model = LongReadModel() if model is None else model
    index, building = _built(device, reference, options)
    yield building
    data = _data(device, reference, index, bases, model)
    uses = _uses_of(device)
    for used in uses:
        chainers = chainers_for([used], index, options)
        seconds = median_seconds(chainers[0], data.blocks, len(chainers))
        yield data.measured(used, "text to lines", seconds)
    for stage, seconds in _stage_seconds(device, data, options).items():
        yield data.measured(uses[0], stage, seconds)


def _built(
    device: Device, reference: Path, options: MapOptions
) -> tuple[MinimizerIndex, Measurement]:
    """Return the index, and how long it took the second time; the first time may compile."""
    cpu = device if isinstance(device, CpuDevice) else CpuDevice(usable_cpus())
    build_index(reference, options.sketch, cpu.threads)
    begin = time.perf_counter()
    index = build_index(reference, options.sketch, cpu.threads)
    seconds = time.perf_counter() - begin
    bases = int(index.lengths.sum())
    return index, Measurement(cpu.name, "index", reference.name, "bases", bases, seconds)


def _data(
    device: Device, reference: Path, index: MinimizerIndex, bases: int | None, model: LongReadModel
) -> _Data:
    if bases is None:
        bases = _CPU_BASES if isinstance(device, CpuDevice) else _GPU_BASES
    sequences = read_fasta(reference).sequences
    transfer = block_transfer([device], threads=1)
    blocks = list(simulated_reads(sequences, bases, transfer.size, transfer.allocate, model))
    made = sum(int(parse_block(block, LONG_READS).lengths.sum()) for block in blocks)
    reads = f"{model.mean_length:,}-base reads, {model.error_rate:.4g} errors"
    return _Data(f"{reference.name}, {reads}", index, blocks, made)


def _uses_of(device: Device) -> list[Device]:
    """Return the device; of a CPU one thread, and all if there are more."""
    if isinstance(device, CpuDevice):
        return [CpuDevice(threads) for threads in sorted({1, device.threads})]
    return [device]


def _stage_seconds(device: Device, data: _Data, options: MapOptions) -> dict[str, float]:
    if isinstance(device, CudaDevice):
        from hapgpu.benchmark.chaining.cuda import staged_on  # noqa: PLC0415  (imports CuPy)

        with staged_on(device, data.index, options) as staged:
            return stage_seconds(staged, data.blocks)
    chainer = StagedChainer(data.index, options, staged_cpu(data.index))
    return stage_seconds(chainer, data.blocks)

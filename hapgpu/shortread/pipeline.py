"""Short-read mapping: reads to SAM records.

Workers take blocks of reads through the stages in this order (`cpu`, `cuda`):

1. `io.fastx`: the text of a block to the spans of its reads,
2. `search.packed_reads`: bases to bits,
3. `search`: seeds, candidates, hits,
4. `sam`: hits to SAM records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hapgpu.io.alignments.text_pipeline import ReadFiles, SamOutput, process_reads
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, transfer_for, workers_for
from hapgpu.runtime.devices import CudaDevice, Device, gpus_of
from hapgpu.runtime.gpu_processes import gpu_processes
from hapgpu.runtime.run_context import RunContext
from hapgpu.shortread.cpu import CpuMapper
from hapgpu.shortread.index.files import open_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.tables import SamOptions
from hapgpu.shortread.search.hits import SearchOptions

_CPU_BLOCK: Final = 2 << 20
_GPU_BLOCK: Final = 32 << 20  # pinned memory takes long to get: there are several blocks of it
_WORKERS_PER_GPU: Final = 3  # one copies to the GPU, one computes, one copies back


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortReadOptions:
    """All options of short-read mapping: the hits to find, and the records to write."""

    search: SearchOptions = field(default_factory=SearchOptions)
    sam: SamOptions = field(default_factory=SamOptions)


def map_short_reads(
    run: RunContext,
    reference: Path,
    files: ReadFiles,
    options: ShortReadOptions,
    output: SamOutput,
) -> None:
    """Map the reads of all files, one file after the other.

    Parameters
    ----------
    run
        Devices and threads; receives counts, times and progress.
    reference
        FASTA, or an index; the index of a FASTA file is built if there is none.
    files
        The reads.
    options
        Hits and records.
    output
        Receives the SAM records.

    Raises
    ------
    InputError
        A file cannot be read, or a record is malformed.
    OutputError
        The output cannot be written.
    DeviceError
        The index does not fit into the memory of a GPU.
    """
    with run.showing("bases", "index") as progress:
        index = run.statistics.timed("index", open_index)(
            reference, run.devices[0], run.threads, progress
        )
    processes = gpu_processes(gpus_of(run.devices), run.processes)
    workers = open_workers(run.devices, index, options, processes)
    transfer = block_transfer(run.devices, run.threads, processes)
    contigs = index.contigs
    with output.opened(
        contigs.names, contigs.lengths.tolist(), reference, run.threads, transfer.writing_threads
    ) as lines:
        process_reads(run, "map", files, transfer, lines.wrapped(workers), lines.write)


def open_workers(
    devices: Sequence[Device], index: FMIndexArrays, options: ShortReadOptions, processes: int = 1
) -> list[BlockWorker]:
    """Return one mapper per worker: one per CPU thread, or several per GPU.

    `processes` is the result of `gpu_processes`.

    Raises
    ------
    DeviceError
        The index does not fit into the memory of a GPU.
    """
    return workers_for(
        devices,
        partial(open_worker, options, index),
        per_gpu=_WORKERS_PER_GPU,
        processes=processes,
    )


def open_worker(options: ShortReadOptions, index: FMIndexArrays, device: Device) -> BlockWorker:
    """Return a mapper of blocks of reads on a device."""
    if isinstance(device, CudaDevice):
        from hapgpu.shortread.cuda import CudaMapper  # noqa: PLC0415  (imports CuPy)

        return CudaMapper(index, options.search, options.sam, device)
    return CpuMapper(index, options.search, options.sam)


def block_transfer(devices: Sequence[Device], threads: int, processes: int = 1) -> BlockTransfer:
    """Return the block transfer for the devices, which are all CPUs or all GPUs.

    `processes` is the result of `gpu_processes`.
    """
    return transfer_for(
        devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK, processes=processes
    )

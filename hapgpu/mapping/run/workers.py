"""Workers that map blocks of reads: which devices, how many, how large the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hapgpu.io.fastx.block_transfer import BlockTransfer, transfer_for
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.run.cpu import CpuMapper
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.sam.sam_block import SamBlock
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.runtime.devices import CudaDevice, Device

Mapper: TypeAlias = Callable[[ReadBlock], SamBlock]
"""Raises InputError where a block is malformed; the message names the file and the record."""
_CPU_BLOCK: Final = 2 << 20
_GPU_BLOCK: Final = 64 << 20
_WORKERS_PER_GPU: Final = 2  # one copies while the other computes


def mappers_for(
    devices: Sequence[Device],
    index: FMIndexArrays,
    search_options: SearchOptions,
    sam_options: SamOptions,
) -> list[Mapper]:
    """Return a mapper for each thread that is to map: one per CPU thread, or some per GPU."""
    mappers: list[Mapper] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            from hapgpu.mapping.run.cuda import CudaMapper  # noqa: PLC0415  (imports CuPy)

            on_gpu = CudaMapper(index, search_options, sam_options, device)
            mappers += [on_gpu] * _WORKERS_PER_GPU
        else:
            mappers += [CpuMapper(index, search_options, sam_options)] * device.threads
    return mappers


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return how blocks come to the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)

"""Workers that map blocks of reads: their devices, their number, the size of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, transfer_for, workers_for
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.run.cpu import CpuMapper
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.runtime.devices import CudaDevice, Device

_CPU_BLOCK: Final = 2 << 20
_GPU_BLOCK: Final = 32 << 20  # pinned memory takes long to get: there are several blocks of it
_WORKERS_PER_GPU: Final = 3  # one copies to the GPU, one computes, one copies back


def mappers_for(
    devices: Sequence[Device],
    index: FMIndexArrays,
    search_options: SearchOptions,
    sam_options: SamOptions,
) -> list[BlockWorker]:
    """Return one mapper per worker: one per CPU thread, or several per GPU.

    Raises
    ------
    DeviceError
        The index does not fit into the memory of a GPU.
    """

    def on_gpu(device: CudaDevice) -> BlockWorker:
        from hapgpu.mapping.run.cuda import CudaMapper  # noqa: PLC0415  (imports CuPy)

        return CudaMapper(index, search_options, sam_options, device)

    return workers_for(
        devices,
        lambda: CpuMapper(index, search_options, sam_options),
        on_gpu,
        per_gpu=_WORKERS_PER_GPU,
    )


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return the block transfer for the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)

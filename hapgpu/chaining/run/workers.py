"""Workers that chain blocks of reads: their devices, their number, the size of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hapgpu.chaining.align.batches import TargetCodes
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import LineOptions, MapOptions
from hapgpu.chaining.run.aligned_cpu import CpuAligner
from hapgpu.chaining.run.cpu import CpuChainer
from hapgpu.io.fastx.block_workers import BlockTransfer, BlockWorker, transfer_for, workers_for
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device

_CPU_BLOCK: Final = 4 << 20
_GPU_BLOCK: Final = 64 << 20  # pinned memory takes long to get: there are several blocks of it
_WORKERS_PER_GPU: Final = 4  # the longest reads of a block leave warps for other blocks


def chainers_for(
    devices: Sequence[Device], index: MinimizerIndex, options: MapOptions
) -> list[BlockWorker]:
    """Return one chainer per worker: one per CPU thread, or several per GPU.

    Raises
    ------
    DeviceError
        The index does not fit into the memory of a GPU.
    """

    def on_gpu(device: CudaDevice) -> BlockWorker:
        from hapgpu.chaining.run.cuda import CudaChainer  # noqa: PLC0415  (imports CuPy)

        return CudaChainer(index, options, device)

    return workers_for(
        devices, lambda: CpuChainer(index, options), on_gpu, per_gpu=_WORKERS_PER_GPU
    )


def aligners_for(
    devices: Sequence[Device],
    index: MinimizerIndex,
    targets: TargetCodes,
    options: MapOptions,
    line_options: LineOptions,
) -> list[BlockWorker]:
    """Return one aligner per CPU thread; the devices are CPUs."""
    threads = sum(device.threads for device in devices if isinstance(device, CpuDevice))
    return [CpuAligner(index, targets, options, line_options) for _ in range(threads)]


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return the block transfer for the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)

"""Workers that chain blocks of reads: which devices, how many, how large the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.writer import PafBlock
from hapgpu.chaining.run.cpu import CpuChainer
from hapgpu.io.fastx.block_transfer import BlockTransfer, transfer_for
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CudaDevice, Device

Chainer: TypeAlias = Callable[[ReadBlock], PafBlock]
"""Raises InputError where a block is malformed; the message names the file and the record."""
_CPU_BLOCK: Final = 4 << 20
_GPU_BLOCK: Final = 128 << 20
_WORKERS_PER_GPU: Final = 4  # the longest reads of a block keep few warps busy, and others the rest


def chainers_for(
    devices: Sequence[Device], index: MinimizerIndex, options: MapOptions
) -> list[Chainer]:
    """Return a chainer for each thread that is to chain: one per CPU thread, or some per GPU."""
    chainers: list[Chainer] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            from hapgpu.chaining.run.cuda import CudaChainer  # noqa: PLC0415  (imports CuPy)

            chainers += [CudaChainer(index, options, device)] * _WORKERS_PER_GPU
        else:
            chainers += [CpuChainer(index, options)] * device.threads
    return chainers


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return how blocks come to the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)

"""Workers that turn blocks of reads into text, and the transfer of blocks to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.read_blocks import Allocate
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.runtime.devices import CudaDevice, Device

BlockWorker: TypeAlias = Callable[[ReadBlock], TextBlock]
"""Raises InputError where a record is malformed; the message names the file and the record."""
_MAX_COPYING_THREADS: Final = 8  # more of them hardly copy more


def workers_for(
    devices: Sequence[Device],
    on_cpu: Callable[[], BlockWorker],
    on_gpu: Callable[[CudaDevice], BlockWorker],
    *,
    per_gpu: int,
) -> list[BlockWorker]:
    """Return a worker for each thread that is to compute: one per CPU thread, some per GPU.

    Parameters
    ----------
    devices
        Where to compute.
    on_cpu, on_gpu
        Make the worker of a device, which its threads share.
    per_gpu
        Threads per GPU.
    """
    workers: list[BlockWorker] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            workers += [on_gpu(device)] * per_gpu
        else:
            workers += [on_cpu()] * device.threads
    return workers


@dataclass(frozen=True, slots=True)
class BlockTransfer:
    """How blocks of reads are read, and what becomes of them is written.

    Attributes
    ----------
    size
        Of a block, in bytes.
    allocate
        Where its memory comes from.
    threads
        That read a file at the same time, and that write one.
    """

    size: int
    allocate: Allocate
    threads: int


def transfer_for(
    devices: Sequence[Device], threads: int, *, cpu_bytes: int, gpu_bytes: int
) -> BlockTransfer:
    """Return what suits the devices: the cache of a CPU, or the copies to a GPU.

    Parameters
    ----------
    devices
        At least one; all are CPUs, or all GPUs.
    threads
        That the user allows.
    cpu_bytes, gpu_bytes
        Size of a block on either kind of device.
    """
    if not isinstance(devices[0], CudaDevice):
        return BlockTransfer(cpu_bytes, _unpinned, 1)
    from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415  (imports CuPy)

    return BlockTransfer(
        gpu_bytes, lambda size: pinned_array(size, np.uint8), min(threads, _MAX_COPYING_THREADS)
    )


def _unpinned(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)

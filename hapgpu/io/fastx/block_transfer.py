"""Settings to read blocks of reads and write their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.read_blocks import Allocate
from hapgpu.runtime.devices import CudaDevice, Device

_MAX_COPYING_THREADS: Final = 8  # more threads hardly copy faster


@dataclass(frozen=True, slots=True)
class BlockTransfer:
    """Settings to read blocks of reads and write their results.

    Attributes
    ----------
    size
        Size of a block in bytes.
    allocate
        Allocates the memory of a block.
    threads
        Threads that read a file, and threads that write one.
    """

    size: int
    allocate: Allocate
    threads: int


def transfer_for(
    devices: Sequence[Device], threads: int, *, cpu_bytes: int, gpu_bytes: int
) -> BlockTransfer:
    """Return settings that suit the cache of a CPU, or the copies to a GPU.

    Parameters
    ----------
    devices
        At least one; all are CPUs, or all GPUs.
    threads
        Maximum of threads.
    cpu_bytes, gpu_bytes
        Size of a block for CPUs and for GPUs.
    """
    if not isinstance(devices[0], CudaDevice):
        return BlockTransfer(cpu_bytes, _unpinned, 1)
    from hapgpu.runtime.gpu.context import pinned_array  # noqa: PLC0415  (imports CuPy)

    return BlockTransfer(
        gpu_bytes, lambda size: pinned_array(size, np.uint8), min(threads, _MAX_COPYING_THREADS)
    )


def _unpinned(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)

"""Queue of reads for the warps of a grid, longest reads first (`cuda/common/work_queue.cuh`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, KernelArgument
from hapgpu.runtime.gpu.launch import LoadedKernel, load_kernel
from hapgpu.runtime.gpu_array import GpuArray

WARP: Final = 32

QUEUE: Final = (Array("order", np.int64, "reads"), Array("taken", np.int32, "one"))
"""Parameters of a kernel with a queue; it also has the scalars `reads` and `one`."""


def work_queue(offsets: GpuArray) -> tuple[GpuArray, GpuArray]:
    """Return the arguments for `QUEUE`: int64[n], the reads by descending size, and int32[1], 0.

    Parameters
    ----------
    offsets
        int64[n + 1] on the GPU, n > 0: the rows of read i are `offsets[i]` to
        `offsets[i + 1]`.
    """
    return cupy.argsort(offsets[:-1] - offsets[1:]), cupy.zeros(1, dtype=np.int32)


def launch_threads(
    kernel: Kernel, threads: int, items: int, arguments: tuple[KernelArgument, ...]
) -> None:
    """Launch a kernel whose threads loop over items with a grid stride, on the current GPU.

    Parameters
    ----------
    kernel
        The kernel.
    threads
        Threads per block.
    items
        The number of items, one per thread if that many threads fit on the GPU.
    arguments
        The arguments of the kernel.
    """
    device = cupy.cuda.Device().id
    loaded = load_kernel(kernel, device)
    blocks = min(-(-items // threads), persistent_blocks(loaded, threads, device))
    loaded.launch(max(blocks, 1), threads, arguments)


def persistent_blocks(loaded: LoadedKernel, threads: int, device: int) -> int:
    """Return how many thread blocks to launch of a kernel whose warps work until no item is left.

    The blocks leave a part of each multiprocessor free: a kernel of another stream ends only when
    all its blocks have run, and would otherwise wait for the longest item of this kernel.
    """
    resident = loaded.blocks_per_multiprocessor(threads)
    return multiprocessors(device) * max(resident * 3 // 4, 1)

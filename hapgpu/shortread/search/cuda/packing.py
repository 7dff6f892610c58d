"""Packing of reads on a GPU (`cuda/shortread/pack_reads.cu`)."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.shortread.search.cuda.arrays import DevicePackedReads, DeviceTextReads
from hapgpu.shortread.search.kernels import COUNT_WORDS, PACK_READS

_THREADS: Final = 256
_LANES: Final = 8  # per read, as in the source


def pack_on_device(reads: DeviceTextReads, device: int) -> DevicePackedReads:
    """Pack reads as `packed_reads.pack_reads` does, on the current stream.

    Parameters
    ----------
    reads
        The reads.
    device
        The number of the GPU.
    """
    n, lengths = len(reads), reads.lengths
    counts = cupy.empty(n + 1, dtype=np.int64)
    _launch(COUNT_WORDS, device, n, (lengths, counts, n))
    ends = cupy.cumsum(counts)
    (total,) = last_values(ends)
    word_offsets = cupy.empty(n + 1, dtype=np.int32)
    words = cupy.empty(6 * total, dtype=np.uint64)
    _launch(
        PACK_READS,
        device,
        n * _LANES,
        ((reads.text, reads.text.size), reads.starts, lengths, ends, word_offsets, words, n, total),
    )
    return DevicePackedReads(words, word_offsets, lengths, total)


def _launch(kernel: Kernel, device: int, threads: int, arguments: tuple[object, ...]) -> None:
    """Launch a kernel with at least `threads` threads."""
    load_kernel(kernel, device).launch(-(-threads // _THREADS), _THREADS, arguments)

"""Timing of the search of short reads, with the reads in GPU memory.

`backtrack_on_device` searches as `hapgpu/benchmark/backtracking.py`, bit for bit
(`cuda/benchmark/backtracking.cu`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.backtracking import MAX_RESULTS, row_count
from hapgpu.benchmark.cuda.io import timed_on_gpu
from hapgpu.io.fastx.read_block import ReadSpans
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import thread_streams
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.cuda import DeviceIndex, resident_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.search.cuda.arrays import DevicePackedReads, DeviceTextReads
from hapgpu.shortread.search.cuda.packing import pack_on_device
from hapgpu.shortread.search.cuda.search import search_on_device
from hapgpu.shortread.search.hits import SearchOptions
from hapgpu.shortread.search.kernels import BWT, READS

_THREADS = 256
_STRANDS = 2

BACKTRACK: Final = Kernel(
    "benchmark/backtracking.cu",
    "backtrack",
    (
        BWT,
        Scalar("rows", np.uint32),
        READS,
        Scalar("strands", np.int32),
        Scalar("max_results", np.int32),
        Array("results", np.uint32, "total_results", width=4),
        Array("counts", np.int32, "searches"),
        Scalar("searches", np.int32),
        Length("total_results"),
    ),
)


def time_search(
    index: FMIndexArrays,
    texts: Sequence[NDArray[np.uint8]],
    spans: Sequence[ReadSpans],
    device: CudaDevice,
    repeats: int,
) -> tuple[int, float]:
    """Measure `search_on_device`, which packs the reads.

    Parameters
    ----------
    index
        The index of the reference.
    texts, spans
        Reads; the texts, uint8, have less than 2**31 bytes in total.
    device
        The GPU.
    repeats
        Number of runs.

    Returns
    -------
    The number of hits, and the median of the seconds.

    Raises
    ------
    DeviceError
        The index does not fit.
    """
    resident, number = resident_index(index, device), device.index
    with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        reads = _on_device(texts, spans)

        def run() -> GpuArray:
            return search_on_device(resident, reads, SearchOptions(), number).hits

        hits, seconds = timed_on_gpu(run, repeats)
        return int(hits.size), seconds


def time_backtracking(
    index: FMIndexArrays,
    texts: Sequence[NDArray[np.uint8]],
    spans: Sequence[ReadSpans],
    device: CudaDevice,
    repeats: int,
) -> tuple[int, float]:
    """Measure packing and `backtrack_on_device`, as `time_search`; count results, not hits."""
    resident, number = resident_index(index, device), device.index
    with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        reads = _on_device(texts, spans)

        def run() -> GpuArray:
            packed = pack_on_device(reads, number)
            counts, _ = backtrack_on_device(resident, row_count(index), packed, number)
            return counts

        counts, seconds = timed_on_gpu(run, repeats)
        return int(counts.sum()), seconds


def _on_device(texts: Sequence[NDArray[np.uint8]], spans: Sequence[ReadSpans]) -> DeviceTextReads:
    """Return the reads in the concatenated texts."""
    ends = np.cumsum([text.size for text in texts])
    whole = cupy.empty(int(ends[-1]), dtype=np.uint8)
    starts = []
    for text, end, part in zip(texts, ends.tolist(), spans, strict=True):
        start = end - text.size
        whole[start:end].set(text)
        starts.append(part.base_starts + np.int32(start))
    lengths = np.concatenate([part.lengths for part in spans])
    return DeviceTextReads(whole, cupy.asarray(np.concatenate(starts)), cupy.asarray(lengths))


def backtrack_on_device(
    index: DeviceIndex, rows: int, reads: DevicePackedReads, device: int
) -> tuple[GpuArray, GpuArray]:
    """Return int32 counts and uint32 results, as in `BacktrackingResults`, on the current stream.

    Parameters
    ----------
    index, reads
        Index and reads on the device.
    rows
        Number of rows of the index.
    device
        Number of the device.
    """
    searches = _STRANDS * len(reads)
    counts = cupy.empty(searches, dtype=np.int32)
    results = cupy.empty((searches, MAX_RESULTS, 4), dtype=np.uint32)
    arguments = (
        index.bwt,
        rows,
        reads.fields,
        _STRANDS,
        MAX_RESULTS,
        results,
        counts,
        searches,
        results.size // 4,
    )
    load_kernel(BACKTRACK, device).launch(-(-searches // _THREADS), _THREADS, arguments)
    return counts, results

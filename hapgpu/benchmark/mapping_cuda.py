"""Timing of the search kernels, with the reads in GPU memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.benchmark.baselines.backtracking import row_count
from hapgpu.benchmark.baselines.backtracking_cuda import backtrack_on_device
from hapgpu.io.fastx.spans import ReadSpans
from hapgpu.mapping.index.cuda import resident_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.search.cuda import pack_on_device, search_on_device
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import thread_streams


def time_search(
    index: FMIndexArrays,
    texts: Sequence[NDArray[np.uint8]],
    spans: Sequence[ReadSpans],
    device: CudaDevice,
    repeats: int,
) -> tuple[int, float]:
    """Measure packing and `search_on_device`.

    Parameters
    ----------
    index
        The index of the reference.
    texts, spans
        Reads; the texts have less than 2**31 bytes in total.
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

        def run() -> Any:
            packed = pack_on_device(*reads, number)
            return search_on_device(resident, packed, SearchOptions(), number).hits

        hits, seconds = _timed(run, repeats)
        return int(hits.size), seconds


def time_backtracking(
    index: FMIndexArrays,
    texts: Sequence[NDArray[np.uint8]],
    spans: Sequence[ReadSpans],
    device: CudaDevice,
    repeats: int,
) -> tuple[int, float]:
    """Measure packing and `backtrack_on_device` as `time_search` does; count results, not hits."""
    resident, number = resident_index(index, device), device.index
    with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
        reads = _on_device(texts, spans)

        def run() -> Any:
            packed = pack_on_device(*reads, number)
            counts, _ = backtrack_on_device(resident, row_count(index), packed, number)
            return counts

        counts, seconds = _timed(run, repeats)
        return int(counts.sum()), seconds


def _on_device(
    texts: Sequence[NDArray[np.uint8]], spans: Sequence[ReadSpans]
) -> tuple[Any, Any, Any]:
    """Return the concatenated texts, and the starts and lengths of the bases of all reads."""
    ends = np.cumsum([text.size for text in texts])
    whole = cupy.empty(int(ends[-1]), dtype=np.uint8)
    starts = []
    for text, end, part in zip(texts, ends.tolist(), spans, strict=True):
        start = end - text.size
        whole[start:end].set(text)
        starts.append(part.base_starts + np.int32(start))
    lengths = np.concatenate([part.lengths for part in spans])
    return whole, cupy.asarray(np.concatenate(starts)), cupy.asarray(lengths)


def _timed(run: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    """Return the result of a run, and the median of the seconds; the first run is not timed."""
    result = run()
    seconds = []
    for _ in range(repeats):
        del result  # frees its memory for the next run
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        result = run()
        end.record()
        end.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return result, float(np.median(seconds))

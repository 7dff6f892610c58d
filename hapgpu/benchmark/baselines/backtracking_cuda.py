"""Search of Seide 2012 (Algorithm 3) on a GPU (`cuda/benchmark/backtracking.cu`).

Same as `hapgpu/benchmark/baselines/backtracking.py`, bit for bit.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.benchmark.baselines.backtracking import MAX_RESULTS
from hapgpu.mapping.index.cuda import DeviceIndex
from hapgpu.mapping.search.cuda import DeviceReads
from hapgpu.mapping.search.kernels import OCCURRENCES, READS
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

_THREADS = 256
_STRANDS = 2

BACKTRACK: Final = Kernel(
    "benchmark/backtracking.cu",
    "backtrack",
    (
        *OCCURRENCES,
        Scalar("rows", np.uint32),
        *READS,
        Scalar("strands", np.int32),
        Scalar("max_results", np.int32),
        Array("results", np.uint32, "total_results", width=4),
        Array("counts", np.int32, "searches"),
        Scalar("searches", np.int32),
        Scalar("total_results", np.int64),
    ),
)


def backtrack_on_device(
    index: DeviceIndex, rows: int, reads: DeviceReads, device: int
) -> tuple[Any, Any]:
    """Return counts and results as in `BacktrackingResults`, on the current stream.

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
        *index.occurrences,
        rows,
        reads.words,
        reads.total_words,
        reads.word_offsets,
        reads.lengths,
        len(reads),
        _STRANDS,
        MAX_RESULTS,
        results,
        counts,
        searches,
        results.size // 4,
    )
    load_kernel(BACKTRACK, device).launch(-(-searches // _THREADS), _THREADS, arguments)
    return counts, results

"""The search of Seide 2012 (Algorithm 3) on a GPU: what `backtracking.py` finds, bit for bit."""

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
        Scalar("most", np.int32),
        Array("slots", np.uint32, "total_slots", width=4),
        Array("counts", np.int32, "searches"),
        Scalar("searches", np.int32),
        Scalar("total_slots", np.int64),
    ),
)


def backtrack_on_device(
    index: DeviceIndex, rows: int, reads: DeviceReads, device: int
) -> tuple[Any, Any]:
    """Return counts and slots, as `BacktrackingResults` has them, on the current stream.

    Parameters
    ----------
    index, reads
        On the device.
    rows
        Of the index.
    device
        Its number.
    """
    searches = _STRANDS * len(reads)
    counts = cupy.empty(searches, dtype=np.int32)
    slots = cupy.empty((searches, MAX_RESULTS, 4), dtype=np.uint32)
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
        slots,
        counts,
        searches,
        slots.size // 4,
    )
    load_kernel(BACKTRACK, device).launch(-(-searches // _THREADS), _THREADS, arguments)
    return counts, slots

"""Records clipped to intervals on a GPU (`cuda/cigar/read_parts.cu`); as `cigar/read_parts.py`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128

CLIP_PARTS: Final = Kernel(
    "cigar/read_parts.cu",
    "clip_parts",
    (
        Array("data", np.uint8, "size"),
        Array("cigar_starts", np.int64, "records"),
        Array("cigar_sizes", np.int32, "records"),
        Array("positions", np.int32, "records"),
        Array("base_counts", np.int32, "records"),
        Array("reads", np.int64, "parts"),
        Array("starts", np.int64, "parts"),
        Array("ends", np.int64, "parts"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("parts", np.int32),
    ),
)


def clipped_parts(records: DeviceRecords, reads: Any, starts: Any, ends: Any) -> tuple[Any, Any]:
    """Clip records to intervals of the contigs that they are aligned to, on the current GPU.

    Parameters
    ----------
    records
        n records with positions.
    reads
        int64[p]: records to clip, in any order, repeats allowed.
    starts, ends
        int64[p]: the interval of each, 0-based, half-open.

    Returns
    -------
    int64[p] each: start and end of the bases of each part, by the rules of
    `hapgpu.cigar.read_parts.clipped_parts`.
    """
    first, last = starts.copy(), ends.copy()
    layout = records.layout
    arguments = (
        records.data,
        layout.cigar_starts,
        layout.cigar_lengths,
        records.positions,
        layout.base_counts,
        reads,
        first,
        last,
        records.data.size,
        len(records),
        reads.size,
    )
    launch_threads(CLIP_PARTS, _THREADS, reads.size, arguments)
    return first, last

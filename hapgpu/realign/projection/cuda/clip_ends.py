"""Ends of alignments on a GPU (`cuda/realign/projection/clip_ends.cu`).

Same as `hapgpu/realign/projection/clip_ends.py`.
"""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads

_THREADS: Final = 128
_SOURCE: Final = "realign/projection/clip_ends.cu"

_CIGARS: Final = (
    Array("cigars", np.uint32, "elements"),
    Array("offsets", np.int64, "count", 1),
)
MEASURE_CLIPPED_ENDS: Final = Kernel(
    _SOURCE,
    "measure_clipped_ends",
    (
        *_CIGARS,
        Array("positions", np.int64, "count"),
        Array("sizes", np.int64, "count"),
        Array("starts", np.int64, "count"),
        Scalar("elements", np.int64),
        Scalar("count", np.int32),
    ),
)
WRITE_CLIPPED_ENDS: Final = Kernel(
    _SOURCE,
    "write_clipped_ends",
    (
        *_CIGARS,
        Array("out_offsets", np.int64, "count", 1),
        Array("out", np.uint32, "written"),
        Scalar("elements", np.int64),
        Scalar("count", np.int32),
        Scalar("written", np.int64),
    ),
)
COMPARE_ALIGNMENTS: Final = Kernel(
    _SOURCE,
    "compare_alignments",
    (
        Array("one", np.uint32, "one_elements"),
        Array("one_offsets", np.int64, "count", 1),
        Array("one_positions", np.int32, "count"),
        Array("other", np.uint32, "other_elements"),
        Array("other_offsets", np.int64, "count", 1),
        Array("other_positions", np.int32, "count"),
        Array("same", np.uint8, "count"),
        Scalar("one_elements", np.int64),
        Scalar("other_elements", np.int64),
        Scalar("count", np.int32),
    ),
)


def clip_end_insertions(cigars: DeviceRagged, positions: Any) -> tuple[DeviceRagged, Any]:
    """Turn insertions at the ends into soft clips, and remove deletions next to them.

    Works on the current GPU, and waits for it.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    positions
        int64[n].

    Returns
    -------
    CIGARs, and int64[n], the positions of their first aligned bases.
    """
    count = len(cigars)
    sizes = cupy.empty(count, dtype=np.int64)
    starts = cupy.empty(count, dtype=np.int64)
    columns = (cigars.data, cigars.offsets)
    measured = (*columns, positions, sizes, starts, cigars.data.size, count)
    launch_threads(MEASURE_CLIPPED_ENDS, _THREADS, count, measured)
    offsets = offsets_of(sizes)
    out = cupy.empty(int(offsets[-1]), dtype=np.uint32)
    written = (*columns, offsets, out, cigars.data.size, count, out.size)
    launch_threads(WRITE_CLIPPED_ENDS, _THREADS, count, written)
    return DeviceRagged(out, offsets), starts


def are_same_alignments(
    one: DeviceRagged, one_positions: Any, other: DeviceRagged, other_positions: Any
) -> Any:
    """Return bool[n]: whether all bases have equal positions; M, = and X are the same.

    Positions are int32[n].
    """
    count = len(one)
    same = cupy.empty(count, dtype=np.uint8)
    columns = (one.data, one.offsets, one_positions, other.data, other.offsets, other_positions)
    sizes = (one.data.size, other.data.size, count)
    launch_threads(COMPARE_ALIGNMENTS, _THREADS, count, (*columns, same, *sizes))
    return same.view(np.bool_)

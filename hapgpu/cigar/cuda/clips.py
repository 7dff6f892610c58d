"""Soft and hard clips on a GPU (`cuda/cigar/clips.cu`); same as `hapgpu/cigar/clips.py`."""

from __future__ import annotations

from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged, offsets_of
from hapgpu.cigar.clips import Clips, too_many_clips
from hapgpu.io.bam.constants import FIXED_BYTES
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

MEASURE_CLIPS: Final = Kernel(
    "cigar/clips.cu",
    "measure_clips",
    (
        Array("data", np.uint8, "size"),
        Array("flags", np.uint16, "count"),
        Array("base_counts", np.int32, "count"),
        Array("starts", np.int64, "count"),
        Array("sizes", np.int32, "count"),
        Array("leading", np.int32, "count"),
        Array("trailing", np.int32, "count"),
        Array("leading_hard", np.int32, "count"),
        Array("trailing_hard", np.int32, "count"),
        Array("first_fault", np.int32, "one"),
        Scalar("size", np.int64),
        Scalar("count", np.int32),
        Scalar("one", np.int32),
    ),
)
ADD_HARD_CLIPS: Final = Kernel(
    "cigar/clips.cu",
    "add_hard_clips",
    (
        Array("cigars", np.uint32, "elements"),
        Array("offsets", np.int64, "count", 1),
        Array("leading", np.int32, "count"),
        Array("trailing", np.int32, "count"),
        Array("out_offsets", np.int64, "count", 1),
        Array("out", np.uint32, "written"),
        Scalar("elements", np.int64),
        Scalar("count", np.int32),
        Scalar("written", np.int64),
    ),
)


def clips_of(records: DeviceRecords, source: str) -> Clips:
    """Return the clips of mapped records with bases, in CuPy arrays; 0 for others.

    Works on the current GPU, and waits for it.

    Raises
    ------
    InputError
        A read has fewer bases than its CIGAR clips.
    """
    layout = records.layout
    count = len(records)
    clips = Clips(*(cupy.empty(count, dtype=np.int32) for _ in range(4)))
    first_fault = cupy.full(1, count, dtype=np.int32)
    cigars = (layout.base_counts, layout.cigar_starts, layout.cigar_lengths)
    measured = (clips.leading, clips.trailing, clips.leading_hard, clips.trailing_hard)
    arguments = (records.data, records.flags, *cigars, *measured, first_fault)
    launch_threads(MEASURE_CLIPS, _THREADS, count, (*arguments, records.data.size, count, 1))
    row = int(first_fault[0])
    if row < count:
        start = int(layout.starts[row]) + FIXED_BYTES
        name = records.data[start : start + int(layout.name_lengths[row])]
        raise too_many_clips(source, name.get())
    return clips


def with_hard_clips(cigars: DeviceRagged, leading: GpuArray, trailing: GpuArray) -> DeviceRagged:
    """Add hard clips of int32[n] bases, 0 for none, to CIGARs; an empty CIGAR stays empty.

    Works on the current GPU, and waits for it.
    """
    count = len(cigars)
    added = (leading > 0).astype(np.int64) + (trailing > 0)
    offsets = offsets_of(cigars.lengths + cupy.where(cigars.lengths > 0, added, 0))
    written = int(offsets[-1])
    if written == cigars.data.size:
        return cigars
    out = cupy.empty(written, dtype=np.uint32)
    arguments = (cigars.data, cigars.offsets, leading, trailing, offsets, out)
    sizes = (cigars.data.size, count, written)
    launch_threads(ADD_HARD_CLIPS, _THREADS, count, (*arguments, *sizes))
    return DeviceRagged(out, offsets)

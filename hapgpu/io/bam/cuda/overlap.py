"""Selection, on a GPU, of the records that overlap given regions (`cuda/io/bam/overlap.cu`)."""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

import cupy
import numpy as np

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.overlap import Intervals
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel

_THREADS: Final = 128

MARK_OVERLAPS: Final = Kernel(
    "io/bam/overlap.cu",
    "mark_overlaps",
    (
        Array("data", np.uint8, "size"),
        Array("cigar_starts", np.int64, "records"),
        Array("cigar_lengths", np.int32, "records"),
        Array("flags", np.uint16, "records"),
        Array("reference_ids", np.int32, "records"),
        Array("positions", np.int32, "records"),
        Array("offsets", np.int64, "contigs", 1),
        Array("starts", np.int64, "intervals"),
        Array("ends", np.int64, "intervals"),
        Array("marks", np.uint8, "records"),
        Scalar("size", np.int64),
        Scalar("records", np.int32),
        Scalar("contigs", np.int32),
        Scalar("intervals", np.int32),
    ),
)


class DeviceIntervals:
    """Intervals in the memory of each GPU that asks for them; for several threads.

    Parameters
    ----------
    intervals
        Intervals of the contigs of a header.
    """

    def __init__(self, intervals: Intervals) -> None:
        self._intervals = intervals
        further = intervals.further
        self._further = None if further is None else DeviceIntervals(further)
        self._lock = Lock()
        self._copies: dict[int, tuple[Any, Any, Any]] = {}

    def overlapped(self, records: DeviceRecords) -> Any:
        """Return bool[n] on the GPU: as `Intervals.overlapped`."""
        offsets, starts, ends = self._on(cupy.cuda.Device().id)
        marks = cupy.empty(len(records), dtype=np.uint8)
        if len(records):
            layout = records.layout
            fields = (records.flags, records.reference_ids, records.positions)
            sizes = (records.data.size, len(records), offsets.size - 1, starts.size)
            arrays = (records.data, layout.cigar_starts, layout.cigar_lengths, *fields)
            load_kernel(MARK_OVERLAPS, cupy.cuda.Device().id).launch(
                -(-len(records) // _THREADS),
                _THREADS,
                (*arrays, offsets, starts, ends, marks, *sizes),
            )
        found = marks.view(np.bool_)
        return found if self._further is None else found & self._further.overlapped(records)

    def _on(self, device: int) -> tuple[Any, Any, Any]:
        with self._lock:
            if device not in self._copies:
                intervals = self._intervals
                columns = (intervals.offsets_by_contig(), intervals.starts, intervals.ends)
                offsets, starts, ends = map(cupy.asarray, columns)
                cupy.cuda.get_current_stream().synchronize()  # others use other streams
                self._copies[device] = (offsets, starts, ends)
            return self._copies[device]

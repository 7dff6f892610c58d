"""Samples of reads by their read groups, on a GPU (`cuda/io/bam/samples.cu`)."""

from __future__ import annotations

from threading import Lock
from typing import Final

import cupy
import numpy as np

from hapgpu.arrays.cuda import DeviceRagged
from hapgpu.io.bam.cuda.device_records import RECORDS, DeviceRecords, download_reads
from hapgpu.io.bam.read_groups import ReadGroups
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Scalar, Struct
from hapgpu.runtime.gpu.work_queue import launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_THREADS: Final = 128

FIND_SAMPLES: Final = Kernel(
    "io/bam/samples.cu",
    "find_samples",
    (
        RECORDS,
        Struct(
            "groups",
            (
                Array("identifiers", np.uint8, "bytes"),
                Array("offsets", np.int64, "count", 1),
                Array("samples", np.int32, "count"),
                Length("bytes"),
                *(Scalar("count", np.int32), Scalar("only_sample", np.int32)),
            ),
        ),
        Array("samples", np.int32, "records.count"),
        *(Array("fault", np.int32, "one"), Length("one")),
    ),
)


class DeviceReadGroups:
    """The read groups of a file, in the memory of each GPU that asks; for several threads."""

    def __init__(self, groups: ReadGroups) -> None:
        self._groups = groups
        self._lock = Lock()
        self._copies: dict[int, tuple[DeviceRagged, GpuArray]] = {}

    def samples_of(self, records: DeviceRecords) -> GpuArray:
        """Return the sample of each read, int32[n], as `ReadGroups.samples_of`; waits.

        Raises
        ------
        InputError
            As `ReadGroups.samples_of`.
        """
        groups, count = self._groups, len(records)
        if not len(groups.identifiers):
            return cupy.full(count, groups.only_sample, dtype=np.int32)
        identifiers, group_samples = self._on(cupy.cuda.Device().id)
        samples = cupy.empty(count, dtype=np.int32)
        fault = cupy.full(1, count, dtype=np.int32)
        fields = (
            *(identifiers.data, identifiers.offsets, group_samples),
            *(identifiers.data.size, len(identifiers), groups.only_sample),
        )
        arguments = (records.fields, fields, samples, fault, 1)
        launch_threads(FIND_SAMPLES, _THREADS, count, arguments)
        row = int(fault[0])
        if row < count:
            refused = download_reads(records.take(slice(row, row + 1)))
            groups.samples_of(refused, np.zeros(1, dtype=np.int64))
            message = f"read {row}: its read group was refused on the GPU only"
            raise AssertionError(message)
        return samples

    def _on(self, device: int) -> tuple[DeviceRagged, GpuArray]:
        with self._lock:
            if device not in self._copies:
                identifiers = DeviceRagged.upload(self._groups.identifiers)
                samples = cupy.asarray(self._groups.samples)
                cupy.cuda.get_current_stream().synchronize()  # others use other streams
                self._copies[device] = (identifiers, samples)
            return self._copies[device]

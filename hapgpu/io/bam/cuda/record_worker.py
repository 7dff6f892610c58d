"""Worker of a pipeline that computes with records in GPU memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import cupy

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, retried, thread_streams
from hapgpu.runtime.gpu.memory_turns import memory_turns
from hapgpu.runtime.gpu.parts import computed_in_parts

_Result = TypeVar("_Result")


class RecordWorker(Generic[_Result]):
    """Decodes pieces of a file on a GPU and computes with their records, in a thread of its own.

    Where the memory of the GPU is too small for the records of a piece, they are split.

    Parameters
    ----------
    reads
        The file.
    device
        The GPU.
    prepare
        Returns the function that computes; called with the GPU as the current one.
    join
        Joins results of consecutive records.
    """

    def __init__(
        self,
        reads: DeviceReads,
        device: CudaDevice,
        prepare: Callable[[CudaDevice], Callable[[DeviceRecords], _Result]],
        join: Callable[[Sequence[_Result]], _Result],
    ) -> None:
        self._reads = reads
        self._device = device
        self._turns = memory_turns(device)
        self._join = join
        with device_errors(device), cupy.cuda.Device(device.index):
            self._compute = retried(lambda: prepare(device))
            # Streams of other threads do not wait for the copies that this made.
            cupy.cuda.get_current_stream().synchronize()

    def __call__(self, piece: DevicePiece) -> _Result:
        """Decode a piece and compute with its records.

        Raises
        ------
        InputError, DeviceError
            The input is damaged, or the GPU fails or has too little memory.
        """
        index = self._device.index
        # The many short kernels of a worker need not wait for the long ones of another worker.
        stream = thread_streams(index, 1, urgent=True)[0]
        with device_errors(self._device), cupy.cuda.Device(index), stream:
            results = computed_in_parts(self._reads.records(piece), self._computed, _halves)
            return self._join(list(results))

    def _computed(self, records: DeviceRecords) -> _Result:
        return self._turns.compute(partial(self._compute, records))


def _halves(records: DeviceRecords) -> list[DeviceRecords]:
    """Divide records in two parts, which share their bytes; a single record has none."""
    middle = len(records) // 2
    if not middle:
        return []
    return [records.take(slice(0, middle)), records.take(slice(middle, len(records)))]

"""Worker of a pipeline that computes with records in GPU memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Generic, TypeVar

import cupy

from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import (
    OUT_OF_MEMORY,
    device_errors,
    release_memory,
    retried,
    thread_streams,
)
from hapgpu.runtime.gpu.memory_turns import memory_turns

_Result = TypeVar("_Result")

_MIN_SPLIT: Final = 2


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
            return self._join(list(self._results(self._reads.records(piece))))

    def _results(self, records: DeviceRecords) -> Iterator[_Result]:
        parts = [records]
        del records
        while parts:
            part = parts.pop(0)
            try:
                yield self._turns.compute(partial(self._compute, part))
                continue
            except OUT_OF_MEMORY:
                if len(part) < _MIN_SPLIT:
                    raise
            release_memory()  # not in `except`, where the traceback still holds arrays
            middle = len(part) // 2
            parts[:0] = [part.take(slice(0, middle)), part.take(slice(middle, len(part)))]

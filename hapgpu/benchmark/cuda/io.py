"""Benchmark of reading BAM into GPU memory, and timing of work on the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar, cast

import cupy
import numpy as np

from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, thread_streams
from hapgpu.runtime.pipeline import run_pipeline

_PIECE_BYTES: Final = 1 << 26
_WORKERS: Final = 3  # inflating needs many blocks at a time

_Result = TypeVar("_Result")


def read_to_gpu(path: str, device: CudaDevice, threads: int) -> int:
    """Read a BAM file into GPU memory, all checks included; return the number of records.

    Parameters
    ----------
    path
        The file.
    device
        The GPU.
    threads
        CPU threads that read the file.

    Raises
    ------
    InputError
        The file cannot be read.
    DeviceError
        The GPU has too little memory, or failed.
    """
    counts: list[int] = []

    def count(piece: DevicePiece) -> int:
        number = device.index
        with device_errors(device), cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            return len(reads.records(piece))

    def add(records: int) -> int:
        counts.append(records)
        return records

    opened = open_device_reads(path, [device], threads=threads, piece_bytes=_PIECE_BYTES)
    with cast("DeviceReads", opened) as reads:
        run_pipeline(reads.pieces(), [count] * _WORKERS, add)
    return sum(counts)


def timed_on_gpu(run: Callable[[], _Result], repeats: int) -> tuple[_Result, float]:
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

"""Reading of BAM into GPU memory, for its benchmark."""

from __future__ import annotations

from typing import Final, cast

import cupy

from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, thread_streams
from hapgpu.runtime.pipeline import run_pipeline

_PIECE_BYTES: Final = 1 << 26
_WORKERS: Final = 3  # inflating needs many blocks at a time


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

"""Reading of BAM into GPU memory, for its benchmark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final, cast

import cupy

from hapgpu.io.alignments.cuda import open_device_reads
from hapgpu.io.alignments.writer import open_writer
from hapgpu.io.bam.cuda.reader import DevicePiece, DeviceReads
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime import leftovers
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, thread_streams
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.simulation.short_reads import REFERENCE_LENGTH, simulated_reads

_BATCH_READS: Final = 50_000
_BATCHES: Final = 160
_PIECE_BYTES: Final = 1 << 26
_WORKERS: Final = 3  # inflating needs many blocks at a time


def benchmark_gpu_reading(
    device: CudaDevice, threads: int, seconds: float = 3.0, batches: int = _BATCHES
) -> dict[str, float]:
    """Measure reading of a temporary BAM file, level 1, into GPU memory.

    Parameters
    ----------
    device
        The GPU.
    threads
        CPU threads that read the file.
    seconds
        Minimum duration of the measurement.
    batches
        Size of the file, in units of 50,000 simulated reads of 150 bases. Files of fewer than 100
        have too few pieces to keep the GPU busy.

    Returns
    -------
    dict
        `gpu_decode_reads_per_second` and `gpu_decode_file_bytes_per_second`, of the fastest of
        several runs after one without timing.

    Raises
    ------
    DeviceError
        The GPU has too little memory, or failed.
    """
    header = SamHeader.from_references(["chr20"], [REFERENCE_LENGTH])
    batch = simulated_reads(_BATCH_READS)
    with leftovers.temporary_directory() as directory:
        path = Path(directory, "reads.bam")
        with open_writer(str(path), header, threads=threads) as writer:
            for _ in range(batches):
                writer.write(batch)
        reads = read_to_gpu(str(path), device, threads)
        best = float("inf")
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            read_to_gpu(str(path), device, threads)
            best = min(best, time.perf_counter() - start)
        size = path.stat().st_size
    return {
        "gpu_decode_reads_per_second": reads / best,
        "gpu_decode_file_bytes_per_second": size / best,
    }


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

"""Workers that turn blocks of reads into text, and the transfer of blocks to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.bgzf.pieces import Allocate
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.io.fastx.read_blocks import read_blocks
from hapgpu.io.fastx.uncut_blocks import UncutBlock, uncut_file
from hapgpu.runtime.devices import CpuDevice, CudaDevice, Device, gpus_of
from hapgpu.runtime.gpu_processes import input_memory, opened_workers
from hapgpu.runtime.output import Divided

BlockWorker: TypeAlias = Callable[[Any], TextBlock | Divided[Any, TextBlock]]
"""Takes a `ReadBlock`, on a GPU also a `UncutBlock`, or a part into which it divided a block.

Raises InputError if a record is malformed; the message names the file and the record.
"""
_Result = TypeVar("_Result")
_MAX_READING_THREADS: Final = 8  # per GPU; more threads hardly copy faster
_MAX_WRITING_THREADS: Final = 12  # per GPU; they also make the pages of the file


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """Settings for reading files of reads.

    Attributes
    ----------
    transfer
        The size of the blocks, and how they get to the devices.
    max_record
        Bytes of the longest record.
    threads
        Threads that decode BAM, CRAM and SAM.
    with_comments
        Whether the tags of BAM, CRAM and SAM follow the names, as lines of SAM have them.
    """

    transfer: BlockTransfer
    max_record: int
    threads: int
    with_comments: bool = False


def workers_for(
    devices: Sequence[Device],
    open_worker: Callable[[Device], Callable[[Any], _Result]],
    *,
    per_gpu: int,
    processes: int = 1,
) -> list[Callable[[Any], _Result]]:
    """Return a worker for each computing thread: one per CPU thread, `per_gpu` per GPU.

    Parameters
    ----------
    devices
        All are CPUs, or all GPUs.
    open_worker
        Makes the worker of a device, which its threads share.
    per_gpu
        Threads per GPU.
    processes
        Result of `gpu_processes`.
    """
    if gpus := gpus_of(devices):
        opened = opened_workers(gpus, open_worker, processes)
        return [worker for worker in opened for _ in range(per_gpu)]
    cpus = [device for device in devices if isinstance(device, CpuDevice)]
    return [worker for cpu in cpus for worker in [open_worker(cpu)] * cpu.threads]


@dataclass(frozen=True, slots=True)
class BlockTransfer:
    """Settings to read blocks of reads and write their results.

    Attributes
    ----------
    size
        Size of a block in bytes.
    allocate
        Allocates the memory of a block.
    reading_threads
        Threads that read a file.
    writing_threads
        Threads that write one.
    are_cut_by_workers
        Whether the workers take an `UncutBlock`.
    """

    size: int
    allocate: Allocate
    reading_threads: int
    writing_threads: int
    are_cut_by_workers: bool

    def blocks(self, path: str, max_record: int) -> Iterator[ReadBlock | UncutBlock]:
        """Read a file in blocks for the workers.

        Parameters
        ----------
        path
            FASTQ or FASTA; `-` is standard input.
        max_record
            Bytes of the longest record.

        Raises
        ------
        InputError
            The file cannot be read.
        """
        if self.are_cut_by_workers and (file := uncut_file(path, max_record)):
            yield from file.blocks(self.size, self.allocate, self.reading_threads)
        else:
            yield from read_blocks(path, self.size, self.allocate, self.reading_threads, max_record)


def transfer_for(
    devices: Sequence[Device], threads: int, *, cpu_bytes: int, gpu_bytes: int, processes: int = 1
) -> BlockTransfer:
    """Return settings that suit the cache of a CPU, or the copies to a GPU.

    Parameters
    ----------
    devices
        At least one; all are CPUs, or all GPUs.
    threads
        Maximum of threads.
    cpu_bytes, gpu_bytes
        Size of a block for CPUs and for GPUs.
    processes
        Result of `gpu_processes`.
    """
    if not isinstance(devices[0], CudaDevice):
        return BlockTransfer(cpu_bytes, _unpinned, 1, 1, are_cut_by_workers=False)
    return BlockTransfer(
        gpu_bytes,
        input_memory(processes),
        min(threads, _MAX_READING_THREADS * len(devices)),
        min(threads, _MAX_WRITING_THREADS * len(devices)),
        are_cut_by_workers=True,
    )


def _unpinned(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)

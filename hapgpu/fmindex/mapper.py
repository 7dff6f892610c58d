"""Blocks of reads turned into lines of SAM, on each kind of device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.device import CudaDevice, Device
from hapgpu.fmindex.cpu import search
from hapgpu.fmindex.hits import SearchOptions
from hapgpu.fmindex.index_data import IndexData
from hapgpu.fmindex.mapped import MappedBlock
from hapgpu.fmindex.packing import pack_reads
from hapgpu.fmindex.sam_cpu import format_records
from hapgpu.fmindex.sam_options import SamOptions
from hapgpu.fmindex.sam_tables import sam_tables
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_blocks import Allocate
from hapgpu.io.read_rules import SHORT_READS
from hapgpu.io.read_spans import parse_block

Mapper: TypeAlias = Callable[[ReadBlock], MappedBlock]
"""Raises InputError where a block is malformed; the message names the file and the record."""

_CPU_BLOCK: Final = 2 << 20
_GPU_BLOCK: Final = 64 << 20
_MOST_COPYING_THREADS: Final = 8  # more of them hardly copy more
_WORKERS_PER_GPU: Final = 2  # one copies while the other computes


class CpuMapper:
    """Maps blocks of reads, each in the thread that asks for it.

    Parameters
    ----------
    index
        Of the reference.
    search_options
        Which hits are wanted.
    sam_options
        What is written of them.
    """

    def __init__(
        self, index: IndexData, search_options: SearchOptions, sam_options: SamOptions
    ) -> None:
        self._index = index
        self._options = search_options
        self._tables = sam_tables(index, sam_options)

    def __call__(self, block: ReadBlock) -> MappedBlock:
        """Map one block.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        spans = parse_block(block, SHORT_READS)
        reads = pack_reads(block.text, spans.base_starts, spans.lengths)
        hits = search(self._index, reads, self._options)
        return format_records(self._tables, block.text, spans, hits)


def mappers_for(
    devices: Sequence[Device],
    index: IndexData,
    search_options: SearchOptions,
    sam_options: SamOptions,
) -> list[Mapper]:
    """Return a mapper for each thread that is to map: one per CPU thread, or some per GPU."""
    mappers: list[Mapper] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            from hapgpu.fmindex.cuda_mapper import CudaMapper  # noqa: PLC0415  (imports CuPy)

            on_gpu = CudaMapper(index, search_options, sam_options, device)
            mappers += [on_gpu] * _WORKERS_PER_GPU
        else:
            mappers += [CpuMapper(index, search_options, sam_options)] * device.threads
    return mappers


@dataclass(frozen=True, slots=True)
class BlockTransfer:
    """How blocks of reads are read, and what becomes of them is written.

    Attributes
    ----------
    size
        Of a block, in bytes.
    allocate
        Where its memory comes from.
    threads
        That read a file at the same time, and that write one.
    """

    size: int
    allocate: Allocate
    threads: int


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return what suits the devices: the cache of a CPU, or the copies to a GPU."""
    if not isinstance(devices[0], CudaDevice):
        return BlockTransfer(_CPU_BLOCK, _unpinned, 1)
    from hapgpu.gpu import pinned_array  # noqa: PLC0415  (imports CuPy)

    return BlockTransfer(
        _GPU_BLOCK, lambda size: pinned_array(size, np.uint8), min(threads, _MOST_COPYING_THREADS)
    )


def _unpinned(size: int) -> NDArray[np.uint8]:
    return np.empty(size, dtype=np.uint8)

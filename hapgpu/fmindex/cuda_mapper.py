"""Blocks of reads mapped on a GPU, from the text of FASTQ to the text of SAM."""

from __future__ import annotations

from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.device import CudaDevice
from hapgpu.errors import DeviceError
from hapgpu.fmindex.cuda import pack_on_device, search_on_device
from hapgpu.fmindex.device_index import resident_index
from hapgpu.fmindex.hits import SearchOptions
from hapgpu.fmindex.index_data import IndexData
from hapgpu.fmindex.mapped import MappedBlock
from hapgpu.fmindex.sam_cuda import DeviceFormatter, RecordCounts
from hapgpu.fmindex.sam_options import SamOptions
from hapgpu.fmindex.sam_tables import sam_tables
from hapgpu.gpu import explained, pinned_array, thread_streams
from hapgpu.io.halves import halves_of
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_rules import SHORT_READS
from hapgpu.io.read_spans import parse_block
from hapgpu.io.read_spans_cuda import DeviceSpans, parse_text

_PINNED_UNIT: Final = 32 << 20  # few different sizes: pinned memory is slow to get, and kept
_NOTHING: Final = RecordCounts(0, 0, 0, 0, 0)


class CudaMapper:
    """Maps blocks of reads on one GPU; several threads may call it, each has a stream of its own.

    Parameters
    ----------
    index
        Of the reference.
    search_options
        Which hits are wanted.
    sam_options
        What is written of them.
    device
        Where to compute.

    Raises
    ------
    DeviceError
        The index does not fit.
    """

    def __init__(
        self,
        index: IndexData,
        search_options: SearchOptions,
        sam_options: SamOptions,
        device: CudaDevice,
    ) -> None:
        self._device = device
        self._options = search_options
        with explained(device):
            self._index = resident_index(index, device)
            tables = sam_tables(index, sam_options)
            self._formatter = DeviceFormatter(tables, self._index, device.index)
        if device.memory_limit is not None:
            with cupy.cuda.Device(device.index):
                cupy.get_default_memory_pool().set_limit(size=device.memory_limit)

    def __call__(self, block: ReadBlock) -> MappedBlock:
        """Map one block, in parts if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit, or the device failed.
        """
        with explained(self._device):
            return self._map_in_parts(block)

    def _map_in_parts(self, block: ReadBlock) -> MappedBlock:
        try:
            return self._map(block)
        except cupy.cuda.memory.OutOfMemoryError as error:
            self._release()
            halves = halves_of(block)
            if len(halves) == 1:
                raise DeviceError(
                    f"{block.name}: record {block.first} does not fit into the memory of "
                    f"{self._device.name}: give it more (--gpu-mem), or use --device cpu"
                ) from error
        return _joined([self._map_in_parts(half) for half in halves])

    def _map(self, block: ReadBlock) -> MappedBlock:
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0] as stream:
            text = cupy.empty(block.text.size, dtype=np.uint8)
            text.set(block.text, stream=stream)
            spans = parse_text(text, SHORT_READS, is_fasta=block.is_fasta)
            if spans is None:
                parse_block(block, SHORT_READS)
                raise DeviceError(f"{self._device.name} refuses reads that the CPU accepts")
            if not len(spans):
                return _mapped(np.empty(0, dtype=np.uint8), 0, _NOTHING)
            lines, counts = self._lines(text, spans)
            out = _pinned(lines.size)
            lines.get(stream=stream, out=out, blocking=False)
            stream.synchronize()
            return _mapped(out, len(spans), counts)

    def _lines(self, text: Any, spans: DeviceSpans) -> tuple[Any, RecordCounts]:
        number = self._device.index
        reads = pack_on_device(text, spans.base_starts, spans.lengths, number)
        found = search_on_device(self._index, reads, self._options, number)
        return self._formatter.format(text, spans, found)

    def _release(self) -> None:
        """Give back what the pool of the calling thread's stream keeps."""
        number = self._device.index
        with cupy.cuda.Device(number):
            thread_streams(number, 1)[0].synchronize()
            cupy.get_default_memory_pool().free_all_blocks()


def _mapped(text: NDArray[np.uint8], reads: int, counts: RecordCounts) -> MappedBlock:
    return MappedBlock(
        text, reads, counts.mapped, counts.hits, counts.records, counts.cut, counts.short
    )


def _pinned(size: int) -> NDArray[np.uint8]:
    units = max(-(-size // _PINNED_UNIT), 1)
    return pinned_array(units * _PINNED_UNIT, np.uint8)[:size]


def _joined(parts: list[MappedBlock]) -> MappedBlock:
    return MappedBlock(
        np.concatenate([part.text for part in parts]),
        sum(part.reads for part in parts),
        sum(part.mapped for part in parts),
        sum(part.hits for part in parts),
        sum(part.records for part in parts),
        sum(part.cut for part in parts),
        sum(part.short for part in parts),
    )

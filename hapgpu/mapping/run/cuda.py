"""Blocks of reads mapped on a GPU, from the text of FASTQ to the text of SAM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.blocks_cuda import bring_to_device, in_parts, limit_memory
from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.mapping.index.cuda import resident_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.sam.cuda import DeviceFormatter, RecordCounts
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.sam.sam_block import SamBlock
from hapgpu.mapping.sam.tables import sam_tables
from hapgpu.mapping.search.cuda import pack_on_device, search_on_device
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import explained, pinned_array, thread_streams

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
        index: FMIndexArrays,
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
        limit_memory(device)

    def __call__(self, block: ReadBlock) -> SamBlock:
        """Map one block, in parts if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit, or the device failed.
        """
        return in_parts(block, self._device, self._map, _joined)

    def _map(self, block: ReadBlock) -> SamBlock:
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0] as stream:
            text, spans = bring_to_device(block, SHORT_READS, self._device)
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


def _mapped(text: NDArray[np.uint8], reads: int, counts: RecordCounts) -> SamBlock:
    return SamBlock(
        text, reads, counts.mapped, counts.hits, counts.records, counts.cut, counts.short
    )


def _pinned(size: int) -> NDArray[np.uint8]:
    units = max(-(-size // _PINNED_UNIT), 1)
    return pinned_array(units * _PINNED_UNIT, np.uint8)[:size]


def _joined(parts: Sequence[SamBlock]) -> SamBlock:
    return SamBlock(
        np.concatenate([part.text for part in parts]),
        sum(part.reads for part in parts),
        sum(part.mapped for part in parts),
        sum(part.hits for part in parts),
        sum(part.records for part in parts),
        sum(part.reads_over_max_hits for part in parts),
        sum(part.too_short for part in parts),
    )

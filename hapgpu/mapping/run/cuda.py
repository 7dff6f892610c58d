"""Blocks of reads mapped on a GPU, from the text of FASTQ to the text of SAM."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hapgpu.io.fastx.blocks_cuda import GpuWorker
from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.mapping.index.cuda import resident_index
from hapgpu.mapping.index.fm_index import FMIndexArrays
from hapgpu.mapping.sam.cuda import DeviceFormatter
from hapgpu.mapping.sam.options import SamOptions
from hapgpu.mapping.sam.record_counts import RecordCounts, sam_block
from hapgpu.mapping.sam.tables import sam_tables
from hapgpu.mapping.search.cuda import pack_on_device, search_on_device
from hapgpu.mapping.search.hits import SearchOptions
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, download_pinned

_NO_RECORDS: Final = RecordCounts(0, 0, 0, 0, 0)


class CudaMapper(GpuWorker):
    """Mapper of blocks of reads on one GPU.

    Parameters
    ----------
    index
        The index of the reference.
    search_options
        The hits to find.
    sam_options
        The records to write.
    device
        The GPU.

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
        self._options = search_options
        with device_errors(device):
            self._index = resident_index(index, device)
            tables = sam_tables(index, sam_options)
            self._formatter = DeviceFormatter(tables, self._index, device.index)
        super().__init__(device, SHORT_READS)

    def _text_of(self, _block: ReadBlock, text: Any, spans: DeviceSpans) -> TextBlock:
        if not len(spans):
            return sam_block(np.empty(0, dtype=np.uint8), 0, _NO_RECORDS)
        lines, counts = self._lines(text, spans)
        return sam_block(download_pinned(lines), len(spans), counts)

    def _lines(self, text: Any, spans: DeviceSpans) -> tuple[Any, RecordCounts]:
        number = self._device.index
        reads = pack_on_device(text, spans.base_starts, spans.lengths, number)
        hits = search_on_device(self._index, reads, self._options, number)
        return self._formatter.format(text, spans, hits)

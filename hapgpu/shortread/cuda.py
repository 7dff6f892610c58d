"""Blocks of reads mapped on a GPU, from the text of FASTQ to the text of SAM.

A block with too many candidate positions or too much text is divided: into blocks of fewer reads,
or into the records of one read. Each part is searched again, which takes less time than its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.cuda import DeviceSpans, GpuWorker
from hapgpu.io.fastx.limits import SHORT_READS
from hapgpu.io.fastx.read_block import ReadBlock, TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, download_pinned
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.runtime.output import Divided
from hapgpu.shortread.index.cuda import resident_index
from hapgpu.shortread.index.fm_index import FMIndexArrays
from hapgpu.shortread.sam.cuda import DeviceFormatter
from hapgpu.shortread.sam.tables import RecordCounts, SamOptions, sam_block, sam_tables
from hapgpu.shortread.search.cuda.arrays import DeviceHits, DeviceTextReads
from hapgpu.shortread.search.cuda.packing import pack_on_device
from hapgpu.shortread.search.cuda.row_search import RowSearch
from hapgpu.shortread.search.cuda.search import DeviceSearch
from hapgpu.shortread.search.hits import SearchOptions

_MAX_ROWS: Final = 1 << 26
"""Candidate positions of a part of a block, or those of one read."""
_MAX_TEXT: Final = 96 << 20
_MAX_HITS: Final = 1 << 23
"""Hits of a read that are kept, if it has more candidate positions than a part."""

_NO_RECORDS: Final = RecordCounts(0, 0, 0, 0, 0)
_NO_READS: Final = sam_block(np.empty(0, dtype=np.uint8), 0, _NO_RECORDS)


@dataclass(frozen=True, slots=True)
class LaterRecords(ReadBlock):
    """Block of one read with many hits: its records from one on.

    Attributes
    ----------
    start
        The number of the first record to write, from 0.
    first_hit, after
        The number of the first hit to keep, `start` or less, and the hit before it, 0 without one.
    """

    start: int = 0
    first_hit: int = 0
    after: int = 0


class CudaMapper(GpuWorker[TextBlock]):
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
        self._most = sam_options.max_hits
        self._max_hits = min(_MAX_HITS, self._most or _MAX_HITS)
        with device_errors(device):
            self._index = resident_index(index, device)
            tables = sam_tables(index, sam_options)
            self._formatter = DeviceFormatter(tables, self._index, device.index)
        super().__init__(device, SHORT_READS, _NO_READS)

    def _result_of(
        self, block: ReadBlock, text: GpuArray, spans: DeviceSpans
    ) -> TextBlock | Divided[ReadBlock, TextBlock]:
        if not len(spans):
            return _NO_READS
        number = self._device.index
        reads = DeviceTextReads(text, spans.base_starts, spans.lengths)
        if isinstance(block, LaterRecords):
            packed = pack_on_device(reads, number)
            in_steps = RowSearch(self._index, packed, self._options, number)
            return self._later_records(block, text, spans, in_steps)
        search = DeviceSearch(self._index, reads, self._options, number, self._most)
        if search.rows > _MAX_ROWS:
            return self._divided_block(block, text, spans, search.row_ends(), _MAX_ROWS)
        hits = search.hits()
        records, counts = self._formatter.lay_out(spans, hits)
        if records.text_size > _MAX_TEXT:
            return self._divided_block(block, text, spans, records.text_ends(), _MAX_TEXT)
        lines = self._formatter.write(text, spans, hits, records)
        return sam_block(download_pinned(lines), len(spans), counts)

    def _divided_block(
        self,
        block: ReadBlock,
        text: GpuArray,
        spans: DeviceSpans,
        ends: NDArray[np.int64],
        limit: int,
    ) -> TextBlock | Divided[ReadBlock, TextBlock]:
        """Divide a block into parts within a limit, or the records of its only read."""
        if len(spans) == 1:
            later = LaterRecords(block.text, block.is_fasta, block.first, block.name)
            return self._result_of(later, text, spans)
        starts = spans.name_starts.get() - 1
        cuts = [(read, int(starts[read])) for read in _cuts(ends, limit)]
        return Divided(_NO_READS, block.split(cuts))

    def _later_records(
        self, block: LaterRecords, text: GpuArray, spans: DeviceSpans, search: RowSearch
    ) -> TextBlock | Divided[ReadBlock, TextBlock]:
        """Write records of one read, from the first one of `block` on, as many as fit."""
        kept = search.least_hits(self._max_hits, block.after)
        if not kept.exact + kept.inexact:
            no_hits = DeviceHits.of_one(kept.hits, 0, 0, 0)
            records, counts = self._formatter.lay_out(spans, no_hits)
            lines = self._formatter.write(text, spans, no_hits, records)
            return sam_block(download_pinned(lines), 1, counts)
        hits, records, counts = self._formatter.lay_out_later(
            spans, kept, block.first_hit, block.start
        )
        records = records.head(_MAX_TEXT)
        lines = self._formatter.write(text, spans, hits, records)
        written = int(records.reads.size)
        end, total = block.start + written, counts.records
        is_first = block.start == 0
        counts = (counts if is_first else _NO_RECORDS)._replace(records=written)
        result = sam_block(download_pinned(lines), int(is_first), counts)
        if end == total or not written:
            return result
        if end < block.first_hit + int(kept.hits.size):
            return Divided(result, [replace(block, start=end)])
        after = int(kept.hits[-1])
        return Divided(result, [replace(block, start=end, first_hit=end, after=after)])


def _cuts(ends: NDArray[np.int64], limit: int) -> Iterator[int]:
    """Yield the reads before which to divide n reads, so that no part exceeds a limit.

    `ends` are the sums, int64[n + 1], before each of the reads. A part has at least one read.
    """
    start, reads = 0, ends.size - 1
    while True:
        end = int(np.searchsorted(ends, ends[start] + limit, side="right")) - 1
        start = max(end, start + 1)
        if start >= reads:
            return
        yield start

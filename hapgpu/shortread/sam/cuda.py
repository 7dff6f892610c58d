"""Hits written as SAM records on a GPU (`cuda/shortread/sam.cu`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.cuda import SPANS, DeviceSpans
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, Length, Parameter, Scalar, Struct
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.cuda import DeviceIndex
from hapgpu.shortread.sam.fields import COMPLEMENTS
from hapgpu.shortread.sam.tables import RecordCounts, SamTables
from hapgpu.shortread.search.cuda.arrays import DeviceHits, DeviceKeptHits

_SOURCE: Final = "shortread/sam.cu"
_THREADS: Final = 256
_WRITING_THREADS: Final = 128  # 32 kWarps in the source
_BYTES: Final = 256


def _small(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


def _hits(reads: str) -> Struct:
    """Declare `DeviceHits`; `reads` names the number of reads of the kernel."""
    fields = (
        Array("offsets", np.int64, reads, 1),
        Array("hits", np.uint64, "count"),
        *(Array("exact", np.int32, reads), Array("inexact", np.int32, reads)),
        Length("count"),
    )
    return Struct("hits", fields)


_STRATA = (Array("best", np.int32, "reads"), Array("second", np.int32, "reads"))
_RECORDS = Struct(
    "records",
    (
        Array("offsets", np.int64, "spans.reads", 1),
        *(Array("best", np.int32, "spans.reads"), Array("second", np.int32, "spans.reads")),
        *(Array("reads", np.int32, "count"), Scalar("count", np.int64)),
    ),
)
_REFERENCE = Struct(
    "reference",
    (
        Array("contig_offsets", np.int64, "contigs", 1),
        *(Array("contig_names", np.uint8, "name_bytes"), Length("name_bytes")),
        *(Array("name_offsets", np.int64, "contigs", 1), Scalar("contigs", np.int32)),
        *(Array("planes", np.uint64, "blocks", width=2), Array("others", np.uint64, "blocks")),
        Length("blocks"),
        Array("letter_positions", np.int64, "letter_count"),
        *(Array("letters", np.uint8, "letter_count"), Scalar("letter_count", np.int32)),
    ),
)
_FORMAT = Struct(
    "format",
    (
        Array("mapping_qualities", np.uint8, "byte_values"),
        *(Array("complements", np.uint8, "byte_values"), Length("byte_values")),
        Array("read_group", np.uint8, "read_group_size"),
        *_small("read_group_size", "only_best", "secondary_seq"),
    ),
)
_LINES: Final[tuple[Parameter, ...]] = (
    SPANS,
    *_small("has_qualities"),
    _hits("spans.reads"),
    _RECORDS,
    _REFERENCE,
    _FORMAT,
)

COUNT_RECORDS = Kernel(
    _SOURCE,
    "count_records",
    (
        *(Array("lengths", np.int32, "reads"), _hits("reads"), *_STRATA),
        Array("record_counts", np.int64, "reads", 1),
        *(Array("counts", np.uint64, "count_values"), Length("count_values")),
        *_small("reads", "only_best", "unmapped"),
        Scalar("max_hits", np.int64),
    ),
)

LIST_READS = Kernel(
    _SOURCE,
    "list_reads",
    (
        Array("record_offsets", np.int64, "reads", 1),
        *(Array("reads_of_records", np.int32, "records"), Length("records")),
        *_small("reads"),
    ),
)

MEASURE_LINES = Kernel(
    _SOURCE,
    "measure_lines",
    (*_LINES, Array("sizes", np.int64, "records.count", 1)),
)

WRITE_LINES = Kernel(
    _SOURCE,
    "write_lines",
    (
        *(Array("text", np.uint8, "text_size"), Length("text_size")),
        *_LINES,
        Array("line_offsets", np.int64, "records.count", 1),
        *(Array("lines", np.uint8, "lines_size"), Length("lines_size")),
    ),
)


class DeviceSamRecords(NamedTuple):
    """Successive records of some reads on a GPU, and where their lines are.

    Attributes
    ----------
    offsets
        int64[n + 1]: the row here of the first record of each read. It is negative if records
        before these are not among them.
    best, second
        int32[n]: hits with the fewest errors, and with one error more.
    reads
        int32[r]: the read of each record.
    line_offsets
        int64[r + 1].
    """

    offsets: GpuArray
    best: GpuArray
    second: GpuArray
    reads: GpuArray
    line_offsets: GpuArray

    @property
    def text_size(self) -> int:
        """Characters of all lines."""
        return last_values(self.line_offsets)[0]

    def text_ends(self) -> NDArray[np.int64]:
        """Return int64[n + 1]: the offsets of the text of each read."""
        ends: NDArray[np.int64] = self.line_offsets[self.offsets].get()
        return ends

    def head(self, max_size: int) -> DeviceSamRecords:
        """Return the first records, as many as have at most `max_size` characters, at least one."""
        count = max(int((self.line_offsets <= max_size).sum()) - 1, 1)
        reads, line_offsets = self.reads[:count], self.line_offsets[: count + 1]
        return self._replace(reads=reads, line_offsets=line_offsets)


class DeviceFormatter:
    """Writer of SAM records on one GPU: the same bytes as `hapgpu.shortread.sam.cpu`.

    Parameters
    ----------
    tables
        The tables of the searched index and the options.
    index
        The index, on the GPU.
    device
        The number of the GPU.
    """

    def __init__(self, tables: SamTables, index: DeviceIndex, device: int) -> None:
        self._record_filter = tables.record_filter
        self._device = device
        planes, others, blocks, *_, contig_offsets, contigs = index.reference
        with cupy.cuda.Device(device):
            self._reference = (
                *(contig_offsets, cupy.asarray(tables.names), tables.names.size),
                *(cupy.asarray(tables.name_offsets), contigs, planes, others, blocks),
                *(*index.letters, index.letters[0].size),
            )
            self._format = (
                cupy.asarray(tables.mapping_qualities),
                *(cupy.asarray(COMPLEMENTS), _BYTES),
                *(cupy.asarray(tables.read_group), tables.read_group.size),
                *(tables.record_filter.best, tables.record_filter.secondary_seq),
            )
            cupy.cuda.get_current_stream().synchronize()

    def lay_out(
        self, spans: DeviceSpans, hits: DeviceHits
    ) -> tuple[DeviceSamRecords, RecordCounts]:
        """Count and measure the records of n reads, on the current stream.

        Parameters
        ----------
        spans
            The spans of the reads, at least of one.
        hits
            The hits of these reads, fewer than 2**31 per read, at least those to write.
        """
        reads = len(spans)
        best, second = cupy.empty((2, reads), dtype=np.int32)
        record_counts = cupy.empty(reads + 1, dtype=np.int64)
        totals = cupy.zeros(len(RecordCounts._fields), dtype=np.uint64)
        arrays = (spans.lengths, hits.fields, best, second, record_counts, totals)
        sizes = (totals.size, reads)
        record_filter = self._record_filter
        blocks = -(-reads // _THREADS)
        load_kernel(COUNT_RECORDS, self._device).launch(
            blocks,
            _THREADS,
            (*arrays, *sizes, record_filter.best, record_filter.unmapped, record_filter.max_hits),
        )
        offsets = cupy.cumsum(record_counts)
        counts = RecordCounts(*last_values(*cupy.split(totals, totals.size)))
        reads_of_records = cupy.empty(counts.records, dtype=np.int32)
        load_kernel(LIST_READS, self._device).launch(
            blocks, _THREADS, (offsets, reads_of_records, counts.records, reads)
        )
        columns = (offsets, best, second, reads_of_records)
        return DeviceSamRecords(*columns, self._line_offsets(spans, hits, columns)), counts

    def lay_out_later(
        self, spans: DeviceSpans, kept: DeviceKeptHits, first: int, start: int
    ) -> tuple[DeviceHits, DeviceSamRecords, RecordCounts]:
        """Count and measure records of one read, from a record on, on the current stream.

        Parameters
        ----------
        spans
            The spans of one read.
        kept
            Successive hits of this read, and the counts of all.
        first
            The number of the first of these hits, from 0.
        start
            The number of the first record, `first` or more; there may be no further record.

        Returns
        -------
        hits
            The kept hits, for `write`.
        records
            The records of the kept hits from `start` on.
        counts
            The counts of the read, and all records that it has.
        """
        record_filter = self._record_filter
        best, second = (kept.exact, kept.inexact) if kept.exact else (kept.inexact, 0)
        reported = best if record_filter.best else best + second
        total = min(reported, record_filter.max_hits)
        size = int(kept.hits.size)
        hits = DeviceHits.of_one(kept.hits, first, kept.exact, kept.inexact)
        columns = (
            cupy.asarray(np.array([-start, total - start])),
            cupy.full(1, best, dtype=np.int32),
            cupy.full(1, second, dtype=np.int32),
            cupy.zeros(max(min(total, first + size) - start, 0), dtype=np.int32),
        )
        counts = RecordCounts(1, reported, total, int(total < reported), 0)
        return hits, DeviceSamRecords(*columns, self._line_offsets(spans, hits, columns)), counts

    def _line_offsets(
        self,
        spans: DeviceSpans,
        hits: DeviceHits,
        records: tuple[GpuArray, GpuArray, GpuArray, GpuArray],
    ) -> GpuArray:
        """Return int64[records + 1]: the offsets of the lines."""
        count = records[-1].size
        sizes = cupy.zeros(count + 1, dtype=np.int64)
        if not count:
            return sizes
        arguments = (*self._line_arguments(spans, hits, records), sizes)
        load_kernel(MEASURE_LINES, self._device).launch(-(-count // _THREADS), _THREADS, arguments)
        return cupy.cumsum(sizes)

    def _line_arguments(
        self,
        spans: DeviceSpans,
        hits: DeviceHits,
        records: tuple[GpuArray, GpuArray, GpuArray, GpuArray],
    ) -> tuple[object, ...]:
        """Return the arguments for `_LINES`."""
        return (
            *(spans.fields, spans.has_qualities, hits.fields, (*records, records[-1].size)),
            *(self._reference, self._format),
        )

    def write(
        self, text: GpuArray, spans: DeviceSpans, hits: DeviceHits, records: DeviceSamRecords
    ) -> GpuArray:
        """Write the lines of records, on the current stream.

        Parameters
        ----------
        text
            uint8 on the GPU, the text of the spans.
        spans, hits
            The reads and hits of the records.
        records
            The records, laid out.

        Returns
        -------
        uint8 on the GPU.
        """
        count = records.reads.size
        lines = cupy.empty(records.text_size, dtype=np.uint8)
        if not count:
            return lines
        kernel = load_kernel(WRITE_LINES, self._device)
        resident = multiprocessors(self._device) * kernel.blocks_per_multiprocessor(
            _WRITING_THREADS
        )
        kernel.launch(
            min(-(-count // _WRITING_THREADS), resident),
            _WRITING_THREADS,
            (
                *(text, text.size, *self._line_arguments(spans, hits, records[:-1])),
                *(records.line_offsets, lines, lines.size),
            ),
        )
        return lines

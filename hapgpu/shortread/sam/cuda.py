"""Hits written as SAM records on a GPU (`cuda/shortread/sam.cu`)."""

from __future__ import annotations

from typing import Final, NamedTuple

import cupy
import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.runtime.gpu.context import multiprocessors
from hapgpu.runtime.gpu.kernel import Array, Kernel, Scalar
from hapgpu.runtime.gpu.launch import load_kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray
from hapgpu.shortread.index.cuda import DeviceIndex
from hapgpu.shortread.sam.fields import COMPLEMENTS
from hapgpu.shortread.sam.tables import RecordCounts, SamTables
from hapgpu.shortread.search.cuda import DeviceHits, DeviceKeptHits

_SOURCE: Final = "shortread/sam.cu"
_THREADS: Final = 256
_WRITING_THREADS: Final = 128  # 32 kWarps in the source
_BYTES: Final = 256

_HITS = (Array("offsets", np.int64, "reads", 1), Array("hits", np.uint64, "hit_count"))
_STRATA = (Array("best", np.int32, "reads"), Array("second", np.int32, "reads"))
_RECORD_OFFSETS = Array("record_offsets", np.int64, "reads", 1)
_READS_OF_RECORDS = Array("reads_of_records", np.int32, "records")
_RECORDS = (_RECORD_OFFSETS, *_STRATA, _READS_OF_RECORDS)
_CONTIG_OFFSETS = Array("contig_offsets", np.int64, "contigs", 1)
_NAME_OFFSETS = Array("name_offsets", np.int64, "contigs", 1)
_BASES = (
    Array("planes", np.uint64, "blocks", width=2),
    Array("others", np.uint64, "blocks"),
    Array("letter_positions", np.int64, "letter_count"),
    Array("letters", np.uint8, "letter_count"),
)
_MAPPING_QUALITIES = Array("mapping_qualities", np.uint8, "byte_values")


def _spans(*names: str) -> tuple[Array, ...]:
    return tuple(Array(name, np.int32, "reads") for name in names)


def _small(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int32) for name in names)


def _large(*names: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(name, np.int64) for name in names)


COUNT_RECORDS = Kernel(
    _SOURCE,
    "count_records",
    (
        *_spans("lengths", "exact", "inexact"),
        *_STRATA,
        Array("record_counts", np.int64, "reads", 1),
        Array("counts", np.uint64, "count_values"),
        *_small("reads", "count_values", "only_best", "unmapped"),
        *_large("max_hits"),
    ),
)

LIST_READS = Kernel(
    _SOURCE,
    "list_reads",
    (_RECORD_OFFSETS, _READS_OF_RECORDS, *_small("reads"), *_large("records")),
)

MEASURE_LINES = Kernel(
    _SOURCE,
    "measure_lines",
    (
        *_spans("name_lengths", "lengths"),
        *_HITS,
        *_RECORDS,
        _CONTIG_OFFSETS,
        _NAME_OFFSETS,
        *_BASES,
        _MAPPING_QUALITIES,
        Array("sizes", np.int64, "records", 1),
        *_large("hit_count"),
        *_small("reads"),
        *_large("records"),
        *_small("contigs", "blocks", "letter_count", "byte_values"),
        *_small("has_qualities", "only_best", "secondary_seq", "read_group_size"),
    ),
)

WRITE_LINES = Kernel(
    _SOURCE,
    "write_lines",
    (
        Array("text", np.uint8, "text_size"),
        *_spans("name_starts", "name_lengths", "base_starts", "quality_starts", "lengths"),
        *_HITS,
        *_RECORDS,
        _CONTIG_OFFSETS,
        Array("contig_names", np.uint8, "contig_names_size"),
        _NAME_OFFSETS,
        *_BASES,
        _MAPPING_QUALITIES,
        Array("complements", np.uint8, "byte_values"),
        Array("read_group", np.uint8, "read_group_size"),
        Array("line_offsets", np.int64, "records", 1),
        Array("lines", np.uint8, "lines_size"),
        *_large("text_size", "hit_count"),
        *_small("reads"),
        *_large("records"),
        *_small("contigs", "contig_names_size", "blocks", "letter_count", "byte_values"),
        *_small("read_group_size"),
        *_large("lines_size"),
        *_small("has_qualities", "only_best", "secondary_seq"),
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
        planes, others, blocks, self._contig_offsets, self._contigs = index.reference
        self._bases = (planes, others, *index.letters)
        self._base_sizes = (blocks, index.letters[0].size)
        with cupy.cuda.Device(device):
            self._names = cupy.asarray(tables.names)
            self._name_offsets = cupy.asarray(tables.name_offsets)
            self._mapping_qualities = cupy.asarray(tables.mapping_qualities)
            self._complements = cupy.asarray(COMPLEMENTS)
            self._read_group = cupy.asarray(tables.read_group)
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
        arrays = (spans.lengths, hits.exact, hits.inexact, best, second, record_counts, totals)
        sizes = (reads, totals.size)
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
            blocks, _THREADS, (offsets, reads_of_records, reads, counts.records)
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
        arrays = (spans.name_lengths, spans.lengths, hits.offsets, hits.hits, *records)
        reference = (self._contig_offsets, self._name_offsets, *self._bases)
        load_kernel(MEASURE_LINES, self._device).launch(
            -(-count // _THREADS),
            _THREADS,
            (
                *arrays,
                *reference,
                self._mapping_qualities,
                sizes,
                *(hits.hits.size, len(spans), count),
                *(self._contigs, *self._base_sizes, _BYTES),
                *(spans.has_qualities, self._record_filter.best),
                *(self._record_filter.secondary_seq, self._read_group.size),
            ),
        )
        return cupy.cumsum(sizes)

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
        columns = (spans.name_starts, spans.name_lengths, spans.base_starts, spans.quality_starts)
        reference = (self._contig_offsets, self._names, self._name_offsets, *self._bases)
        kernel = load_kernel(WRITE_LINES, self._device)
        resident = multiprocessors(self._device) * kernel.blocks_per_multiprocessor(
            _WRITING_THREADS
        )
        kernel.launch(
            min(-(-count // _WRITING_THREADS), resident),
            _WRITING_THREADS,
            (
                text,
                *columns,
                spans.lengths,
                *(hits.offsets, hits.hits),
                *(records.offsets, records.best, records.second, records.reads),
                *reference,
                *(self._mapping_qualities, self._complements, self._read_group),
                *(records.line_offsets, lines),
                *(text.size, hits.hits.size, len(spans), count),
                *(self._contigs, self._names.size),
                *(*self._base_sizes, _BYTES, self._read_group.size),
                *(lines.size, spans.has_qualities),
                *(self._record_filter.best, self._record_filter.secondary_seq),
            ),
        )
        return lines

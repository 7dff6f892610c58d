"""Lines of PAF or SAM for the aligned mappings of a block of reads, made on a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import cupy
import numpy as np

from hapgpu.arrays.cuda import rows_of
from hapgpu.longread.align.batches import AlignedMappings, TargetCodes
from hapgpu.longread.cuda.lines.batches import (
    SLOT_WORDS,
    Chunks,
    DeviceAlignedBlock,
    DeviceLineTargets,
    block_fields,
    form_fields,
)
from hapgpu.longread.cuda.lines.kernels import (
    COPY_BASES,
    COUNT_SPLITS,
    LINE_THREADS,
    MEASURE_CS,
    MEASURE_LINES,
    MEASURE_MD,
    MEASURE_OPERATIONS,
    START_SLOTS,
    SUM_DIFFERENCES,
    SUM_OPERATIONS,
    USE_SPLITS,
    WRITE_CS,
    WRITE_LINES,
    WRITE_MD,
    WRITE_OPERATIONS,
    WRITE_SPLITS,
)
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import Difference, LineOptions, MappingOptions
from hapgpu.longread.output.parts import COUNT_NAMES
from hapgpu.longread.output.sam import COMPLEMENTS
from hapgpu.runtime.gpu.kernel import Kernel
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu.work_queue import WARP, launch_threads
from hapgpu.runtime.gpu_array import GpuArray

_MOST_BYTES: Final = 2**31 - 1
"""Most bytes of the lines of several reads, so that memory of the host is bounded, too."""


class DeviceLines(NamedTuple):
    """Lines of the reads of one block on a GPU, and its counts.

    Attributes
    ----------
    text
        uint8: whole lines.
    counts
        Counts by their name in the statistics, as in `TextBlock`.
    """

    text: GpuArray
    counts: dict[str, int]


class _Layout(NamedTuple):
    """Slots of lines, their chunks, and where their text is.

    Attributes
    ----------
    slots
        int64[s, SLOT_WORDS].
    chunks
        Chunks of the operations.
    line_offsets, piece_offsets
        int64[s + 1]: offsets of the lines in the text, and of the pieces of their bases.
    """

    slots: GpuArray
    chunks: Chunks
    line_offsets: GpuArray
    piece_offsets: GpuArray


class DeviceAlignmentWriter:
    """Writer of aligned mappings as lines on a GPU; the same bytes as `AlignmentWriter`.

    It is made on the GPU of the targets, which must be the current one here and at each call.

    Parameters
    ----------
    index
        Index of the reference.
    targets
        Bases of the reference, on the GPU.
    options, line_options
        Options of the user.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: MappingOptions,
        line_options: LineOptions,
    ) -> None:
        self._targets = DeviceLineTargets.of(index.names, targets)
        self._form = form_fields(options, line_options)
        self._complements = cupy.asarray(COMPLEMENTS)
        self._line_options = line_options
        cupy.cuda.get_current_stream().synchronize()  # others may use the arrays

    def __call__(self, reads: DeviceAlignedBlock, anchors: int) -> DeviceLines:
        """Return the lines of a block; works on the current stream and waits for it.

        Parameters
        ----------
        reads
            The reads with their mappings.
        anchors
            Number of anchors of the reads, for the statistics.

        Raises
        ------
        MemoryError
            The lines of several reads are too large: halve the block.
        """
        if self._line_options.splits_matches:
            reads = self._with_splits(reads)
        block = block_fields(reads, self._targets)
        layout, line_bytes, piece_count, counts = self._lay_out(reads, block)
        if line_bytes > _MOST_BYTES and len(reads.spans) > 1:
            raise MemoryError("the lines of a block are too large: halve it")
        lines = cupy.empty(line_bytes, dtype=np.uint8)
        self._write(block, layout, lines, piece_count)
        *of_mappings, bases = counts
        named = dict(zip(COUNT_NAMES, of_mappings, strict=True))
        of_reads = {"reads": len(reads.spans), "bases": bases, "anchors": anchors}
        return DeviceLines(lines, {**of_reads, **named})

    def _lay_out(
        self, reads: DeviceAlignedBlock, block: tuple[object, ...]
    ) -> tuple[_Layout, int, int, tuple[int, ...]]:
        """Measure the lines; return also their bytes, pieces of bases, and counts."""
        count = len(reads.spans) + reads.aligned.mappings.shape[0]
        slots, chunks = self._measured_operations(block, count)
        self._measure_differences(block, slots, chunks)
        sizes, pieces = (cupy.empty(count + 1, dtype=np.int64) for _ in range(2))
        counts = cupy.zeros(len(COUNT_NAMES) + 1, dtype=np.uint64)
        arguments = (block, self._form, slots, sizes, pieces, counts, counts.size, count)
        _launch_warps(MEASURE_LINES, count, arguments)
        layout = _Layout(slots, chunks, cupy.cumsum(sizes), cupy.cumsum(pieces))
        values = (counts[k : k + 1] for k in range(counts.size))
        line_bytes, piece_count, *found = last_values(*layout[2:], *values)
        return layout, line_bytes, piece_count, tuple(found)

    def _measured_operations(
        self, block: tuple[object, ...], count: int
    ) -> tuple[GpuArray, Chunks]:
        """Return slots and the chunks of their operations, measured and summed."""
        slots = cupy.empty((count, SLOT_WORDS), dtype=np.int64)
        counts = cupy.empty(count + 1, dtype=np.int64)
        launch_threads(START_SLOTS, LINE_THREADS, count, (block, self._form, slots, counts, count))
        chunks = _chunks_of(cupy.cumsum(counts))
        arguments = (block, self._form, chunks.fields, slots, count)
        _launch_warps(MEASURE_OPERATIONS, chunks.slots.size, arguments)
        _launch_warps(SUM_OPERATIONS, count, (chunks.fields, slots, count))
        return slots, chunks

    def _measure_differences(
        self, block: tuple[object, ...], slots: GpuArray, chunks: Chunks
    ) -> None:
        """Measure and sum the texts of the tag of a `Difference`."""
        difference = self._line_options.difference
        if difference is Difference.NONE:
            return
        is_md, count = difference is Difference.MD, slots.shape[0]
        arguments = (chunks.fields, slots, count)
        if is_md:
            _launch_warps(MEASURE_MD, chunks.slots.size, (block, *arguments))
        else:
            _launch_warps(MEASURE_CS, chunks.slots.size, (block, self._form, *arguments))
        _launch_warps(SUM_DIFFERENCES, count, (chunks.fields, slots, is_md, count))

    def _with_splits(self, reads: DeviceAlignedBlock) -> DeviceAlignedBlock:
        """Split the operations M of mappings into = and X; waits for the current stream."""
        aligned = reads.aligned
        block = block_fields(reads, self._targets)
        count = len(reads.spans) + aligned.mappings.shape[0]
        slots, chunks = self._measured_operations(block, count)
        warps = chunks.slots.size
        counts = cupy.empty(warps + 1, dtype=np.int64)
        _launch_warps(COUNT_SPLITS, warps, (block, chunks.fields, slots, counts, count))
        offsets = cupy.cumsum(counts)
        (total,) = last_values(offsets)
        operations = cupy.empty(total, dtype=np.uint32)
        arguments = (block, chunks.fields, slots, offsets, operations, total, count)
        _launch_warps(WRITE_SPLITS, warps, arguments)
        mappings = aligned.mappings.copy()
        rows = (mappings, mappings.shape[0], count)
        splits = (chunks.offsets, slots, offsets, warps)
        launch_threads(USE_SPLITS, LINE_THREADS, count, (*splits, *rows))
        split = AlignedMappings(mappings, operations, aligned.offsets)
        return replace(reads, aligned=split)

    def _write(
        self, block: tuple[object, ...], layout: _Layout, lines: GpuArray, piece_count: int
    ) -> None:
        """Write the lines."""
        slots, chunks = layout.slots, layout.chunks
        count = slots.shape[0]
        text = (layout.line_offsets, lines, lines.size)
        _launch_warps(WRITE_LINES, count, (block, self._form, slots, *text, count))
        arguments = (chunks.fields, slots, *text, count)
        if self._line_options.is_sam or self._line_options.has_cigar:
            _launch_warps(WRITE_OPERATIONS, chunks.slots.size, (block, self._form, *arguments))
        difference = self._line_options.difference
        if difference is Difference.MD:
            _launch_warps(WRITE_MD, chunks.slots.size, (block, *arguments))
        elif difference is not Difference.NONE:
            _launch_warps(WRITE_CS, chunks.slots.size, (block, self._form, *arguments))
        if piece_count:
            complements = (self._complements, self._complements.size)
            pieces = (slots, layout.piece_offsets, *complements)
            sizes = (count, piece_count)
            _launch_warps(COPY_BASES, piece_count, (block, self._form, *pieces, *text, *sizes))


def _chunks_of(offsets: GpuArray) -> Chunks:
    """Return chunks with these offsets, not measured; waits for the current stream."""
    (count,) = last_values(offsets)
    numbers = (cupy.empty(count, dtype=np.int32) for _ in range(4))
    queries, targets, leads, trails = numbers
    operations, differences = (cupy.empty(count, dtype=np.int64) for _ in range(2))
    slots = rows_of(offsets, count)
    return Chunks(offsets, slots, queries, targets, operations, differences, leads, trails)


def _launch_warps(kernel: Kernel, warps: int, arguments: tuple[object, ...]) -> None:
    launch_threads(kernel, LINE_THREADS, warps * WARP, arguments)

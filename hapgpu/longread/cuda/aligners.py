"""Blocks of long reads aligned on a GPU to lines or other results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import cupy

from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.io.fastx.read_block import NO_LINES, ReadBlock, ReadSpans, TextBlock
from hapgpu.longread.align.batches import MAPPING, AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.align.parameters import align_parameters, scoring_of
from hapgpu.longread.cuda.align.pipeline import DeviceMappingAligner
from hapgpu.longread.cuda.align.rows import downloaded_rows
from hapgpu.longread.cuda.align.start import code_reads, resident_targets
from hapgpu.longread.cuda.lines.batches import DeviceAlignedBlock
from hapgpu.longread.cuda.lines.writer import DeviceAlignmentWriter
from hapgpu.longread.cuda.mappings import chained_mappings
from hapgpu.longread.cuda.stages import BlockFinder
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LineOptions, LongReadOptions
from hapgpu.longread.output.rows import AlignedBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors, download_pinned
from hapgpu.runtime.gpu_array import GpuArray

_Result = TypeVar("_Result")


class BlockAligner(BlockFinder[_Result]):
    """Aligner of blocks of reads on one GPU.

    Parameters
    ----------
    index, options, device, no_reads
        As for `BlockFinder`.
    targets
        Bases of the reference, on the host.
    finish
        Last step: from the aligned mappings of reads, on the GPU, and the number of their anchors
        to the result.

    Raises
    ------
    DeviceError
        The index or the bases of the reference do not fit the GPU.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: LongReadOptions,
        device: CudaDevice,
        finish: Callable[[DeviceAlignedBlock, int], _Result],
        no_reads: _Result,
    ) -> None:
        super().__init__(index, options, device, no_reads)
        self._index = index
        self._options = options
        self._finish = finish
        with device_errors(device):
            self._align = DeviceMappingAligner(
                resident_targets(targets, device),
                options.mappings,
                scoring_of(options.align),
                align_parameters(options, index.sketch),
            )

    def _result_of(self, block: ReadBlock, text: GpuArray, spans: DeviceSpans) -> _Result:
        seeds = self._seeds_of(block, text, spans)
        found = self._finder.find_chains(text, spans, seeds)
        options = self._options
        mappings, mapped_chains = chained_mappings(
            found.chains,
            seeds,
            spans.lengths,
            found.name_hashes,
            self._finder.index,
            options.chains,
            options.mappings,
        )
        repeat_lengths, anchors = seeds.repeat_lengths, found.anchors
        del seeds
        reads = code_reads(text, spans.base_starts, spans.lengths)
        aligned = self._align(mappings, found.chains, mapped_chains, found.name_hashes, reads)
        del found, mappings, mapped_chains  # lines take much memory
        return self._finish(
            DeviceAlignedBlock(text, spans, reads, aligned, repeat_lengths), anchors
        )


class CudaAligner(BlockAligner[TextBlock]):
    """Aligner of blocks of reads to lines of PAF or SAM on one GPU.

    Parameters
    ----------
    index, targets, options, device
        As for `BlockAligner`.
    line_options
        Options for the lines.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: LongReadOptions,
        line_options: LineOptions,
        device: CudaDevice,
    ) -> None:
        super().__init__(index, targets, options, device, self._written, NO_LINES)
        with device_errors(device), cupy.cuda.Device(device.index):
            self._write = DeviceAlignmentWriter(
                index, resident_targets(targets, device), options.mappings, line_options
            )

    def _written(self, block: DeviceAlignedBlock, anchors: int) -> TextBlock:
        lines = self._write(block, anchors)
        return TextBlock(download_pinned(lines.text), lines.counts)


def block_on_host(block: DeviceAlignedBlock) -> AlignedBlock:
    """Copy a block of reads with their aligned mappings to host memory."""
    spans, codes, aligned = block.spans, block.codes, block.aligned
    return AlignedBlock(
        cupy.asnumpy(block.text),
        ReadSpans(
            cupy.asnumpy(spans.name_starts),
            cupy.asnumpy(spans.name_lengths),
            cupy.asnumpy(spans.base_starts),
            cupy.asnumpy(spans.quality_starts),
            cupy.asnumpy(spans.lengths),
            spans.has_qualities,
        ),
        ReadCodes(*map(cupy.asnumpy, codes)),
        AlignedMappings(
            downloaded_rows(aligned.mappings, MAPPING),
            cupy.asnumpy(aligned.operations),
            cupy.asnumpy(aligned.offsets),
        ),
        cupy.asnumpy(block.repeat_lengths),
    )

"""Blocks of long reads chained on a GPU, from the text of FASTQ or FASTA to lines of PAF."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from hapgpu.chaining.anchors.cuda import anchor_offsets, expand_anchors
from hapgpu.chaining.batches import Seeds
from hapgpu.chaining.chains.cuda import trace_chains
from hapgpu.chaining.index.cuda import resident_index
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.join.cuda import join_chains
from hapgpu.chaining.mappings.cuda import make_mappings, name_hashes
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.cuda import copy_to_host
from hapgpu.chaining.output.paf import PafWriter
from hapgpu.chaining.run.groups import check_anchors
from hapgpu.chaining.run.stages import MappingFinder, Stages
from hapgpu.chaining.scores.cuda import chain_scores
from hapgpu.chaining.seeds.cuda import find_seeds
from hapgpu.chaining.sketch.cuda import sketch
from hapgpu.io.fastx.blocks_cuda import GpuWorker
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.cuda import DeviceSpans
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import device_errors
from hapgpu.runtime.gpu.scalars import last_values


class CudaChainer(GpuWorker):
    """Chainer of blocks of reads on one GPU.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    options
        Options of the user.
    device
        The GPU.

    Raises
    ------
    DeviceError
        The index does not fit the GPU.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, device: CudaDevice) -> None:
        self._write_lines = PafWriter(index, options)
        with device_errors(device):
            self._finder = MappingFinder(index, options, cuda_stages(index, device))
        self._max_anchors = options.max_anchors
        super().__init__(device, LONG_READS)

    def _text_of(self, block: ReadBlock, text: Any, spans: DeviceSpans) -> TextBlock:
        seeds = self._finder.find_seeds(text, spans)
        self._check(block, seeds)
        mappings, anchors = self._finder.find_mappings(text, spans, seeds)
        return self._write_lines(*copy_to_host(text, spans, mappings), anchors)

    def _check(self, block: ReadBlock, seeds: Seeds) -> None:
        """Refuse a block if a read has too many anchors, before they are made."""
        offsets = anchor_offsets(seeds)
        (count,) = last_values(offsets)
        if count > self._max_anchors:
            anchors = np.diff(cupy.asnumpy(offsets))
            check_anchors(block, parse_block(block, LONG_READS), anchors, self._max_anchors)


def cuda_stages(index: MinimizerIndex, device: CudaDevice) -> Stages:
    """Return the stages of a GPU; copy the index to it if it is not there yet.

    Raises
    ------
    DeviceError
        The index does not fit the GPU.
    """
    return Stages(
        index=resident_index(index, device),
        sketch=sketch,
        find_seeds=find_seeds,
        expand_anchors=expand_anchors,
        chain_scores=chain_scores,
        trace_chains=trace_chains,
        join_chains=join_chains,
        name_hashes=name_hashes,
        make_mappings=make_mappings,
    )

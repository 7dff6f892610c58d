"""Blocks of long reads chained on a GPU, from the text of FASTQ or FASTA to lines of PAF."""

from __future__ import annotations

from collections.abc import Sequence

import cupy
import numpy as np

from hapgpu.chaining.anchors.cuda import expand_anchors
from hapgpu.chaining.chains.cuda import trace_chains
from hapgpu.chaining.index.cuda import resident_index
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.join.cuda import join_chains
from hapgpu.chaining.mappings.cuda import make_mappings, mappings_to_host, name_hashes
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.writer import PafBlock, PafWriter
from hapgpu.chaining.run.stages import MappingFinder, Stages
from hapgpu.chaining.scores.cuda import chain_scores
from hapgpu.chaining.seeds.cuda import find_seeds
from hapgpu.chaining.sketch.cuda import sketch
from hapgpu.io.fastx.blocks_cuda import bring_to_device, in_parts, limit_memory
from hapgpu.io.fastx.cuda import spans_to_host
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import explained, thread_streams


class CudaChainer:
    """Chains blocks of reads on one GPU; several threads may call it, each has its own stream.

    Parameters
    ----------
    index
        Of the reference; made with `options.sketch`.
    options
        What the user chose.
    device
        Where to compute.

    Raises
    ------
    DeviceError
        The index does not fit.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions, device: CudaDevice) -> None:
        self._device = device
        self._write_lines = PafWriter(index, options)
        with explained(device):
            self._find_mappings = MappingFinder(index, options, cuda_stages(index, device))
        limit_memory(device)

    def __call__(self, block: ReadBlock) -> PafBlock:
        """Chain one block, in parts if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit, or the device failed.
        """
        return in_parts(block, self._device, self._chain, _joined)

    def _chain(self, block: ReadBlock) -> PafBlock:
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0]:
            text, spans = bring_to_device(block, LONG_READS, self._device)
            mappings, anchors = self._find_mappings(text, spans)
            spans_here, mappings_here = spans_to_host(spans), mappings_to_host(mappings)
        return self._write_lines(block, spans_here, mappings_here, anchors)


def cuda_stages(index: MinimizerIndex, device: CudaDevice) -> Stages:
    """Return the stages of a GPU, to which the index is brought if it is not there yet.

    Raises
    ------
    DeviceError
        The index does not fit.
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


def _joined(parts: Sequence[PafBlock]) -> PafBlock:
    return PafBlock(
        text=np.concatenate([part.text for part in parts]),
        reads=sum(part.reads for part in parts),
        bases=sum(part.bases for part in parts),
        anchors=sum(part.anchors for part in parts),
        mapped=sum(part.mapped for part in parts),
        records=sum(part.records for part in parts),
        secondary=sum(part.secondary for part in parts),
    )

"""Blocks of long reads chained on a GPU, from the text of FASTQ or FASTA to lines of PAF."""

from __future__ import annotations

import cupy
import numpy as np

from hapgpu.chaining.anchors_cuda import expand_anchors
from hapgpu.chaining.backtracking_cuda import trace_chains
from hapgpu.chaining.chained import ChainedBlock, LineWriter
from hapgpu.chaining.cuda import chain_scores
from hapgpu.chaining.device_index import resident_index
from hapgpu.chaining.index_data import MinimizerIndex
from hapgpu.chaining.long_join_cuda import join_chains
from hapgpu.chaining.minimizers_cuda import sketch
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.regions_cuda import make_regions, name_hashes, regions_to_host
from hapgpu.chaining.seeds_cuda import find_seeds
from hapgpu.chaining.stages import RegionFinder, Stages
from hapgpu.device import CudaDevice
from hapgpu.errors import DeviceError
from hapgpu.gpu import explained, thread_streams
from hapgpu.io.halves import halves_of
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_rules import LONG_READS
from hapgpu.io.read_spans import parse_block
from hapgpu.io.read_spans_cuda import parse_text, spans_to_host


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
        self._write_lines = LineWriter(index, options)
        with explained(device):
            self._find_regions = RegionFinder(index, options, cuda_stages(index, device))
        if device.memory_limit is not None:
            with cupy.cuda.Device(device.index):
                cupy.get_default_memory_pool().set_limit(size=device.memory_limit)

    def __call__(self, block: ReadBlock) -> ChainedBlock:
        """Chain one block, in parts if it does not fit into the memory of the GPU.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        DeviceError
            A single read does not fit, or the device failed.
        """
        with explained(self._device):
            return self._chain_in_parts(block)

    def _chain_in_parts(self, block: ReadBlock) -> ChainedBlock:
        try:
            return self._chain(block)
        except cupy.cuda.memory.OutOfMemoryError as error:
            self._release()
            halves = halves_of(block)
            if len(halves) == 1:
                raise DeviceError(
                    f"{block.name}: record {block.first} does not fit into the memory of "
                    f"{self._device.name}: give it more (--gpu-mem), or use --device cpu"
                ) from error
        return _joined([self._chain_in_parts(half) for half in halves])

    def _chain(self, block: ReadBlock) -> ChainedBlock:
        number = self._device.index
        with cupy.cuda.Device(number), thread_streams(number, 1)[0] as stream:
            text = cupy.empty(block.text.size, dtype=np.uint8)
            text.set(block.text, stream=stream)
            spans = parse_text(text, LONG_READS, is_fasta=block.is_fasta)
            if spans is None:
                parse_block(block, LONG_READS)
                raise DeviceError(f"{self._device.name} refuses reads that the CPU accepts")
            regions, anchors = self._find_regions(text, spans)
            spans_here, regions_here = spans_to_host(spans), regions_to_host(regions)
        return self._write_lines(block, spans_here, regions_here, anchors)

    def _release(self) -> None:
        """Give back what the pool of the calling thread's stream keeps."""
        number = self._device.index
        with cupy.cuda.Device(number):
            thread_streams(number, 1)[0].synchronize()
            cupy.get_default_memory_pool().free_all_blocks()


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
        make_regions=make_regions,
    )


def _joined(parts: list[ChainedBlock]) -> ChainedBlock:
    return ChainedBlock(
        text=np.concatenate([part.text for part in parts]),
        reads=sum(part.reads for part in parts),
        bases=sum(part.bases for part in parts),
        anchors=sum(part.anchors for part in parts),
        mapped=sum(part.mapped for part in parts),
        lines=sum(part.lines for part in parts),
        secondary=sum(part.secondary for part in parts),
    )

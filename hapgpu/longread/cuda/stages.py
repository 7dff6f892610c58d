"""Blocks of long reads chained on a GPU to lines or other results; ready-made anchors, too."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias, TypeVar

import cupy

from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.cuda import DeviceSpans, GpuWorker
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import NO_LINES, ReadBlock, TextBlock
from hapgpu.longread.batches import (
    AnchorChains,
    Anchors,
    Chains,
    Mappings,
    NamedReads,
    Seeds,
)
from hapgpu.longread.cuda.anchors import anchor_offsets, expand_anchors
from hapgpu.longread.cuda.chains import trace_chains
from hapgpu.longread.cuda.index import DeviceMinimizerIndex, resident_index
from hapgpu.longread.cuda.join import join_chains
from hapgpu.longread.cuda.mappings import make_mappings, name_hashes
from hapgpu.longread.cuda.output import copy_to_host
from hapgpu.longread.cuda.scores import chain_scores
from hapgpu.longread.cuda.seeds import find_seeds
from hapgpu.longread.cuda.sketch import sketch
from hapgpu.longread.groups import check_anchors
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.options import LongReadOptions
from hapgpu.longread.output.paf import PafWriter
from hapgpu.longread.parameters import ChainParameters
from hapgpu.longread.stages import ChainStages, MappingFinder
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import active_on, device_errors
from hapgpu.runtime.gpu.parts import computed_in_parts
from hapgpu.runtime.gpu.scalars import last_values
from hapgpu.runtime.gpu_array import GpuArray

CudaStages: TypeAlias = ChainStages[DeviceMinimizerIndex, GpuArray]
_Result = TypeVar("_Result")
_ANCHORS_PER_PIECE: Final = 1 << 27


def cuda_stages(index: MinimizerIndex, device: CudaDevice) -> CudaStages:
    """Return the stages of a GPU; copy the index to it if it is not there yet.

    Raises
    ------
    DeviceError
        The index does not fit the GPU.
    """
    return ChainStages(
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


class BlockFinder(GpuWorker[_Result]):
    """Finder of the chains of blocks of reads on one GPU; a subclass makes results of them.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    options
        Options of the user.
    device
        The GPU.
    no_reads
        Result of a block without whole records.

    Raises
    ------
    DeviceError
        The index does not fit the GPU.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        options: LongReadOptions,
        device: CudaDevice,
        no_reads: _Result,
    ) -> None:
        with device_errors(device):
            self._finder = MappingFinder(index, options, cuda_stages(index, device))
        self._max_anchors = options.max_anchors
        super().__init__(device, LONG_READS, no_reads)

    def _seeds_of(self, block: ReadBlock, text: GpuArray, spans: DeviceSpans) -> Seeds:
        """Return seeds; refuse a block if a read has too many anchors, before they are made."""
        seeds = self._finder.find_seeds(text, spans)
        offsets = anchor_offsets(seeds)
        if last_values(offsets)[0] > self._max_anchors:
            anchors = cupy.diff(offsets)
            if last_values(anchors.max(keepdims=True))[0] > self._max_anchors:
                spans_of_host = parse_block(block, LONG_READS)
                check_anchors(block, spans_of_host, cupy.asnumpy(anchors), self._max_anchors)
        return seeds


class BlockChainer(BlockFinder[_Result]):
    """Chainer of blocks of reads on one GPU.

    Parameters
    ----------
    index, options, device, no_reads
        As for `BlockFinder`.
    finish
        Last step: from reads, their mappings, both on the host, and the number of their anchors to
        the result. The arrays are in pinned memory, which the result should not keep.

    Raises
    ------
    DeviceError
        The index does not fit the GPU.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        options: LongReadOptions,
        device: CudaDevice,
        finish: Callable[[NamedReads, Mappings, int], _Result],
        no_reads: _Result,
    ) -> None:
        self._finish = finish
        super().__init__(index, options, device, no_reads)

    def _result_of(self, block: ReadBlock, text: GpuArray, spans: DeviceSpans) -> _Result:
        seeds = self._seeds_of(block, text, spans)
        mappings, anchors = self._finder.find_mappings(text, spans, seeds)
        return self._finish(*copy_to_host(text, spans, mappings), anchors)


class CudaChainer(BlockChainer[TextBlock]):
    """Chainer of blocks of reads to lines of PAF; the parameters are those of `BlockChainer`."""

    def __init__(self, index: MinimizerIndex, options: LongReadOptions, device: CudaDevice) -> None:
        super().__init__(index, options, device, PafWriter(index, options), NO_LINES)


def chain_on_gpu(anchors: Anchors, parameters: ChainParameters, device: CudaDevice) -> AnchorChains:
    """Chain anchors in host memory, in pieces that fit the memory of the device.

    Parameters
    ----------
    anchors
        Result of `checked_anchors`.
    parameters
        Parameters of chaining.
    device
        GPU to use.

    Raises
    ------
    DeviceError
        A single read does not fit the device, or the device failed.
    """
    chain = partial(_chain_piece, parameters=parameters)
    with active_on(device):
        return AnchorChains.concatenated(
            [
                chains
                for piece in anchors.pieces(_ANCHORS_PER_PIECE)
                for chains in computed_in_parts(piece, chain, Anchors.halves)
            ]
        )


def _chain_piece(anchors: Anchors, parameters: ChainParameters) -> AnchorChains:
    """Chain anchors in host memory on the current stream of the current GPU."""
    on_device = Anchors(*(cupy.asarray(array) for array in (anchors.x, anchors.y, anchors.offsets)))
    scores = chain_scores(on_device, parameters)
    chains = trace_chains(on_device, scores, parameters)
    columns = (chains.x, chains.y, chains.anchor_offsets, chains.scores, chains.offsets)
    result = AnchorChains(
        cupy.asnumpy(scores.scores),
        cupy.asnumpy(scores.predecessors),
        Chains(*(cupy.asnumpy(column) for column in columns)),
    )
    cupy.cuda.get_current_stream().synchronize()
    return result

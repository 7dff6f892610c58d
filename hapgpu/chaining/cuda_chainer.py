"""Blocks of long reads chained on a GPU, from the text of FASTQ or FASTA to lines of PAF."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from hapgpu.chaining.anchors_cuda import expand_anchors
from hapgpu.chaining.backtracking_cuda import trace_chains
from hapgpu.chaining.batches import Chains, Regions, Seeds
from hapgpu.chaining.build import repeat_cutoff
from hapgpu.chaining.chained import ChainedBlock
from hapgpu.chaining.cuda import chain_scores
from hapgpu.chaining.device_index import resident_index
from hapgpu.chaining.index_data import MinimizerIndex
from hapgpu.chaining.long_join_cuda import join_chains
from hapgpu.chaining.mapping_quality import assess
from hapgpu.chaining.minimizers_cuda import sketch
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.paf import put_paf, targets_of
from hapgpu.chaining.regions_cuda import make_regions, name_hashes, regions_to_host
from hapgpu.chaining.rules import chain_rules, join_rules
from hapgpu.chaining.seeds_cuda import find_seeds
from hapgpu.device import CudaDevice
from hapgpu.errors import DeviceError
from hapgpu.gpu import explained, thread_streams
from hapgpu.io.halves import halves_of
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_rules import LONG_READS
from hapgpu.io.read_spans import parse_block
from hapgpu.io.read_spans_cuda import DeviceSpans, parse_text
from hapgpu.io.spans import ReadSpans


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
        k = index.sketch.k
        self._device = device
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_rules = chain_rules(options.chains, k)
        self._join_rules = join_rules(options.chains, k)
        self._targets = targets_of(index)
        with explained(device):
            self._index = resident_index(index, device)
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
            regions, anchors = self._regions(text, spans)
            spans_here = _spans_to_host(spans)
        return self._lines(block, spans_here, regions, anchors)

    def _regions(self, text: Any, spans: DeviceSpans) -> tuple[Regions, int]:
        """Return the regions of reads, on the host, and how many anchors they come from."""
        options, lengths = self._options, spans.lengths
        seeds = self._seeds(text, spans)
        chains, anchors = self._chains(seeds, lengths)
        if self._join_rules is not None:
            chains = join_chains(chains, lengths, self._join_rules)
        hashes = name_hashes(
            text, spans.name_starts, spans.name_lengths, lengths, options.regions.uses_names
        )
        regions = make_regions(
            chains, seeds, lengths, hashes, self._index, options.chains, options.regions
        )
        return regions_to_host(regions), anchors

    def _seeds(self, text: Any, spans: DeviceSpans) -> Seeds:
        minimizers = sketch(text, spans.base_starts, spans.lengths, self._index.sketch)
        return find_seeds(self._index, minimizers, spans.lengths, self._cutoff, self._options.seeds)

    def _chains(self, seeds: Seeds, lengths: Any) -> tuple[Chains, int]:
        """Return chains, before any is joined to another, and the number of all anchors."""
        anchors = expand_anchors(self._index, seeds, lengths)
        scores = chain_scores(anchors, self._chain_rules)
        return trace_chains(anchors, scores, self._chain_rules), int(anchors.x.size)

    def _lines(
        self, block: ReadBlock, spans: ReadSpans, regions: Regions, anchors: int
    ) -> ChainedBlock:
        options = self._options
        mappings = assess(regions, options.chains.min_score)
        lines = put_paf(block.text, spans, mappings, self._targets, options.regions)
        return ChainedBlock(
            text=lines.text,
            reads=len(spans),
            bases=int(spans.lengths.sum(dtype=np.int64)),
            anchors=anchors,
            mapped=lines.mapped,
            lines=lines.lines,
            secondary=lines.secondary,
        )

    def _release(self) -> None:
        """Give back what the pool of the calling thread's stream keeps."""
        number = self._device.index
        with cupy.cuda.Device(number):
            thread_streams(number, 1)[0].synchronize()
            cupy.get_default_memory_pool().free_all_blocks()


def _spans_to_host(spans: DeviceSpans) -> ReadSpans:
    return ReadSpans(
        name_starts=cupy.asnumpy(spans.name_starts),
        name_lengths=cupy.asnumpy(spans.name_lengths),
        base_starts=cupy.asnumpy(spans.base_starts),
        quality_starts=cupy.asnumpy(spans.quality_starts),
        lengths=cupy.asnumpy(spans.lengths),
        has_qualities=spans.has_qualities,
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

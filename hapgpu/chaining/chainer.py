"""Blocks of long reads turned into lines of PAF, on each kind of device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.anchors import expand_anchors
from hapgpu.chaining.backtracking import trace_chains
from hapgpu.chaining.batches import Regions
from hapgpu.chaining.build import repeat_cutoff
from hapgpu.chaining.chained import ChainedBlock
from hapgpu.chaining.cpu import chain_scores
from hapgpu.chaining.index_data import MinimizerIndex
from hapgpu.chaining.long_join import join_chains
from hapgpu.chaining.mapping_quality import assess
from hapgpu.chaining.minimizers import sketch
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.paf import put_paf, targets_of
from hapgpu.chaining.regions import make_regions, name_hashes
from hapgpu.chaining.rules import chain_rules, join_rules
from hapgpu.chaining.seeds import find_seeds
from hapgpu.device import CudaDevice, Device
from hapgpu.io.block_transfer import BlockTransfer, transfer_for
from hapgpu.io.read_block import ReadBlock
from hapgpu.io.read_rules import LONG_READS
from hapgpu.io.read_spans import parse_block
from hapgpu.io.spans import ReadSpans

Chainer: TypeAlias = Callable[[ReadBlock], ChainedBlock]
"""Raises InputError where a block is malformed; the message names the file and the record."""

_CPU_BLOCK: Final = 4 << 20
_GPU_BLOCK: Final = 256 << 20
_WORKERS_PER_GPU: Final = 2  # one copies while the other computes


class CpuChainer:
    """Chains blocks of reads, each in the thread that asks for it.

    Parameters
    ----------
    index
        Of the reference; made with `options.sketch`.
    options
        What the user chose.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions) -> None:
        k = index.sketch.k
        self._index = index
        self._options = options
        self._cutoff = repeat_cutoff(index, options.seeds)
        self._chain_rules = chain_rules(options.chains, k)
        self._join_rules = join_rules(options.chains, k)
        self._targets = targets_of(index)

    def __call__(self, block: ReadBlock) -> ChainedBlock:
        """Chain one block.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        spans = parse_block(block, LONG_READS)
        regions, anchors = self._regions(block.text, spans)
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

    def _regions(self, text: NDArray[np.uint8], spans: ReadSpans) -> tuple[Regions, int]:
        """Return the regions of reads, and how many anchors they come from."""
        index, options, lengths = self._index, self._options, spans.lengths
        minimizers = sketch(text, spans.base_starts, lengths, index.sketch)
        seeds = find_seeds(index, minimizers, lengths, self._cutoff, options.seeds)
        anchors = expand_anchors(index, seeds, lengths)
        scores = chain_scores(anchors, self._chain_rules)
        chains = trace_chains(anchors, scores, self._chain_rules)
        if self._join_rules is not None:
            chains = join_chains(chains, lengths, self._join_rules)
        hashes = name_hashes(
            text, spans.name_starts, spans.name_lengths, lengths, options.regions.uses_names
        )
        regions = make_regions(
            chains, seeds, lengths, hashes, index, options.chains, options.regions
        )
        return regions, int(anchors.offsets[-1])


def chainers_for(
    devices: Sequence[Device], index: MinimizerIndex, options: MapOptions
) -> list[Chainer]:
    """Return a chainer for each thread that is to chain: one per CPU thread, or some per GPU."""
    chainers: list[Chainer] = []
    for device in devices:
        if isinstance(device, CudaDevice):
            from hapgpu.chaining.cuda_chainer import CudaChainer  # noqa: PLC0415  (imports CuPy)

            chainers += [CudaChainer(index, options, device)] * _WORKERS_PER_GPU
        else:
            chainers += [CpuChainer(index, options)] * device.threads
    return chainers


def block_transfer(devices: Sequence[Device], threads: int) -> BlockTransfer:
    """Return how blocks come to the devices, which are all CPUs or all GPUs."""
    return transfer_for(devices, threads, cpu_bytes=_CPU_BLOCK, gpu_bytes=_GPU_BLOCK)

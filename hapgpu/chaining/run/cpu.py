"""Blocks of long reads chained on the CPU, from the text of FASTQ or FASTA to lines of PAF."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hapgpu.chaining.anchors.cpu import expand_anchors
from hapgpu.chaining.batches import NamedReads
from hapgpu.chaining.chains.cpu import trace_chains
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.join.cpu import join_chains
from hapgpu.chaining.mappings.cpu import make_mappings, name_hashes
from hapgpu.chaining.options import MapOptions
from hapgpu.chaining.output.paf import PafWriter
from hapgpu.chaining.run.groups import GroupWorker, LinePart, ReadGroup
from hapgpu.chaining.run.stages import MappingFinder, Stages
from hapgpu.chaining.scores.cpu import chain_scores
from hapgpu.chaining.seeds.cpu import find_seeds
from hapgpu.chaining.sketch.cpu import sketch
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.spans import ReadSpans


class CpuChainer(GroupWorker):
    """Chainer of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    options
        Options of the user.
    """

    def __init__(self, index: MinimizerIndex, options: MapOptions) -> None:
        finder = MappingFinder(index, options, cpu_stages(index))
        self._find_mappings = finder.find_mappings
        self._line_parts = PafWriter(index, options).parts
        super().__init__(finder, self._chained, options.max_anchors)

    def _chained(self, group: ReadGroup) -> Sequence[LinePart]:
        mappings, anchors = self._find_mappings(group.block.text, group.spans, group.seeds)
        return self._line_parts(named_reads(group.block, group.spans), mappings, anchors)


def named_reads(block: ReadBlock, spans: ReadSpans) -> NamedReads:
    """Return names and lengths of the reads of a block, sharing memory."""
    return NamedReads(block.text, spans.name_starts, spans.name_lengths, spans.lengths)


def cpu_stages(index: MinimizerIndex) -> Stages:
    """Return the stages of the CPU."""
    return Stages(
        index=index,
        sketch=sketch,
        find_seeds=find_seeds,
        expand_anchors=expand_anchors,
        chain_scores=chain_scores,
        trace_chains=trace_chains,
        join_chains=partial(join_chains, overwrites=True),
        name_hashes=name_hashes,
        make_mappings=make_mappings,
    )

"""Blocks of long reads on the CPU: chained, or aligned, to lines or to other results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.io.fastx.read_block import ReadBlock, ReadSpans, TextBlock
from hapgpu.longread.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.longread.align.parameters import align_parameters, scoring_of
from hapgpu.longread.align.pipeline import CPU_STAGES, AlignStages, MappingAligner
from hapgpu.longread.align.start import code_reads
from hapgpu.longread.batches import Mappings, NamedReads
from hapgpu.longread.chain.chains import trace_chains
from hapgpu.longread.chain.join import join_chains
from hapgpu.longread.chain.scores import chain_scores
from hapgpu.longread.groups import GroupWorker, ResultPart, SeededReads
from hapgpu.longread.index.minimizer_index import MinimizerIndex
from hapgpu.longread.index.sketch import sketch
from hapgpu.longread.mappings.mappings import chained_mappings, make_mappings, name_hashes
from hapgpu.longread.options import LineOptions, LongReadOptions, MappingOptions
from hapgpu.longread.output.aligned_parts import AlignmentWriter
from hapgpu.longread.output.paf import PafWriter
from hapgpu.longread.output.parts import LinePart
from hapgpu.longread.output.rows import AlignedBlock
from hapgpu.longread.seed.anchors import expand_anchors
from hapgpu.longread.seed.seeds import find_seeds
from hapgpu.longread.stages import ChainStages, FoundChains, MappingFinder

CpuStages: TypeAlias = ChainStages[MinimizerIndex, NDArray[Any]]
_Result = TypeVar("_Result")


def cpu_stages(index: MinimizerIndex) -> CpuStages:
    """Return the stages of the CPU."""
    return ChainStages(
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


class GroupChainer(GroupWorker[_Result]):
    """Chainer of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    options
        Options of the user.
    finish
        Last step: from reads, their mappings and the number of their anchors to functions that make
        the parts of the result.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        options: LongReadOptions,
        finish: Callable[[NamedReads, Mappings, int], ResultPart[_Result]],
    ) -> None:
        self._finish = finish
        finder = MappingFinder(index, options, cpu_stages(index))
        super().__init__(finder, self._chained, options.max_anchors)

    def _chained(self, group: SeededReads) -> ResultPart[_Result]:
        mappings, anchors = self._finder.find_mappings(group.block.text, group.spans, group.seeds)
        return self._finish(named_reads(group.block, group.spans), mappings, anchors)


class CpuChainer(GroupChainer[TextBlock]):
    """Chainer of blocks of reads to lines of PAF; the parameters are those of `GroupChainer`."""

    def __init__(self, index: MinimizerIndex, options: LongReadOptions) -> None:
        super().__init__(index, options, PafWriter(index, options).first_lines)


def named_reads(block: ReadBlock, spans: ReadSpans) -> NamedReads:
    """Return names and lengths of the reads of a block, sharing memory."""
    return NamedReads(block.text, spans.name_starts, spans.name_lengths, spans.lengths)


class RunStages(NamedTuple):
    """The stages after chaining.

    Attributes
    ----------
    code_reads
        Function of this name.
    align
        The stages of base alignment.
    writer
        Makes the writer of lines, with the parameters of `AlignmentWriter`.
    """

    code_reads: Callable[[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32]], ReadCodes]
    align: AlignStages
    writer: Callable[
        [MinimizerIndex, TargetCodes, MappingOptions, LineOptions],
        Callable[[AlignedBlock, int], LinePart],
    ]


CPU_RUN: Final = RunStages(code_reads, CPU_STAGES, AlignmentWriter)


class GroupAligner(GroupWorker[_Result]):
    """Aligner of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    targets
        Bases of the reference.
    options
        Options of the user.
    finish
        Last step: from the aligned mappings of reads and the number of their anchors to functions
        that make the parts of the result.
    stages
        Stages of base alignment.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: LongReadOptions,
        finish: Callable[[AlignedBlock, int], ResultPart[_Result]],
        stages: RunStages = CPU_RUN,
    ) -> None:
        self._stages = stages
        self._index = index
        self._options = options
        self._align = MappingAligner(
            targets,
            options.mappings,
            scoring_of(options.align),
            align_parameters(options, index.sketch),
            stages.align,
        )
        self._finish = finish
        finder = MappingFinder(index, options, cpu_stages(index))
        super().__init__(finder, self._aligned_group, options.max_anchors)

    def _aligned_group(self, group: SeededReads) -> ResultPart[_Result]:
        text, spans = group.block.text, group.spans
        found = self._finder.find_chains(text, spans, group.seeds)
        reads = self._stages.code_reads(text, spans.base_starts, spans.lengths)
        aligned = self._aligned(found, reads)
        block = AlignedBlock(text, spans, reads, aligned, found.seeds.repeat_lengths)
        return self._finish(block, found.anchors)

    def _aligned(self, found: FoundChains[NDArray[np.uint32]], reads: ReadCodes) -> AlignedMappings:
        options, index = self._options, self._index
        mappings, mapped_chains = chained_mappings(
            found.chains,
            found.seeds,
            reads.lengths,
            found.name_hashes,
            index,
            options.chains,
            options.mappings,
        )
        return self._align(mappings, found.chains, mapped_chains, found.name_hashes, reads)


class CpuAligner(GroupAligner[TextBlock]):
    """Aligner of blocks of reads to lines of PAF or SAM.

    Parameters
    ----------
    index, targets, options, stages
        As for `GroupAligner`.
    line_options
        Options for the lines.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: LongReadOptions,
        line_options: LineOptions,
        stages: RunStages = CPU_RUN,
    ) -> None:
        writer = stages.writer(index, targets, options.mappings, line_options)
        super().__init__(index, targets, options, writer, stages)

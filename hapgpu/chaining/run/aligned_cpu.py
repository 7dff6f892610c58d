"""Blocks of long reads aligned base by base on the CPU, from FASTQ or FASTA to PAF or SAM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from hapgpu.chaining.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.chaining.align.cpu import align_pieces
from hapgpu.chaining.align.parameters import align_parameters, scoring_of
from hapgpu.chaining.align.ranking.cpu import rank
from hapgpu.chaining.align.rounds.cpu import CPU_ROUNDS, AlignPieces, MappingAligner, RoundStages
from hapgpu.chaining.align.start import code_reads, start_mappings
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.mappings.cpu import chained_mappings
from hapgpu.chaining.options import LineOptions, MapOptions
from hapgpu.chaining.output.alignments.writer import AlignmentWriter
from hapgpu.chaining.quality.cpu import reported_rows
from hapgpu.chaining.run.cpu import cpu_stages
from hapgpu.chaining.run.groups import GroupWorker, LinePart, ReadGroup
from hapgpu.chaining.run.stages import FoundChains, MappingFinder


class AlignStages(NamedTuple):
    """The stages of base alignment, after chaining.

    Attributes
    ----------
    code_reads, rank
        Functions of these names.
    align_pieces
        Dynamic programming of pieces.
    rounds
        The stages around it.
    writer
        Makes the writer of lines, with the parameters of `AlignmentWriter`.
    """

    code_reads: Callable[..., Any]
    align_pieces: AlignPieces
    rounds: RoundStages
    rank: Callable[..., Any]
    writer: Callable[..., Any]


CPU_ALIGNMENT: Final = AlignStages(code_reads, align_pieces, CPU_ROUNDS, rank, AlignmentWriter)


class CpuAligner(GroupWorker):
    """Aligner of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    targets
        Bases of the reference.
    options, line_options
        Options of the user.
    stages
        Stages of base alignment.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: MapOptions,
        line_options: LineOptions,
        stages: AlignStages = CPU_ALIGNMENT,
    ) -> None:
        self._stages = stages
        self._index = index
        self._options = options
        self._scoring = scoring_of(options.align)
        self._parameters = align_parameters(options, index.sketch)
        self._align_mappings = MappingAligner(
            targets, self._scoring, self._parameters, stages.align_pieces, stages.rounds
        )
        self._lines_of_mappings = stages.writer(index, targets, options.mappings, line_options)
        finder = MappingFinder(index, options, cpu_stages(index))
        super().__init__(finder, self._lines, options.max_anchors)

    def _lines(self, group: ReadGroup) -> Sequence[LinePart]:
        text, spans = group.block.text, group.spans
        found = self._finder.find_chains(text, spans, group.seeds)
        reads: ReadCodes = self._stages.code_reads(text, spans.base_starts, spans.lengths)
        aligned = self._aligned(found, reads)
        parts: Sequence[LinePart] = self._lines_of_mappings(
            text, spans, reads, aligned, found.seeds.repeat_lengths, found.anchors
        )
        return parts

    def _aligned(self, found: FoundChains, reads: ReadCodes) -> AlignedMappings:
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
        rows, offsets, _ = reported_rows(mappings)
        started, anchors = start_mappings(
            mappings, rows, offsets, found.chains, mapped_chains, found.name_hashes
        )
        aligned = self._align_mappings(started, anchors, reads)
        ranked: AlignedMappings = self._stages.rank(
            aligned,
            reads.lengths,
            found.seeds.repeat_lengths,
            options.mappings,
            self._scoring,
            self._parameters,
        )
        return ranked

"""Blocks of long reads aligned base by base on the CPU, from FASTQ or FASTA to PAF or SAM."""

from __future__ import annotations

from hapgpu.chaining.align.batches import AlignedMappings, ReadCodes, TargetCodes
from hapgpu.chaining.align.codes import code_reads
from hapgpu.chaining.align.cpu import align_pieces
from hapgpu.chaining.align.parameters import align_parameters, scoring_of
from hapgpu.chaining.align.ranking.cpu import rank
from hapgpu.chaining.align.rounds.cpu import MappingAligner
from hapgpu.chaining.align.start import start_mappings
from hapgpu.chaining.index.minimizer_index import MinimizerIndex
from hapgpu.chaining.mappings.cpu import chained_mappings
from hapgpu.chaining.options import LineOptions, MapOptions
from hapgpu.chaining.output.alignments.writer import AlignmentWriter
from hapgpu.chaining.quality.cpu import reported_rows
from hapgpu.chaining.run.cpu import cpu_stages
from hapgpu.chaining.run.stages import FoundChains, MappingFinder
from hapgpu.io.fastx.cpu import parse_block
from hapgpu.io.fastx.limits import LONG_READS
from hapgpu.io.fastx.read_block import ReadBlock
from hapgpu.io.fastx.text_block import TextBlock


class CpuAligner:
    """Aligner of blocks of reads, each in the calling thread.

    Parameters
    ----------
    index
        Minimizer index of the reference, built with `options.sketch`.
    targets
        Bases of the reference.
    options, line_options
        Options of the user.
    """

    def __init__(
        self,
        index: MinimizerIndex,
        targets: TargetCodes,
        options: MapOptions,
        line_options: LineOptions,
    ) -> None:
        self._index = index
        self._options = options
        self._scoring = scoring_of(options.align)
        self._parameters = align_parameters(options, index.sketch)
        self._align_mappings = MappingAligner(
            targets, self._scoring, self._parameters, align_pieces
        )
        self._finder = MappingFinder(index, options, cpu_stages(index))
        self._write_lines = AlignmentWriter(index, targets, options.mappings, line_options)

    def __call__(self, block: ReadBlock) -> TextBlock:
        """Align one block.

        Raises
        ------
        InputError
            A record is malformed; the message names the file and the record.
        """
        spans = parse_block(block, LONG_READS)
        found = self._finder.find_chains(block.text, spans)
        reads = code_reads(block.text, spans.base_starts, spans.lengths)
        aligned = self._aligned(found, reads)
        return self._write_lines(
            block.text, spans, reads, aligned, found.seeds.repeat_lengths, found.anchors
        )

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
        return rank(
            aligned,
            reads.lengths,
            found.seeds.repeat_lengths,
            options.mappings,
            self._scoring,
            self._parameters,
        )

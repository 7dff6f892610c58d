"""Order of base alignment on a GPU; the stages and the rounds are those of `longread.align`.

Most fills of a round are aligned together, also those behind a dropped one of the same mapping: a
GPU has them done before it could be told to leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import cupy
import numpy as np

from hapgpu.arrays.cuda import chosen_rows
from hapgpu.longread.align.batches import (
    REFILL,
    AlignedMappings,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.drops import INVERSION_DROP, NO_DROP
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.batches import Chains, Mappings
from hapgpu.longread.cuda.align.alignments import join, take
from hapgpu.longread.cuda.align.assembly import assemble, in_order
from hapgpu.longread.cuda.align.cigars import finish_alignments
from hapgpu.longread.cuda.align.drops import find_drops
from hapgpu.longread.cuda.align.inversions import find_stretches, insert_inversions
from hapgpu.longread.cuda.align.pieces import plan_pieces
from hapgpu.longread.cuda.align.pieces_alignment import align_pieces
from hapgpu.longread.cuda.align.ranking import rank
from hapgpu.longread.cuda.align.start import start_mappings
from hapgpu.longread.cuda.align.steps import align_in_steps
from hapgpu.longread.options import MappingOptions
from hapgpu.runtime.gpu_array import GpuArray


@dataclass(frozen=True, slots=True)
class DeviceMappingAligner:
    """Aligner of the mappings of reads on the current GPU; see `MappingAligner`.

    Attributes
    ----------
    targets
        Bases of the reference, on the GPU.
    options
        Options for mappings.
    scoring, parameters
        Scores and other parameters.
    """

    targets: TargetCodes
    options: MappingOptions
    scoring: AlignScoring
    parameters: AlignParameters

    def __call__(
        self,
        mappings: Mappings,
        chains: Chains,
        mapped_chains: GpuArray,
        name_hashes: GpuArray,
        reads: ReadCodes,
    ) -> AlignedMappings:
        """Return the aligned mappings of n reads, in the order of their lines.

        Parameters
        ----------
        mappings, chains, mapped_chains, name_hashes, reads
            As for `MappingAligner`, on the GPU: int32[r] and uint32[n].
        """
        started, anchors = start_mappings(mappings, chains, mapped_chains, name_hashes)
        return rank(
            self.align(started, anchors, reads),
            reads.lengths,
            mappings.repeat_lengths,
            self.options,
            self.scoring,
            self.parameters,
        )

    def align(
        self, mappings: GpuArray, anchors: MappedAnchors, reads: ReadCodes
    ) -> AlignedMappings:
        """Align the mappings of n reads, round by round, and the inversions between their parts.

        Parameters
        ----------
        mappings
            `MAPPING`[r], as int64 words: see `MappingAligner.align`.
        anchors, reads
            Their anchors, whose `y` is changed, and the bases of the reads.
        """
        scoring, parameters = self.scoring, self.parameters
        sequences = SequenceCodes(reads, self.targets)
        initial = int(mappings.shape[0])
        parts = [cupy.empty(0, dtype=np.uint32)]
        start = count = 0
        while start < mappings.shape[0]:
            rows, start = cupy.arange(start, mappings.shape[0]), int(mappings.shape[0])
            planned = plan_pieces(mappings, rows, anchors, sequences, scoring, parameters)
            aligned = align_in_steps(planned, partial(self._align_tested, sequences=sequences))
            mappings, operations = assemble(
                mappings, aligned, anchors, reads.lengths, parameters, count
            )
            parts.append(operations)
            count += int(operations.size)
        operations = cupy.concatenate(parts)
        finish_alignments(mappings, cupy.arange(start), operations, sequences, scoring)
        stretches = find_stretches(mappings, sequences, scoring, parameters)
        if stretches.left.size:
            inverted = align_pieces(stretches.pieces, sequences, scoring, parameters)
            mappings = insert_inversions(mappings, stretches, inverted, sequences, count)
            operations = cupy.concatenate([operations, inverted.operations])
            rows = cupy.arange(start, mappings.shape[0])
            finish_alignments(mappings, rows, operations, sequences, scoring)
        return in_order(mappings, initial, operations, int(reads.lengths.size))

    def _align_tested(
        self, pieces: Pieces, sequences: SequenceCodes
    ) -> tuple[PieceAlignments, GpuArray]:
        """Align and test pieces; align fills with a drop again."""
        scoring, parameters = self.scoring, self.parameters
        alignments = align_pieces(pieces, sequences, scoring, parameters)
        drops = find_drops(pieces, alignments, sequences, scoring, parameters)
        dropped = chosen_rows(drops != NO_DROP)
        if dropped.size:
            again = self._again(pieces.take(dropped), drops[dropped])
            rows = cupy.arange(drops.size)
            rows[dropped] = drops.size + cupy.arange(dropped.size)
            second = align_pieces(again, sequences, scoring, parameters)
            alignments = take(join([alignments, second]), rows)
        return alignments, drops

    def _again(self, fills: Pieces, drops: GpuArray) -> Pieces:
        """Return dropped fills to be aligned again; `drops`, uint8, has their tests' results."""
        limits = cupy.where(
            drops == INVERSION_DROP,
            np.int32(self.parameters.inversion_drop),
            np.int32(self.parameters.drop),
        )
        kinds = cupy.full(drops.size, REFILL, dtype=np.uint8)
        return fills._replace(kinds=kinds, drops=limits.astype(np.int32))

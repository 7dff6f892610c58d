"""Rounds of base alignment: all mappings, then the second parts of split mappings, and so on.

In minimap2, mappings are aligned one after the other, and each second part directly behind the
first. Here all pieces of a round are aligned together: a mapping depends on no other, except a
second part on its first. Within a round, the fills of a mapping are aligned in steps, each of twice
as many fills, until one is dropped: those behind it are other fills in the second part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.chaining.align.batches import (
    FILL,
    REFILL,
    AlignedMappings,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    PlannedPieces,
    ReadCodes,
    TargetCodes,
)
from hapgpu.chaining.align.cigars.cpu import finish_alignments
from hapgpu.chaining.align.parameters import AlignParameters, AlignScoring
from hapgpu.chaining.align.pieces.cpu import plan_pieces
from hapgpu.chaining.align.rounds.aligned_pieces import (
    AlignedPieces,
    join_alignments,
    no_alignment,
    piece_steps,
    take_alignments,
    take_pieces,
)
from hapgpu.chaining.align.rounds.assembly import assemble, in_order
from hapgpu.chaining.align.rounds.drops import INVERSION_DROP, NO_DROP, find_drops
from hapgpu.chaining.align.rounds.inversions import find_stretches, insert_inversions


class AlignPieces(Protocol):
    """Dynamic programming of pieces, on the CPU or a GPU."""

    def __call__(  # noqa: D102  (described by the class)
        self,
        pieces: Pieces,
        reads: ReadCodes,
        targets: TargetCodes,
        scoring: AlignScoring,
        parameters: AlignParameters,
    ) -> PieceAlignments: ...


class RoundStages(NamedTuple):
    """Functions of the stages around the dynamic programming of pieces."""

    plan_pieces: Callable[..., Any]
    find_drops: Callable[..., Any]
    assemble: Callable[..., Any]
    finish_alignments: Callable[..., Any]


CPU_ROUNDS: Final = RoundStages(plan_pieces, find_drops, assemble, finish_alignments)


class MappingAligner(NamedTuple):
    """Aligner of the mappings of reads with base-level dynamic programming.

    Attributes
    ----------
    targets
        Bases of the reference.
    scoring, parameters
        Scores and other parameters.
    align_pieces
        Dynamic programming of pieces.
    stages
        The stages around it.
    """

    targets: TargetCodes
    scoring: AlignScoring
    parameters: AlignParameters
    align_pieces: AlignPieces
    stages: RoundStages = CPU_ROUNDS

    def __call__(
        self, mappings: NDArray[np.void], anchors: MappedAnchors, reads: ReadCodes
    ) -> AlignedMappings:
        """Align the mappings of n reads.

        Parameters
        ----------
        mappings
            MAPPING[r]: mappings of the chains, sorted by read; those of a read in order, and
            linked by `next`.
        anchors
            Their anchors; `y` gets flags in place.
        reads
            Bases of the reads.

        Returns
        -------
        AlignedMappings
            With the second parts of split mappings, and inversions, behind the first parts.
            Without an alignment, a mapping has no operations.
        """
        initial = mappings.size
        aligned, operations = self._align_chains(mappings.copy(), anchors, reads)
        aligned, operations = self._with_inversions(aligned, operations, reads)
        return in_order(aligned, initial, operations, reads.lengths.size)

    def _align_chains(
        self, mappings: NDArray[np.void], anchors: MappedAnchors, reads: ReadCodes
    ) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
        """Align mappings and, round by round, the second parts of those that are split."""
        parts = [np.empty(0, dtype=np.uint32)]
        count = start = 0
        while start < mappings.size:
            rows = np.arange(start, mappings.size)
            start = mappings.size
            planned = self.stages.plan_pieces(
                mappings, rows, anchors, reads, self.targets, self.scoring, self.parameters
            )
            mappings, operations = self.stages.assemble(
                mappings,
                planned,
                self._aligned_in_steps(planned, reads),
                anchors,
                reads.lengths,
                self.parameters,
                count,
            )
            parts.append(operations)
            count += operations.size
        operations = np.concatenate(parts)
        self._finish(mappings, np.arange(mappings.size), operations, reads)
        return mappings, operations

    def _aligned_in_steps(self, planned: PlannedPieces, reads: ReadCodes) -> AlignedPieces:
        """Align and test pieces, except most of those behind a mapping's first dropped fill."""
        pieces = planned.pieces
        steps, plans = piece_steps(planned.plans, len(pieces))
        is_open = np.ones(planned.plans.size, dtype=np.bool_)
        places = np.zeros(len(pieces), dtype=np.int64)  # 0: not aligned
        parts, drops = [no_alignment()], [np.zeros(1, dtype=np.uint8)]
        count = 1
        for step in range(int(steps.max(initial=-1)) + 1):
            rows = np.flatnonzero((steps == step) & is_open[plans])
            aligned = self._aligned(take_pieces(pieces, rows), reads)
            is_dropped = (aligned.pieces.kinds == FILL) & (aligned.alignments.is_dropped == 1)
            is_open[plans[rows[is_dropped]]] = False
            places[rows] = count + np.arange(rows.size)
            count += rows.size
            parts.append(aligned.alignments)
            drops.append(aligned.drops)
        alignments = take_alignments(join_alignments(parts), places)
        return AlignedPieces(pieces, alignments, np.concatenate(drops)[places])

    def _aligned(self, pieces: Pieces, reads: ReadCodes) -> AlignedPieces:
        """Align and test pieces; align fills with a drop again."""
        alignments = self._align(pieces, reads)
        drops = self.stages.find_drops(
            pieces, alignments, reads, self.targets, self.scoring, self.parameters
        )
        dropped = np.flatnonzero(drops != NO_DROP)
        if dropped.size:
            limits = np.where(
                drops[dropped] == INVERSION_DROP,
                self.parameters.inversion_drop,
                self.parameters.drop,
            )
            again = replace(
                take_pieces(pieces, dropped),
                kinds=np.full(dropped.size, REFILL, dtype=np.uint8),
                drops=limits.astype(np.int32),
            )
            rows = np.arange(drops.size)
            rows[dropped] = drops.size + np.arange(dropped.size)
            both = join_alignments([alignments, self._align(again, reads)])
            alignments = take_alignments(both, rows)
        return AlignedPieces(pieces, alignments, drops)

    def _with_inversions(
        self, mappings: NDArray[np.void], operations: NDArray[np.uint32], reads: ReadCodes
    ) -> tuple[NDArray[np.void], NDArray[np.uint32]]:
        """Align the inversions between parts, and insert them."""
        stretches = find_stretches(mappings, reads, self.targets, self.scoring, self.parameters)
        if not stretches.left.size:
            return mappings, operations
        alignments = self._align(stretches.pieces, reads)
        parts = mappings.size
        mappings = insert_inversions(
            mappings, stretches, alignments, reads, self.targets, operations.size
        )
        operations = np.concatenate([operations, alignments.operations])
        self._finish(mappings, np.arange(parts, mappings.size), operations, reads)
        return mappings, operations

    def _align(self, pieces: Pieces, reads: ReadCodes) -> PieceAlignments:
        return self.align_pieces(pieces, reads, self.targets, self.scoring, self.parameters)

    def _finish(
        self,
        mappings: NDArray[np.void],
        rows: NDArray[np.int64],
        operations: NDArray[np.uint32],
        reads: ReadCodes,
    ) -> None:
        """Clean up the operations of some mappings, and count."""
        self.stages.finish_alignments(mappings, rows, operations, reads, self.targets, self.scoring)

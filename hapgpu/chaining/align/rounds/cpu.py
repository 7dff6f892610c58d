"""Rounds of base alignment: all mappings, then the second parts of split mappings, and so on.

In minimap2, mappings are aligned one after the other, and each second part directly behind the
first. Here all pieces of a round are aligned together: a mapping depends on no other, except a
second part on its first.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged
from hapgpu.chaining.align.batches import (
    REFILL,
    AlignedMappings,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    ReadCodes,
    TargetCodes,
)
from hapgpu.chaining.align.cigars.cpu import finish_alignments
from hapgpu.chaining.align.parameters import AlignParameters
from hapgpu.chaining.align.pieces.cpu import plan_pieces
from hapgpu.chaining.align.rounds.assembly import Assembly, assemble
from hapgpu.chaining.align.rounds.drops import INVERSION_DROP, NO_DROP, find_drops
from hapgpu.chaining.align.rounds.inversions import find_stretches, insert_inversions
from hapgpu.chaining.align.rounds.order import in_order
from hapgpu.chaining.align.scoring import AlignScoring


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
    """

    targets: TargetCodes
    scoring: AlignScoring
    parameters: AlignParameters
    align_pieces: AlignPieces

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
            mappings, operations = self._round(mappings, rows, anchors, reads, count)
            parts.append(operations)
            count += operations.size
        operations = np.concatenate(parts)
        self._finish(mappings, np.arange(mappings.size), operations, reads)
        return mappings, operations

    def _round(
        self,
        mappings: NDArray[np.void],
        rows: NDArray[np.int64],
        anchors: MappedAnchors,
        reads: ReadCodes,
        first_operation: int,
    ) -> Assembly:
        """Align the mappings of some rows; append their second parts."""
        planned = plan_pieces(
            mappings, rows, anchors, reads, self.targets, self.scoring, self.parameters
        )
        alignments = self._align(planned.pieces, reads)
        drops = find_drops(
            planned.pieces, alignments, reads, self.targets, self.scoring, self.parameters
        )
        dropped = np.flatnonzero(drops != NO_DROP)
        if dropped.size:
            again = self._align(self._refills(planned.pieces, dropped, drops[dropped]), reads)
            alignments = _replaced(alignments, dropped, again)
        return assemble(
            mappings,
            planned,
            alignments,
            drops,
            anchors,
            reads.lengths,
            self.parameters,
            first_operation,
        )

    def _refills(self, pieces: Pieces, rows: NDArray[np.int64], drops: NDArray[np.uint8]) -> Pieces:
        """Return the fills of some rows, with a limit on drops."""
        return Pieces(
            kinds=np.full(rows.size, REFILL, dtype=np.uint8),
            query_starts=pieces.query_starts[rows],
            query_lengths=pieces.query_lengths[rows],
            target_starts=pieces.target_starts[rows],
            target_lengths=pieces.target_lengths[rows],
            bands=pieces.bands[rows],
            drops=np.where(
                drops == INVERSION_DROP, self.parameters.inversion_drop, self.parameters.drop
            ).astype(np.int32),
        )

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
        finish_alignments(mappings, rows, operations, reads, self.targets, self.scoring)


def _replaced(
    alignments: PieceAlignments, rows: NDArray[np.int64], others: PieceAlignments
) -> PieceAlignments:
    """Return the alignments with those of some rows replaced."""
    order = np.arange(alignments.scores.size)
    order[rows] = order.size + np.arange(rows.size)

    def chosen(name: str) -> Any:
        return np.concatenate([getattr(alignments, name), getattr(others, name)])[order]

    operations = Ragged.concatenate(
        [Ragged(each.operations, each.offsets) for each in (alignments, others)]
    ).take(order)
    columns = (field.name for field in fields(PieceAlignments))
    return replace(
        alignments,
        **{name: chosen(name) for name in columns if name not in {"operations", "offsets"}},
        operations=operations.data,
        offsets=operations.offsets,
    )

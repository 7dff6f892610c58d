"""Order of base alignment: chains and their mappings to aligned mappings, in the order of lines.

The stages, and the functions of minimap2 2.30 that they reproduce:

    start_mappings                      mm_squeeze_a
    plan_pieces                         mm_align1: anchors, cut points, limits of extensions
    align_pieces                        mm_align_pair (ksw_extd2_sse41, ksw_extz2_sse41)
    find_drops                          mm_test_zdrop
    assemble                            mm_align1: mm_append_cigar, mm_split_reg
    finish_alignments                   mm_update_extra
    find_stretches, insert_inversions   mm_align1_inv
    rank                                mm_align_skeleton: mm_filter_regs, mm_hit_sort; mm_set_mapq2

minimap2 aligns mappings one after the other, and each second part of a split mapping directly
after the first. Here all pieces of a round are aligned together: all mappings in the first round,
then the second parts of split mappings, and so on. A mapping depends on no other, except a second
part on its first.

minimap2's `mm_align1` aligns the fills of a mapping one by one and stops at the first dropped one:
the remaining fills belong to the second part of the mapping. Here they are aligned in steps, each
of twice as many fills of a mapping, and the steps of all mappings together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.longread.align.assembly import Assembly, assemble, in_order
from hapgpu.longread.align.batches import (
    FILL,
    REFILL,
    UNREACHED,
    AlignedMappings,
    AlignedPieces,
    MappedAnchors,
    PieceAlignments,
    Pieces,
    PlannedPieces,
    ReadCodes,
    SequenceCodes,
    TargetCodes,
)
from hapgpu.longread.align.cigars import finish_alignments
from hapgpu.longread.align.cpu import align_pieces
from hapgpu.longread.align.drops import INVERSION_DROP, NO_DROP, find_drops
from hapgpu.longread.align.inversions import find_stretches, insert_inversions
from hapgpu.longread.align.parameters import AlignParameters, AlignScoring
from hapgpu.longread.align.pieces import plan_pieces
from hapgpu.longread.align.ranking import rank
from hapgpu.longread.align.start import start_mappings
from hapgpu.longread.batches import Chains, Mappings
from hapgpu.longread.mappings.quality import reported_rows
from hapgpu.longread.options import MappingOptions

_FIRST_FILLS: Final = 32
"""Fills of a mapping in its first step."""


def align_in_steps(
    planned: PlannedPieces,
    align: Callable[[Pieces], tuple[PieceAlignments, NDArray[np.uint8]]],
) -> AlignedPieces:
    """Align and test pieces, except most of those after a mapping's first dropped fill.

    Parameters
    ----------
    planned
        Pieces of mappings.
    align
        Returns the alignments of some pieces, and the results of their tests.
    """
    pieces = planned.pieces
    steps, plans = piece_steps(planned.plans, pieces.kinds.size)
    is_open = np.ones(planned.plans.size, dtype=np.bool_)
    places = np.zeros(pieces.kinds.size, dtype=np.int64)  # 0: not aligned
    parts, drops = [no_alignment()], [np.zeros(1, dtype=np.uint8)]
    count = 1
    for step in range(int(steps.max(initial=-1)) + 1):
        rows = np.flatnonzero((steps == step) & is_open[plans])
        alignments, found = align(pieces.take(rows))
        is_dropped = (pieces.kinds[rows] == FILL) & (alignments.is_dropped == 1)
        is_open[plans[rows[is_dropped]]] = False
        places[rows] = count + np.arange(rows.size)
        count += rows.size
        parts.append(alignments)
        drops.append(found)
    alignments = PieceAlignments.joined(parts).take(places)
    return AlignedPieces(planned, alignments, np.concatenate(drops)[places])


def no_alignment() -> PieceAlignments:
    """Return the alignments of one piece that is not aligned."""
    zero, missing = np.zeros(1, dtype=np.int32), np.full(1, -1, dtype=np.int32)
    return PieceAlignments(
        scores=np.full(1, UNREACHED, dtype=np.int32),
        max_scores=zero,
        max_targets=missing,
        max_queries=missing,
        query_end_targets=missing,
        reaches_end=zero.astype(np.uint8),
        is_dropped=zero.astype(np.uint8),
        operations=np.empty(0, dtype=np.uint32),
        offsets=np.zeros(2, dtype=np.int64),
    )


class PieceSteps(NamedTuple):
    """Steps in which the pieces of mappings are aligned.

    Attributes
    ----------
    steps
        int64[p]: step of each piece, from 0 on.
    plans
        int64[p]: row of the plan that each piece belongs to.
    """

    steps: NDArray[np.int64]
    plans: NDArray[np.int64]


def piece_steps(plans: NDArray[np.void], pieces: int) -> PieceSteps:
    """Return the steps of pieces: the first fills of each mapping, then twice as many, and so on.

    After a drop, the remaining fills are not needed. The left extension is aligned with the first
    fills, the right one with the last.

    Parameters
    ----------
    plans
        `PLAN`[m]: plans of the mappings.
    pieces
        Number of their pieces.
    """
    steps, owners = np.zeros((2, pieces), dtype=np.int64)
    numbers = np.arange(plans.size)
    fills = plans["fills"].astype(np.int64)
    positions = np.arange(fills.sum()) - np.repeat(np.cumsum(fills) - fills, fills)
    rows = np.repeat(plans["first_fill"], fills) + positions
    owners[rows] = np.repeat(numbers, fills)
    steps[rows] = _step_of(positions)
    for side in ("left", "right"):
        has_side = plans[side] >= 0
        owners[plans[side][has_side]] = numbers[has_side]
    has_right = plans["right"] >= 0
    steps[plans["right"][has_right]] = _step_of((fills - 1).clip(0))[has_right]
    return PieceSteps(steps, owners)


def _step_of(fills: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the steps of the fills with these numbers in their mappings."""
    return np.frexp(fills // _FIRST_FILLS + 1)[1].astype(np.int64) - 1


class AlignStages(NamedTuple):
    """Functions of the stages whose time counts, in their order; see the functions of the CPU."""

    plan_pieces: Callable[
        [
            NDArray[np.void],
            NDArray[np.int64],
            MappedAnchors,
            SequenceCodes,
            AlignScoring,
            AlignParameters,
        ],
        PlannedPieces,
    ]
    align_pieces: Callable[[Pieces, SequenceCodes, AlignScoring, AlignParameters], PieceAlignments]
    find_drops: Callable[
        [Pieces, PieceAlignments, SequenceCodes, AlignScoring, AlignParameters], NDArray[np.uint8]
    ]
    assemble: Callable[
        [NDArray[np.void], AlignedPieces, MappedAnchors, NDArray[np.int32], AlignParameters, int],
        Assembly,
    ]
    finish_alignments: Callable[
        [NDArray[np.void], NDArray[np.int64], NDArray[np.uint32], SequenceCodes, AlignScoring], None
    ]
    rank: Callable[
        [
            AlignedMappings,
            NDArray[np.int32],
            NDArray[np.int32],
            MappingOptions,
            AlignScoring,
            AlignParameters,
        ],
        AlignedMappings,
    ]


CPU_STAGES: Final = AlignStages(
    plan_pieces, align_pieces, find_drops, assemble, finish_alignments, rank
)


@dataclass(frozen=True, slots=True)
class MappingAligner:
    """Aligner of the mappings of reads with base-level dynamic programming.

    Attributes
    ----------
    targets
        Bases of the reference.
    options
        Options for mappings.
    scoring, parameters
        Scores and other parameters.
    stages
        The stages.
    """

    targets: TargetCodes
    options: MappingOptions
    scoring: AlignScoring
    parameters: AlignParameters
    stages: AlignStages = CPU_STAGES

    def __call__(
        self,
        mappings: Mappings,
        chains: Chains,
        mapped_chains: NDArray[np.int32],
        name_hashes: NDArray[np.uint32],
        reads: ReadCodes,
    ) -> AlignedMappings:
        """Return the aligned mappings of n reads, in the order of their lines.

        Parameters
        ----------
        mappings
            Mappings of the reads, as of `chained_mappings`.
        chains
            Chains of the reads.
        mapped_chains
            int32[r]: chain of each mapping.
        name_hashes
            uint32[n]: result of `mappings.mappings.name_hashes`.
        reads
            Bases of the reads.
        """
        rows, offsets, _ = reported_rows(mappings)
        started, anchors = start_mappings(
            mappings, rows, offsets, chains, mapped_chains, name_hashes
        )
        return self.stages.rank(
            self.align(started, anchors, reads),
            reads.lengths,
            mappings.repeat_lengths,
            self.options,
            self.scoring,
            self.parameters,
        )

    def align(
        self, mappings: NDArray[np.void], anchors: MappedAnchors, reads: ReadCodes
    ) -> AlignedMappings:
        """Align the mappings of n reads, round by round, and the inversions between their parts.

        Parameters
        ----------
        mappings
            `MAPPING`[r]: mappings of the chains, sorted by read; those of a read in order, and
            linked by `next`.
        anchors
            Their anchors; `y` gets flags in place.
        reads
            Bases of the reads.

        Returns
        -------
        AlignedMappings
            With the second parts of split mappings, and inversions, after the first parts.
            Without an alignment, a mapping has no operations.
        """
        stages, scoring, parameters = self.stages, self.scoring, self.parameters
        sequences = SequenceCodes.of(reads, self.targets)
        initial, mappings = mappings.size, mappings.copy()
        parts = [np.empty(0, dtype=np.uint32)]
        start = count = 0
        while start < mappings.size:
            rows, start = np.arange(start, mappings.size), mappings.size
            planned = stages.plan_pieces(mappings, rows, anchors, sequences, scoring, parameters)
            aligned = align_in_steps(planned, lambda pieces: self._align_tested(pieces, sequences))
            mappings, operations = stages.assemble(
                mappings, aligned, anchors, reads.lengths, parameters, count
            )
            parts.append(operations)
            count += operations.size
        operations = np.concatenate(parts)
        stages.finish_alignments(mappings, np.arange(start), operations, sequences, scoring)
        stretches = find_stretches(mappings, sequences, scoring, parameters)
        if stretches.left.size:
            inverted = stages.align_pieces(stretches.pieces, sequences, scoring, parameters)
            mappings = insert_inversions(mappings, stretches, inverted, sequences, count)
            operations = np.concatenate([operations, inverted.operations])
            rows = np.arange(start, mappings.size)
            stages.finish_alignments(mappings, rows, operations, sequences, scoring)
        return in_order(mappings, initial, operations, reads.lengths.size)

    def _align_tested(
        self, pieces: Pieces, sequences: SequenceCodes
    ) -> tuple[PieceAlignments, NDArray[np.uint8]]:
        """Align and test pieces; align fills with a drop again."""
        stages, scoring, parameters = self.stages, self.scoring, self.parameters
        alignments = stages.align_pieces(pieces, sequences, scoring, parameters)
        drops = stages.find_drops(pieces, alignments, sequences, scoring, parameters)
        dropped = np.flatnonzero(drops != NO_DROP)
        if dropped.size:
            is_inversion = drops[dropped] == INVERSION_DROP
            limits = np.where(is_inversion, parameters.inversion_drop, parameters.drop)
            again = pieces.take(dropped)._replace(
                kinds=np.full(dropped.size, REFILL, dtype=np.uint8), drops=limits.astype(np.int32)
            )
            rows = np.arange(drops.size)
            rows[dropped] = drops.size + np.arange(dropped.size)
            second = stages.align_pieces(again, sequences, scoring, parameters)
            alignments = PieceAlignments.joined([alignments, second]).take(rows)
        return alignments, drops

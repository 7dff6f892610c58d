"""New alignments with the reference of the reads of a batch, through their best haplotypes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch, ReadBatch
from hapgpu.arrays.ragged import offsets_of
from hapgpu.cigar.clips import clips_of, with_hard_clips
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.haplotypes.pairing.extended_haplotypes import Extender
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.moves.alignment_costs import (
    INCOMPARABLE,
    NO_REFERENCE,
    alignment_costs,
)
from hapgpu.realign.moves.movable_reads import BestPairs, MovableReads, PairScores
from hapgpu.realign.moves.moves import Moves, name_hashes
from hapgpu.realign.projection.clip_ends import are_same_alignments, clip_end_insertions
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.projection.project import Projections, project_alignments
from hapgpu.realign.queries.clip_variants import ClipVariants
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.scoring import Overhang
from hapgpu.realign.selection.by_likelihood import INFORMATIVE
from hapgpu.realign.selection.by_score import BestBy, first_of_best, second_scores
from hapgpu.realign.selection.extended_likelihoods import ExtendedLikelihoods
from hapgpu.runtime.devices import Device

_UNMAPPED: Final = 4
MISMATCHES_PER_DIFFERENCE: Final = 2
"""Mismatches that a new alignment must save per added difference."""

MAX_ADDED_DIFFERENCES: Final = 5
"""Differences by which a new alignment may have more than the old one."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Moves of the reads of a batch, and counts of reads."""

    moves: Moves
    counts: Mapping[str, int]


class Mover:
    """Realigns batches of mapped reads on one device; threads must not share an object.

    Parameters
    ----------
    placement
        The haplotypes and their alignments with the reference.
    header
        The header of the input.
    options
        Options of the realignment.
    device
        The device that computes.
    source
        Name of the input, for errors.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """

    def __init__(
        self,
        placement: Placement,
        header: SamHeader,
        options: RealignOptions,
        device: Device,
        source: str,
    ) -> None:
        self._placement = placement
        self._options = options
        self._device = device
        self._source = source
        self._finder = PairFinder(placement.haplotypes, header, source)
        self._extender = Extender(placement.haplotypes, placement.reference, header)
        self._likelihoods = ExtendedLikelihoods(device, source)

    def __call__(self, reads: ReadBatch) -> Moved:
        """Find the moves of a batch.

        Raises
        ------
        InputError
            A record is damaged, or a read lacks qualities that the likelihoods need.
        """
        excluded = self._options.exclude_flags | _UNMAPPED
        is_used = reads.has_flags(self._options.require_flags, excluded) & (reads.positions >= 0)
        without_bases = is_used & (reads.bases.lengths == 0)
        is_aligned = is_used & ~without_bases & (reads.cigars.lengths > 0)
        pairs = self._finder.find(reads).without(~is_aligned)
        moves = self._moves(self._movable_reads(reads, pairs)) if len(pairs) else None
        counts = {
            "reads": len(reads),
            "without_bases": int(without_bases.sum()),
            "at_loci": int((pairs.counts > 0).sum()),
            "realigned": len(moves) if moves else 0,
        }
        return Moved(moves or Moves.none(), counts)

    def _movable_reads(self, reads: ReadBatch, pairs: ReadHaplotypePairs) -> MovableReads:
        """Extend the haplotypes to the reads, and exclude reads that cannot move.

        These are reads without differences from the reference, which no haplotype can explain
        better, and spliced or padded alignments.
        """
        clips = clips_of(reads, self._source)
        needed = self._extender.flanks_needed(reads, clips, pairs.reads, pairs.haplotypes)
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        has_any = pairs.counts > 0
        windows = np.full(len(reads), NO_REFERENCE, dtype=np.int32)
        windows[has_any] = extended.windows[rows[pairs.offsets[:-1][has_any]]]
        old = alignment_costs(
            reads.bases,
            reads.cigars,
            reads.positions - extended.reference_starts[windows],
            extended.references,
            windows,
            self._options.scoring,
        )
        too_low = INCOMPARABLE if self._options.always else 0
        all_reads = MovableReads(reads, clips, pairs, rows, extended, old)
        return all_reads.take(old.costs > too_low)

    def _moves(self, movable: MovableReads) -> Moves:
        bases = movable.reads.bases
        if not len(bases):
            return Moves.none()
        if self._options.always:
            variants = ClipVariants.whole(bases)
        else:
            variants = ClipVariants.of(bases, movable.clips)
        scored = self._scored(movable, variants)
        if not self._options.always:
            scores_better = self._scores_better(movable, scored)
            if not scores_better.any():
                return Moves.none()
            movable, scored = movable.take(scores_better), scored.take(scores_better)
        best = self._best(movable, scored, variants)
        pairs = PairBatch(
            movable.extended.sequences, variants.bases, best.rows, best.variants.astype(np.int32)
        )
        alignments = align_pairs(pairs, self._options.scoring, Overhang.SOFTCLIP, self._device)
        projections = self._projected(movable, variants, best, alignments)
        is_moved = self._is_moved(movable, best, alignments, projections)
        return _moves_of(movable, best, alignments.scores, projections, is_moved)

    def _scored(self, movable: MovableReads, variants: ClipVariants) -> PairScores:
        """Score each pair with all clip variants of its read; keep the first of the best."""
        reads = movable.pairs.reads
        counts = np.diff(variants.offsets)[reads]
        with_variants = ReadHaplotypePairs(offsets_of(counts), np.repeat(movable.rows, counts))
        first = np.repeat(variants.offsets[reads] - with_variants.offsets[:-1], counts)
        variant = np.arange(len(with_variants)) + first
        batch = PairBatch(
            movable.extended.sequences,
            variants.bases,
            with_variants.haplotypes,
            variant.astype(np.int32),
        )
        scores = score_pairs(batch, self._options.scoring, Overhang.SOFTCLIP, self._device)
        best = first_of_best(with_variants, scores)
        return PairScores(movable.pairs.counts, scores[best], variant[best])

    def _scores_better(self, movable: MovableReads, scored: PairScores) -> NDArray[np.bool_]:
        """Return bool[n]: whether a haplotype scores higher than the old alignment."""
        best = np.maximum.reduceat(scored.scores, movable.pairs.offsets[:-1])
        perfect = self._options.scoring.match * movable.reads.bases.lengths
        result: NDArray[np.bool_] = (best > movable.old.scores) & (
            best >= self._options.min_score * perfect
        )
        return result

    def _best(self, movable: MovableReads, scored: PairScores, variants: ClipVariants) -> BestPairs:
        """Choose the best haplotype of each read, the first of equals."""
        pairs = movable.pairs
        best = first_of_best(pairs, scored.scores)
        variant = scored.variants[best]
        if self._options.best_by is BestBy.LIKELIHOOD:
            # All haplotypes are compared with the clip variant of the best score.
            clips = variants.leading[variant], variants.trailing[variant]
            best = likeliest_pairs(movable, clips, self._likelihoods)
        seconds = second_scores(pairs, scored.scores, best)
        return BestPairs(movable.rows[best], variant, seconds)

    def _projected(
        self,
        movable: MovableReads,
        variants: ClipVariants,
        best: BestPairs,
        alignments: AlignmentBatch,
    ) -> Projections:
        """Project alignments onto the reference, and add their clips."""
        projections = project_alignments(
            variants.bases.take(best.variants),
            alignments,
            best.rows,
            self._placement.place(movable.extended),
            variants.leading[best.variants],
            variants.trailing[best.variants],
            clip_ends=not self._options.always,
        )
        cigars, positions = projections.cigars, projections.positions
        if not self._options.always:
            cigars, positions = clip_end_insertions(cigars, positions)
        hard = movable.clips.leading_hard, movable.clips.trailing_hard
        return Projections(positions, with_hard_clips(cigars, *hard), projections.ok)

    def _is_moved(
        self,
        movable: MovableReads,
        best: BestPairs,
        alignments: AlignmentBatch,
        projections: Projections,
    ) -> NDArray[np.bool_]:
        """Return bool[n]: whether the new alignment is better than the old one.

        If the new alignment differs more from the reference, its score must be higher in
        proportion.
        """
        options, reads, old = self._options, movable.reads, movable.old
        perfect = options.scoring.match * reads.bases.lengths
        is_moved = projections.ok & (alignments.scores >= options.min_score * perfect)
        is_moved &= ~are_same_alignments(
            reads.cigars,
            reads.positions,
            projections.cigars,
            projections.positions.astype(np.int32),
        )
        if options.always:
            return is_moved
        extended = movable.extended
        windows = extended.windows[best.rows]
        new = alignment_costs(
            reads.bases,
            projections.cigars,
            projections.positions - extended.reference_starts[windows],
            extended.references,
            windows,
            options.scoring,
        )
        gains = alignments.scores - old.scores
        added = new.costs - old.costs
        min_gain = MISMATCHES_PER_DIFFERENCE * (options.scoring.match - options.scoring.mismatch)
        is_better = (gains > 0) & (gains >= min_gain * added) & (added <= MAX_ADDED_DIFFERENCES)
        result: NDArray[np.bool_] = is_moved & is_better & (new.costs != INCOMPARABLE)
        return result


def likeliest_pairs(
    movable: MovableReads,
    clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    likelihoods_of: ExtendedLikelihoods,
) -> NDArray[np.int64]:
    """Return int64[n]: the first pair of each read with the highest likelihood.

    `clips` are int32[n] each: bases at the start and at the end that are not used. Reads with
    one pair need no likelihood.

    Raises
    ------
    InputError
        A read lacks qualities that the likelihoods need.
    """
    pairs = movable.pairs
    has_several = pairs.counts > 1
    is_computed = np.repeat(has_several, pairs.counts)
    likelihoods = np.zeros(len(pairs), dtype=np.float64)
    if is_computed.any():
        leading, trailing = clips
        likelihoods[is_computed] = likelihoods_of(
            movable.reads.take(has_several),
            pairs.without(~has_several).of_reads_with_any(),
            movable.rows[is_computed],
            movable.extended,
            (leading[has_several], trailing[has_several]),
        )
    return first_of_best(pairs, likelihoods, INFORMATIVE)


def _moves_of(
    movable: MovableReads,
    best: BestPairs,
    scores: NDArray[np.int32],
    projections: Projections,
    is_moved: NDArray[np.bool_],
) -> Moves:
    rows = np.flatnonzero(is_moved)
    reads, extended = movable.reads.take(rows), movable.extended
    windows = extended.windows[best.rows[rows]]
    cigars = projections.cigars.take(rows)
    positions = projections.positions[rows]
    distances, mismatches = mismatch_tags(
        reads.bases,
        cigars,
        (positions - extended.reference_starts[windows]).astype(np.int32),
        extended.references,
        windows,
    )
    return Moves(
        name_hashes(reads.names),
        reads.flags,
        reads.reference_ids,
        reads.positions,
        (reads.positions + reference_lengths(reads.cigars)).astype(np.int32),
        positions.astype(np.int32),
        (positions + reference_lengths(cigars)).astype(np.int32),
        scores[rows],
        best.second_scores[rows],
        distances,
        mismatches,
        cigars,
    )

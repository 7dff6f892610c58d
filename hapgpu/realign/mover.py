"""Which reads of a batch get a new alignment with the reference, through their best haplotypes."""

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
_PRICE: Final = 2  # mismatches that a further difference has to explain
_MAX_GROWTH: Final = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """Moves of the reads of a batch, and numbers of reads by what became of them."""

    moves: Moves
    counts: Mapping[str, int]


class Mover:
    """Realigns batches of mapped reads on one device; not to be shared between threads.

    Parameters
    ----------
    placement
        The haplotypes, and how they lie on the reference.
    header
        The header of the input.
    options
        What the user chose.
    device
        Where to compute.
    source
        Name of the input, for errors.

    Raises
    ------
    InputError
        A locus lies on a contig that the header does not have.
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
            A record is damaged, or a read that has to choose by likelihood lacks qualities.
        """
        excluded = self._options.exclude_flags | _UNMAPPED
        chosen = reads.has_flags(self._options.require_flags, excluded) & (reads.positions >= 0)
        without_bases = chosen & (reads.bases.lengths == 0)
        usable = chosen & ~without_bases & (reads.cigars.lengths > 0)
        candidates = self._finder.find(reads).without(~usable)
        moves = self._moves(self._contenders(reads, candidates)) if len(candidates) else None
        counts = {
            "reads": len(reads),
            "without_bases": int(without_bases.sum()),
            "at_loci": int((candidates.counts > 0).sum()),
            "realigned": len(moves) if moves else 0,
        }
        return Moved(moves or Moves.none(), counts)

    def _contenders(self, reads: ReadBatch, candidates: ReadHaplotypePairs) -> MovableReads:
        """Extend the haplotypes to the reads, and leave out reads that cannot move.

        Those are reads that fit the reference without any difference, as none can fit better, and
        spliced or padded alignments.
        """
        clips = clips_of(reads, self._source)
        needed = self._extender.flanks_needed(reads, clips, candidates.reads, candidates.haplotypes)
        extended, rows = self._extender.extend(candidates.haplotypes, needed)
        has_any = candidates.counts > 0
        windows = np.full(len(reads), NO_REFERENCE, dtype=np.int32)
        windows[has_any] = extended.windows[rows[candidates.offsets[:-1][has_any]]]
        old = alignment_costs(
            reads.bases,
            reads.cigars,
            reads.positions - extended.reference_starts[windows],
            extended.references,
            windows,
            self._options.scoring,
        )
        least = INCOMPARABLE if self._options.always else 0
        everyone = MovableReads(reads, clips, candidates, rows, extended, old)
        return everyone.take(old.costs > least)

    def _moves(self, contenders: MovableReads) -> Moves:
        bases = contenders.reads.bases
        if not len(bases):
            return Moves.none()
        if self._options.always:
            variants = ClipVariants.whole(bases)
        else:
            variants = ClipVariants.of(bases, contenders.clips)
        scored = self._scored(contenders, variants)
        if not self._options.always:
            promising = self._promising(contenders, scored)
            if not promising.any():
                return Moves.none()
            contenders, scored = contenders.take(promising), scored.take(promising)
        best = self._best(contenders, scored, variants)
        pairs = PairBatch(
            contenders.extended.sequences, variants.bases, best.rows, best.variants.astype(np.int32)
        )
        alignments = align_pairs(pairs, self._options.scoring, Overhang.SOFTCLIP, self._device)
        projections = self._projected(contenders, variants, best, alignments)
        moving = self._moving(contenders, best, alignments, projections)
        return _moves_of(contenders, best, alignments.scores, projections, moving)

    def _scored(self, contenders: MovableReads, variants: ClipVariants) -> PairScores:
        """Score all candidates with all variants of their reads; the first of the best counts."""
        reads = contenders.candidates.reads
        tried = np.diff(variants.offsets)[reads]
        options = ReadHaplotypePairs(offsets_of(tried), np.repeat(contenders.rows, tried))
        first = np.repeat(variants.offsets[reads] - options.offsets[:-1], tried)
        option_variants = np.arange(len(options)) + first
        pairs = PairBatch(
            contenders.extended.sequences,
            variants.bases,
            options.haplotypes,
            option_variants.astype(np.int32),
        )
        scores = score_pairs(pairs, self._options.scoring, Overhang.SOFTCLIP, self._device)
        best = first_of_best(options, scores)
        return PairScores(contenders.candidates.counts, scores[best], option_variants[best])

    def _promising(self, contenders: MovableReads, scored: PairScores) -> NDArray[np.bool_]:
        """bool[n]: which reads some haplotype explains better than the old alignment does."""
        best = np.maximum.reduceat(scored.scores, contenders.candidates.offsets[:-1])
        perfect = self._options.scoring.match * contenders.reads.bases.lengths
        result: NDArray[np.bool_] = (best > contenders.old.scores) & (
            best >= self._options.min_score * perfect
        )
        return result

    def _best(
        self, contenders: MovableReads, scored: PairScores, variants: ClipVariants
    ) -> BestPairs:
        """Choose the haplotype of each read, the first of equally good ones."""
        candidates = contenders.candidates
        best = first_of_best(candidates, scored.scores)
        chosen = scored.variants[best]
        if self._options.best_by is BestBy.LIKELIHOOD:
            # All haplotypes are weighed by the bases that the best by score explains.
            clips = variants.leading[chosen], variants.trailing[chosen]
            best = self._likeliest(contenders, clips)
        seconds = second_scores(candidates, scored.scores, best)
        return BestPairs(contenders.rows[best], chosen, seconds)

    def _likeliest(
        self, contenders: MovableReads, clips: tuple[NDArray[np.int32], NDArray[np.int32]]
    ) -> NDArray[np.int64]:
        """int64[n]: the first of the likeliest candidates; a read with only one needs no weighing.

        `clips` are int32[n] each: bases at the start and at the end that are not weighed.
        """
        candidates = contenders.candidates
        has_choice = candidates.counts > 1
        weighed = np.repeat(has_choice, candidates.counts)
        likelihoods = np.zeros(len(candidates), dtype=np.float64)
        if weighed.any():
            leading, trailing = clips
            likelihoods[weighed] = self._likelihoods(
                contenders.reads.take(has_choice),
                candidates.without(~has_choice).of_reads_with_any(),
                contenders.rows[weighed],
                contenders.extended,
                (leading[has_choice], trailing[has_choice]),
            )
        return first_of_best(candidates, likelihoods, INFORMATIVE)

    def _projected(
        self,
        contenders: MovableReads,
        variants: ClipVariants,
        best: BestPairs,
        alignments: AlignmentBatch,
    ) -> Projections:
        """Carry alignments over to the reference, between their clips."""
        projections = project_alignments(
            variants.bases.take(best.variants),
            alignments,
            best.rows,
            self._placement.place(contenders.extended),
            variants.leading[best.variants],
            variants.trailing[best.variants],
            clip_ends=not self._options.always,
        )
        cigars, positions = projections.cigars, projections.positions
        if not self._options.always:
            cigars, positions = clip_end_insertions(cigars, positions)
        hard = contenders.clips.leading_hard, contenders.clips.trailing_hard
        return Projections(positions, with_hard_clips(cigars, *hard), projections.ok)

    def _moving(
        self,
        contenders: MovableReads,
        best: BestPairs,
        alignments: AlignmentBatch,
        projections: Projections,
    ) -> NDArray[np.bool_]:
        """bool[n]: which reads the new alignment explains better than the old one did.

        Where it differs from the reference by more than the old one, it has to explain that much
        better.
        """
        options, reads, old = self._options, contenders.reads, contenders.old
        perfect = options.scoring.match * reads.bases.lengths
        moving = projections.ok & (alignments.scores >= options.min_score * perfect)
        moving &= ~are_same_alignments(
            reads.cigars,
            reads.positions,
            projections.cigars,
            projections.positions.astype(np.int32),
        )
        if options.always:
            return moving
        extended = contenders.extended
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
        growth = new.costs - old.costs
        price = _PRICE * (options.scoring.match - options.scoring.mismatch)
        better = (gains > 0) & (gains >= price * growth) & (growth <= _MAX_GROWTH)
        result: NDArray[np.bool_] = moving & better & (new.costs != INCOMPARABLE)
        return result


def _moves_of(
    contenders: MovableReads,
    best: BestPairs,
    scores: NDArray[np.int32],
    projections: Projections,
    moving: NDArray[np.bool_],
) -> Moves:
    rows = np.flatnonzero(moving)
    reads, extended = contenders.reads.take(rows), contenders.extended
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

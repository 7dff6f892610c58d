"""New alignments with the reference of the reads of a batch, through their best haplotypes.

The stages are the same on the CPU and on a GPU; `hapgpu.realign.cpu` and `hapgpu.realign.cuda`
have their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Generic, Protocol, Self, TypeVar

import numpy as np

from hapgpu.arrays.kinds import AnyArray, ArrayKind, Rows
from hapgpu.cigar.clips import Clips
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.options import BestBy
from hapgpu.realign.projection.alignment_costs import INCOMPARABLE, AlignmentCosts
from hapgpu.realign.projection.moves import Moves
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.projection.project import Projections
from hapgpu.realign.realigner import Alignments, Reads, RealignOptions
from hapgpu.realign.selection.choice import Pairs, Reads_contra
from hapgpu.realign.selection.queries import ClipVariants
from hapgpu.runtime.output import Output

MISMATCHES_PER_DIFFERENCE: Final = 2
"""Mismatches that a new alignment must save per added difference."""

MAX_ADDED_DIFFERENCES: Final = 5
"""Differences by which a new alignment may have more than the old one."""


@dataclass(frozen=True, slots=True)
class MoveTask:
    """What a worker needs to find the moves of a run.

    Attributes
    ----------
    placement
        The haplotypes and their alignments with the reference.
    header
        The header of the input.
    options
        Options of the realignment.
    source
        Name of the input, for errors.
    """

    placement: Placement
    header: SamHeader
    options: RealignOptions
    source: str


class AnyAligned(Protocol):
    """Mapped reads: `ReadBatch`, or `AlignedRecords` on a GPU."""

    def __len__(self) -> int: ...

    def take(self, rows: AnyArray, /) -> Self:
        """Gather reads by their numbers, `rows`, int64[k]."""
        ...


class AnyExtended(Protocol):
    """Haplotypes with flanks: `ExtendedHaplotypes`, or `DeviceExtended`."""

    @property
    def windows(self) -> AnyArray:
        """int32, the reference interval of each haplotype."""
        ...


Found = TypeVar("Found")
Aligned = TypeVar("Aligned", bound=AnyAligned)
Extended = TypeVar("Extended", bound=AnyExtended)


@dataclass(frozen=True, slots=True)
class MovableReads(Generic[Aligned, Pairs, Extended]):
    """n reads that may move.

    Attributes
    ----------
    reads
        The reads.
    clips
        The clips of their old CIGARs.
    pairs
        Their haplotypes, which are rows of `extended`.
    extended
        The haplotypes, extended by flanks.
    old
        The costs of their old alignments.
    """

    reads: Aligned
    clips: Clips
    pairs: Pairs
    extended: Extended
    old: AlignmentCosts


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of p pairs.

    Attributes
    ----------
    scores
        int32[p].
    variants
        int64[p]: the clip variants that have them.
    """

    scores: AnyArray
    variants: AnyArray


@dataclass(frozen=True, slots=True)
class BestPairs:
    """The best haplotypes of n reads.

    Attributes
    ----------
    rows
        int32[n]: rows of the extended haplotypes.
    variants
        int64[n]: the clip variants.
    second_scores
        int32[n]: the second-best scores.
    """

    rows: AnyArray
    variants: AnyArray
    second_scores: AnyArray


class MoverStages(Protocol[Reads_contra, Found, Aligned, Pairs, Extended, Alignments, Rows]):
    """Stages of the search for moves on one device."""

    @property
    def arrays(self) -> ArrayKind[Rows]:
        """The functions on the device's arrays."""
        ...

    def pairs(self, offsets: AnyArray, haplotypes: AnyArray, /) -> Pairs:
        """Make pairs of their columns, `offsets`, int64[n + 1], and `haplotypes`, int32[p]."""
        ...

    def find(self, reads: Reads_contra, required: int, excluded: int, /) -> tuple[Found, int, int]:
        """Find the aligned reads with these flags at loci.

        Returns
        -------
        The reads, the number of used reads without bases, and the number of reads found.
        """
        ...

    def in_parts(self, found: Found, compute: Callable[[Found], Moves], /) -> Iterator[Moves]:
        """Compute with reads in parts that fit the memory, in order."""
        ...

    def aligned(self, found: Found, /) -> tuple[Aligned, Pairs]:
        """Return reads and their haplotypes."""
        ...

    def clips(self, reads: Aligned, /) -> Clips:
        """Return the clips of the reads."""
        ...

    def extend(self, reads: Aligned, clips: Clips, pairs: Pairs, /) -> tuple[Extended, Pairs]:
        """Extend the haplotypes to the reads; return pairs with rows of the result."""
        ...

    def windows(self, extended: Extended, pairs: Pairs, /) -> AnyArray:
        """Return int32[n]: the interval of the reference of each read, `NO_REFERENCE` for none."""
        ...

    def rows(self, reads: Aligned, /) -> tuple[Rows, Rows]:
        """Return the bases, with soft clips, and the old CIGARs of the reads."""
        ...

    def old_positions(self, reads: Aligned, /) -> AnyArray:
        """Return int32[n]: the old positions of the reads."""
        ...

    def costs(
        self,
        reads: Aligned,
        cigars: Rows,
        positions: AnyArray,
        extended: Extended,
        windows: AnyArray,
        /,
    ) -> AlignmentCosts:
        """Return the scores and costs of alignments of the reads with intervals.

        `positions` are [n] of any integer dtype; `windows`, int32[n], are the intervals.
        """
        ...

    def score(
        self,
        targets: Extended,
        queries: ClipVariants[Rows],
        haplotypes: AnyArray,
        rows: AnyArray,
        /,
    ) -> AnyArray:
        """Return int32[k]: scores of `haplotypes`, int32[k], with variants, `rows`, int64[k]."""
        ...

    def align(
        self,
        targets: Extended,
        queries: ClipVariants[Rows],
        haplotypes: AnyArray,
        rows: AnyArray,
        /,
    ) -> Alignments:
        """Align `haplotypes`, int32[k], with variants, `rows`, int64[k]."""
        ...

    def first_of_best(self, pairs: Pairs, scores: AnyArray, /) -> AnyArray:
        """Return int64[n]: each read's first pair with the highest of `scores`, int32[p]."""
        ...

    def best_by_score(self, pairs: Pairs, scores: AnyArray, /) -> tuple[AnyArray, AnyArray]:
        """As `ChoiceStages.best_by_score`."""
        ...

    def best_by_likelihood(
        self, pairs: Pairs, likelihoods: AnyArray, scores: AnyArray, /
    ) -> tuple[AnyArray, AnyArray]:
        """As `ChoiceStages.best_by_likelihood`."""
        ...

    def extended_likelihoods(
        self,
        reads: Aligned,
        rows: AnyArray,
        pairs: Pairs,
        extended: Extended,
        clips: tuple[AnyArray, AnyArray],
        /,
    ) -> AnyArray:
        """Return float64[p]: log10 P(read | haplotype) of the pairs of k reads.

        `rows` are int64[k]; `clips` are int32[k] each, leading and trailing bases to ignore.
        """
        ...

    def project(
        self,
        variants: ClipVariants[Rows],
        best: BestPairs,
        alignments: Alignments,
        extended: Extended,
        clip_ends: bool,  # noqa: FBT001  (positional, as all arguments of stages)
        /,
    ) -> Projections[Rows]:
        """Project alignments with haplotypes onto the reference."""
        ...

    def clip_end_insertions(self, cigars: Rows, positions: AnyArray, /) -> tuple[Rows, AnyArray]:
        """Turn insertions at the ends into soft clips, and remove deletions next to them.

        Return uint32 CIGARs in BAM encoding and int64[n] positions, as `positions`, int64[n].
        """
        ...

    def with_hard_clips(self, cigars: Rows, leading: AnyArray, trailing: AnyArray, /) -> Rows:
        """Add hard clips of `leading` and `trailing`, int32[n], bases."""
        ...

    def are_same_alignments(
        self, one: Rows, one_positions: AnyArray, other: Rows, other_positions: AnyArray, /
    ) -> AnyArray:
        """Return bool[n]: whether all bases have equal positions.

        `one_positions` and `other_positions` are int32[n].
        """
        ...

    def moves(
        self,
        movable: MovableReads[Aligned, Pairs, Extended],
        rows: AnyArray,
        best: BestPairs,
        scores: AnyArray,
        projections: Projections[Rows],
        /,
    ) -> Moves:
        """Return moves of reads, `rows`, int64[k], in host memory; `scores`, int32[n], are new."""
        ...


class Mover(Generic[Reads, Found, Aligned, Pairs, Extended, Alignments, Rows]):
    """Realigns batches of mapped reads on one device; threads must not share an object.

    Parameters
    ----------
    stages
        The stages on the device, with the haplotypes.
    options
        Options of the realignment.
    """

    def __init__(
        self,
        stages: MoverStages[Reads, Found, Aligned, Pairs, Extended, Alignments, Rows],
        options: RealignOptions,
    ) -> None:
        self._stages = stages
        self._options = options

    def __call__(self, reads: Reads) -> Output[Moves]:
        """Find the moves of a batch.

        Raises
        ------
        InputError
            A record or the reference is damaged, or a read lacks qualities that the likelihoods
            need.
        MemoryError
            A single read does not fit the memory of the GPU.
        """
        options = self._options
        flags = options.require_flags, options.exclude_flags | UNMAPPED
        found, without_bases, at_loci = self._stages.find(reads, *flags)
        moves = list(self._stages.in_parts(found, self._moves))
        counts = {
            "reads": len(reads),
            "without_bases": without_bases,
            "at_loci": at_loci,
            "realigned": sum(map(len, moves)),
        }
        return Output(Moves.concatenate([*moves, Moves.none()]), counts, len(reads))

    def _moves(self, found: Found) -> Moves:
        stages, always = self._stages, self._options.always
        movable = self._movable(found)
        if not len(movable.reads):
            return Moves.none()
        bases, _ = stages.rows(movable.reads)
        if always:
            variants = ClipVariants.whole(bases, stages.arrays)
        else:
            variants = ClipVariants.of(bases, movable.clips, stages.arrays)
        scored = self._scored(movable, variants)
        if not always:
            is_better = self._scores_better(movable, scored)
            if not is_better.any():
                return Moves.none()
            kept = is_better[movable.pairs.reads]
            scored = PairScores(scored.scores[kept], scored.variants[kept])
            movable = self._taken(movable, is_better)
        best = self._best(movable, scored, variants)
        alignments = stages.align(movable.extended, variants, best.rows, best.variants)
        projections = self._projected(movable, variants, best, alignments)
        is_moved = self._is_moved(movable, best, alignments, projections)
        rows = stages.arrays.module.flatnonzero(is_moved)
        return stages.moves(movable, rows, best, alignments.scores, projections)

    def _movable(self, found: Found) -> MovableReads[Aligned, Pairs, Extended]:
        """Extend the haplotypes to the reads, and exclude reads that cannot move.

        These are reads without differences from the reference, which no haplotype can explain
        better, and spliced or padded alignments.
        """
        stages = self._stages
        reads, pairs = stages.aligned(found)
        clips = stages.clips(reads)
        extended, pairs = stages.extend(reads, clips, pairs)
        windows = stages.windows(extended, pairs)
        _, cigars = stages.rows(reads)
        old = stages.costs(reads, cigars, stages.old_positions(reads), extended, windows)
        too_low = INCOMPARABLE if self._options.always else 0
        return self._taken(MovableReads(reads, clips, pairs, extended, old), old.costs > too_low)

    def _taken(
        self, movable: MovableReads[Aligned, Pairs, Extended], mask: AnyArray
    ) -> MovableReads[Aligned, Pairs, Extended]:
        """Keep the reads of a mask, bool[n]."""
        rows = self._stages.arrays.module.flatnonzero(mask)
        return MovableReads(
            movable.reads.take(rows),
            movable.clips.take(rows),
            self._pairs_of(movable.pairs, mask),
            movable.extended,
            AlignmentCosts(*(column[rows] for column in movable.old)),
        )

    def _pairs_of(self, pairs: Pairs, mask: AnyArray) -> Pairs:
        """Keep the pairs of the reads of a mask, bool[n], and renumber the reads."""
        offsets = self._stages.arrays.offsets_of(pairs.counts[mask])
        return self._stages.pairs(offsets, pairs.haplotypes[mask[pairs.reads]])

    def _scored(
        self, movable: MovableReads[Aligned, Pairs, Extended], variants: ClipVariants[Rows]
    ) -> PairScores:
        """Score each pair with all clip variants of its read; keep the first of the best."""
        stages, arrays, pairs = self._stages, self._stages.arrays, movable.pairs
        reads = pairs.reads
        offsets = arrays.offsets_of((variants.offsets[1:] - variants.offsets[:-1])[reads])
        total = int(offsets[-1])
        pair = arrays.rows_of(offsets, total)
        variant = arrays.module.arange(total) + (variants.offsets[reads] - offsets[:-1])[pair]
        with_variants = stages.pairs(offsets, pairs.haplotypes[pair])
        scores = stages.score(movable.extended, variants, with_variants.haplotypes, variant)
        best = stages.first_of_best(with_variants, scores)
        return PairScores(scores[best], variant[best])

    def _scores_better(
        self, movable: MovableReads[Aligned, Pairs, Extended], scored: PairScores
    ) -> AnyArray:
        """Return bool[n]: whether a haplotype scores higher than the old alignment."""
        best = scored.scores[self._stages.first_of_best(movable.pairs, scored.scores)]
        return (best > movable.old.scores) & (best >= self._min_scores(movable))

    def _min_scores(self, movable: MovableReads[Aligned, Pairs, Extended]) -> AnyArray:
        bases, _ = self._stages.rows(movable.reads)
        return self._options.min_score * (self._options.scoring.match * bases.lengths)

    def _best(
        self,
        movable: MovableReads[Aligned, Pairs, Extended],
        scored: PairScores,
        variants: ClipVariants[Rows],
    ) -> BestPairs:
        """Choose the best haplotype of each read, the first of equals."""
        stages, pairs = self._stages, movable.pairs
        best, seconds = stages.best_by_score(pairs, scored.scores)
        variant = scored.variants[best]
        if self._options.best_by is BestBy.LIKELIHOOD:
            # All haplotypes are compared with the clip variant of the best score.
            clips = variants.leading[variant], variants.trailing[variant]
            likelihoods = self._likelihoods(movable, clips)
            best, seconds = stages.best_by_likelihood(pairs, likelihoods, scored.scores)
        return BestPairs(pairs.haplotypes[best], variant, seconds)

    def _likelihoods(
        self, movable: MovableReads[Aligned, Pairs, Extended], clips: tuple[AnyArray, AnyArray]
    ) -> AnyArray:
        """Return float64[p]: the likelihoods of the pairs; 0 for the only pair of a read."""
        xp, pairs = self._stages.arrays.module, movable.pairs
        likelihoods = xp.zeros(len(pairs), dtype=np.float64)
        several = pairs.counts > 1
        rows = xp.flatnonzero(several)
        leading, trailing = clips
        likelihoods[xp.flatnonzero(several[pairs.reads])] = self._stages.extended_likelihoods(
            movable.reads,
            rows,
            self._pairs_of(pairs, several),
            movable.extended,
            (leading[rows], trailing[rows]),
        )
        return likelihoods

    def _projected(
        self,
        movable: MovableReads[Aligned, Pairs, Extended],
        variants: ClipVariants[Rows],
        best: BestPairs,
        alignments: Alignments,
    ) -> Projections[Rows]:
        """Project alignments onto the reference, and add their clips."""
        stages, clip_ends = self._stages, not self._options.always
        projections = stages.project(variants, best, alignments, movable.extended, clip_ends)
        cigars, positions = projections.cigars, projections.positions
        if clip_ends:
            cigars, positions = stages.clip_end_insertions(cigars, positions)
        hard = movable.clips.leading_hard, movable.clips.trailing_hard
        return Projections(positions, stages.with_hard_clips(cigars, *hard), projections.ok)

    def _is_moved(
        self,
        movable: MovableReads[Aligned, Pairs, Extended],
        best: BestPairs,
        alignments: Alignments,
        projections: Projections[Rows],
    ) -> AnyArray:
        """Return bool[n]: whether the new alignment is better than the old one.

        If the new alignment differs more from the reference, its score must be higher in
        proportion.
        """
        options, stages, scores = self._options, self._stages, alignments.scores
        is_moved = projections.ok & (scores >= self._min_scores(movable))
        _, old_cigars = stages.rows(movable.reads)
        is_moved &= ~stages.are_same_alignments(
            old_cigars,
            stages.old_positions(movable.reads),
            projections.cigars,
            projections.positions.astype(np.int32),
        )
        if options.always:
            return is_moved
        new = stages.costs(
            movable.reads,
            projections.cigars,
            projections.positions,
            movable.extended,
            movable.extended.windows[best.rows],
        )
        gains, added = scores - movable.old.scores, new.costs - movable.old.costs
        min_gain = MISMATCHES_PER_DIFFERENCE * (options.scoring.match - options.scoring.mismatch)
        is_better = (gains > 0) & (gains >= min_gain * added) & (added <= MAX_ADDED_DIFFERENCES)
        return is_moved & is_better & (new.costs != INCOMPARABLE)

"""Stages of the realignment of reads in host memory, on the CPU or with the aligner of a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import AlignmentBatch, PairBatch, ReadBatch
from hapgpu.arrays.kinds import HOST
from hapgpu.arrays.ragged import Ragged
from hapgpu.cigar.clips import Clips, clips_of, with_hard_clips
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.cigar.mismatches import mismatch_tags
from hapgpu.haplotypes.pairing.extended_haplotypes import (
    GAP_ROOM,
    ExtendedHaplotypes,
    Extender,
)
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.pairhmm.reads.pairs_by_locus import LocusHaplotypes
from hapgpu.realign.align.dispatch import align_pairs, score_pairs
from hapgpu.realign.mover import BestPairs, MovableReads, Mover, MoveTask
from hapgpu.realign.projection.alignment_costs import NO_REFERENCE, AlignmentCosts, alignment_costs
from hapgpu.realign.projection.clip_ends import are_same_alignments, clip_end_insertions
from hapgpu.realign.projection.moves import Moves, name_hashes
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.projection.project import Projections, project_alignments
from hapgpu.realign.realigner import (
    HaplotypeAlignments,
    OutputAlignments,
    ReadsAtLoci,
    Realigned,
    Realigner,
    RealignTask,
)
from hapgpu.realign.records.build import NewAlignments, realigned_records
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.choice import INFORMATIVE, ScoredPairs, WithBases, WithSequences
from hapgpu.realign.selection.cpu import Likelihoods, are_tied, first_of_best, second_scores
from hapgpu.realign.selection.queries import ClipVariants, Queries, queries_of
from hapgpu.runtime.devices import Device
from hapgpu.runtime.output import Output

_Result = TypeVar("_Result")
_Found: TypeAlias = tuple[ReadBatch, ReadHaplotypePairs]


def open_realigner(task: RealignTask, device: Device) -> Callable[[ReadBatch], Output[Realigned]]:
    """Return a function that realigns batches; threads must not share it.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """
    return Realigner(_HostRealignStages(task, device), task.options, len(task.haplotypes))


def open_mover(task: MoveTask, device: Device) -> Callable[[ReadBatch], Output[Moves]]:
    """Return a function that finds the moves of batches; threads must not share it.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """
    return Mover(_HostMoverStages(task, device), task.options)


class _HostStages:
    """Stages that are the same for realignment to haplotypes and to the reference."""

    arrays = HOST
    pairs = ReadHaplotypePairs
    first_of_best = staticmethod(first_of_best)

    def __init__(self, scoring: Scoring, device: Device) -> None:
        self._scoring = scoring
        self._device = device

    def best_by_score(
        self, pairs: ReadHaplotypePairs, scores: NDArray[np.int32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        best = first_of_best(pairs, scores)
        return best, second_scores(pairs, scores, best)

    def best_by_likelihood(
        self,
        pairs: ReadHaplotypePairs,
        likelihoods: NDArray[np.float64],
        scores: NDArray[np.int32],
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        best = first_of_best(pairs, likelihoods, INFORMATIVE)
        return best, second_scores(pairs, scores, best)

    def score(
        self,
        targets: WithSequences[Ragged],
        queries: WithBases[Ragged],
        haplotypes: NDArray[np.int32],
        rows: NDArray[np.int64],
    ) -> NDArray[np.int32]:
        pairs = PairBatch(targets.sequences, queries.bases, haplotypes, rows.astype(np.int32))
        return score_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)

    def align(
        self,
        targets: WithSequences[Ragged],
        queries: WithBases[Ragged],
        haplotypes: NDArray[np.int32],
        rows: NDArray[np.int64],
    ) -> AlignmentBatch:
        pairs = PairBatch(targets.sequences, queries.bases, haplotypes, rows.astype(np.int32))
        return align_pairs(pairs, self._scoring, Overhang.SOFTCLIP, self._device)


@dataclass(frozen=True, slots=True)
class _HostTargets:
    """Haplotypes to align with, also by locus; extended if there is a placement.

    A locus of extended haplotypes is a class with the same flanks.
    """

    sequences: Ragged
    by_locus: LocusHaplotypes
    extended: ExtendedHaplotypes | None = None


class _HostRealignStages(_HostStages):
    """Stages of `Realigner`."""

    queries = staticmethod(queries_of)

    def __init__(self, task: RealignTask, device: Device) -> None:
        super().__init__(task.options.scoring, device)
        self._task = task
        self._finder = PairFinder(task.haplotypes, task.header, task.source)
        self._contig_names = task.contig_names
        self._likelihoods = Likelihoods(device, task.source)
        by_locus = LocusHaplotypes.of(task.haplotypes)
        self._targets = _HostTargets(task.haplotypes.sequences, by_locus)
        self._extender = None
        if task.placement is not None:
            placement = task.placement
            self._extender = Extender(placement.haplotypes, placement.reference, task.header)

    @property
    def keeps_unmapped(self) -> bool:
        return self._task.placement is not None

    def at_loci(
        self,
        reads: ReadBatch,
        compute: Callable[[ReadsAtLoci[ReadBatch, ReadHaplotypePairs]], _Result],
    ) -> Iterator[_Result]:
        options = self._task.options
        is_used = reads.has_flags(options.require_flags, options.exclude_flags)
        if not is_used.all():
            reads = reads.take(is_used)
        pairs = self._finder.find(reads)
        has_any = pairs.counts > 0
        if not has_any.all():
            reads, pairs = reads.take(has_any), pairs.of_reads_with_any()
        without_bases = reads.bases.lengths == 0
        yield compute(ReadsAtLoci(reads, without_bases, pairs.without(without_bases)))

    def targets(
        self, reads: ReadBatch, pairs: ReadHaplotypePairs
    ) -> tuple[ReadHaplotypePairs, _HostTargets]:
        """Extend haplotypes by the length of the reads, which may align at any offset."""
        if self._extender is None:
            return pairs, self._targets
        lengths = reads.bases.lengths[pairs.reads] + GAP_ROOM
        extended, rows = self._extender.extend(pairs.haplotypes, np.stack([lengths, lengths]))
        _, classes = np.unique(extended.classes, return_inverse=True)
        as_set = HaplotypeSet((), extended.sequences, (), classes.astype(np.int32))
        return ReadHaplotypePairs(pairs.offsets, rows), _HostTargets(
            extended.sequences, LocusHaplotypes.of(as_set), extended
        )

    def likelihoods(
        self,
        targets: _HostTargets,
        reads: ReadBatch,
        queries: Queries,
        rows: NDArray[np.int64],
        pairs: ReadHaplotypePairs,
    ) -> NDArray[np.float64]:
        return self._likelihoods.at_best_locus(reads, queries, rows, pairs, targets.by_locus)

    def are_tied(self, scored: ScoredPairs[ReadHaplotypePairs]) -> NDArray[np.bool_]:
        return are_tied(scored.pairs, scored.values, scored.tolerance)

    def samples(self, reads: ReadBatch) -> NDArray[np.int32] | None:
        groups = self._task.groups
        return None if groups is None else groups.samples_of(reads, np.arange(len(reads)))

    def locate(
        self, aligned: HaplotypeAlignments[AlignmentBatch], queries: Queries, targets: _HostTargets
    ) -> OutputAlignments[Ragged]:
        bases = queries.bases.take(aligned.queries)
        if self._task.placement is None or targets.extended is None:
            return _on_haplotypes(aligned, bases, targets.sequences)
        return _on_reference(aligned, bases, targets.extended, self._task.placement)

    def records(self, reads: ReadBatch, queries: Queries, new: NewAlignments[Ragged]) -> ReadBatch:
        query = np.where(new.is_reversed, queries.reversed_row[new.rows], new.rows)
        return realigned_records(
            reads.take(new.rows),
            queries.bases.take(query),
            queries.qualities.take(query),
            new,
            self._contig_names,
            self._task.source,
        )


def _on_haplotypes(
    aligned: HaplotypeAlignments[AlignmentBatch], bases: Ragged, haplotypes: Ragged
) -> OutputAlignments[Ragged]:
    """Return the alignments in the coordinates of the haplotypes, with NM and MD."""
    cigars, positions = aligned.alignments.cigars, aligned.alignments.offsets
    tags = mismatch_tags(bases, cigars, positions, haplotypes, aligned.haplotypes)
    ok = np.ones(positions.size, dtype=np.bool_)
    return OutputAlignments(ok, aligned.haplotypes, positions, cigars, *tags)


def _on_reference(
    aligned: HaplotypeAlignments[AlignmentBatch],
    bases: Ragged,
    extended: ExtendedHaplotypes,
    placement: Placement,
) -> OutputAlignments[Ragged]:
    """Return the alignments projected onto the reference, with NM and MD."""
    none = np.zeros(len(bases), dtype=np.int32)
    projections = project_alignments(
        bases,
        aligned.alignments,
        aligned.haplotypes,
        placement.place(extended),
        none,
        none,
        clip_ends=True,
    )
    cigars, positions = clip_end_insertions(projections.cigars, projections.positions)
    windows = extended.windows[aligned.haplotypes]
    within = (positions - extended.reference_starts[windows]).astype(np.int32)
    tags = mismatch_tags(bases, cigars, within, extended.references, windows)
    contigs = extended.contigs[windows]
    return OutputAlignments(projections.ok, contigs, positions.astype(np.int32), cigars, *tags)


class _HostMoverStages(_HostStages):
    """Stages of `Mover`."""

    clip_end_insertions = staticmethod(clip_end_insertions)
    with_hard_clips = staticmethod(with_hard_clips)
    are_same_alignments = staticmethod(are_same_alignments)

    def __init__(self, task: MoveTask, device: Device) -> None:
        super().__init__(task.options.scoring, device)
        placement = task.placement
        self._placement = placement
        self._source = task.source
        self._finder = PairFinder(placement.haplotypes, task.header, task.source)
        self._extender = Extender(placement.haplotypes, placement.reference, task.header)
        self._likelihoods = Likelihoods(device, task.source)

    def find(self, reads: ReadBatch, required: int, excluded: int) -> tuple[_Found, int, int]:
        is_used = reads.has_flags(required, excluded) & (reads.positions >= 0)
        without_bases = is_used & (reads.bases.lengths == 0)
        is_aligned = is_used & ~without_bases & (reads.cigars.lengths > 0)
        pairs = self._finder.find(reads).without(~is_aligned)
        return (reads, pairs), int(without_bases.sum()), int((pairs.counts > 0).sum())

    def in_parts(self, found: _Found, compute: Callable[[_Found], Moves]) -> Iterator[Moves]:
        _, pairs = found
        if len(pairs):
            yield compute(found)

    def aligned(self, found: _Found) -> _Found:
        """Return all reads: most of them are without a haplotype, or cannot move."""
        return found

    def clips(self, reads: ReadBatch) -> Clips:
        return clips_of(reads, self._source)

    def extend(
        self, reads: ReadBatch, clips: Clips, pairs: ReadHaplotypePairs
    ) -> tuple[ExtendedHaplotypes, ReadHaplotypePairs]:
        needed = self._extender.flanks_needed(reads, clips, pairs.reads, pairs.haplotypes)
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        return extended, ReadHaplotypePairs(pairs.offsets, rows)

    def windows(self, extended: ExtendedHaplotypes, pairs: ReadHaplotypePairs) -> NDArray[np.int32]:
        has_any = pairs.counts > 0
        windows = np.full(has_any.size, NO_REFERENCE, dtype=np.int32)
        windows[has_any] = extended.windows[pairs.haplotypes[pairs.offsets[:-1][has_any]]]
        return windows

    def rows(self, reads: ReadBatch) -> tuple[Ragged, Ragged]:
        return reads.bases, reads.cigars

    def old_positions(self, reads: ReadBatch) -> NDArray[np.int32]:
        return reads.positions

    def costs(
        self,
        reads: ReadBatch,
        cigars: Ragged,
        positions: NDArray[np.int64],
        extended: ExtendedHaplotypes,
        windows: NDArray[np.int32],
    ) -> AlignmentCosts:
        within = positions - extended.reference_starts[windows]
        return alignment_costs(
            reads.bases, cigars, within, extended.references, windows, self._scoring
        )

    def extended_likelihoods(
        self,
        reads: ReadBatch,
        rows: NDArray[np.int64],
        pairs: ReadHaplotypePairs,
        extended: ExtendedHaplotypes,
        clips: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> NDArray[np.float64]:
        return self._likelihoods.of_extended(reads.take(rows), pairs, extended, clips)

    def project(
        self,
        variants: ClipVariants[Ragged],
        best: BestPairs,
        alignments: AlignmentBatch,
        extended: ExtendedHaplotypes,
        clip_ends: bool,  # noqa: FBT001  (as in the protocol)
    ) -> Projections[Ragged]:
        return project_alignments(
            variants.bases.take(best.variants),
            alignments,
            best.rows,
            self._placement.place(extended),
            variants.leading[best.variants],
            variants.trailing[best.variants],
            clip_ends=clip_ends,
        )

    def moves(
        self,
        movable: MovableReads[ReadBatch, ReadHaplotypePairs, ExtendedHaplotypes],
        rows: NDArray[np.int64],
        best: BestPairs,
        scores: NDArray[np.int32],
        projections: Projections[Ragged],
    ) -> Moves:
        reads, extended = movable.reads.take(rows), movable.extended
        windows = extended.windows[best.rows[rows]]
        cigars, positions = projections.cigars.take(rows), projections.positions[rows]
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

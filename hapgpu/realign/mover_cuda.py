"""`Mover` on a GPU: new alignments with the reference of the records of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy
import numpy as np

from hapgpu.arrays.cuda import offsets_of, rows_of
from hapgpu.cigar.cuda.clips import clips_of, with_hard_clips
from hapgpu.cigar.cuda.encoding import (
    cigars_of,
    record_reference_lengths,
    reference_lengths,
)
from hapgpu.cigar.cuda.mismatches import mismatch_tags
from hapgpu.haplotypes.pairing.cuda import DevicePairFinder, DeviceReadPairs
from hapgpu.haplotypes.pairing.extended_haplotypes import Extender
from hapgpu.haplotypes.pairing.extender_cuda import DeviceExtended, DeviceExtender
from hapgpu.haplotypes.pairing.pairs import PairFinder
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.cuda.device_records import DeviceRecords
from hapgpu.io.bam.header import SamHeader
from hapgpu.realign.align.cuda import align_device_pairs, score_device_pairs
from hapgpu.realign.align.device_batches import DeviceAlignments, DevicePairs
from hapgpu.realign.mover import (
    MAX_ADDED_DIFFERENCES,
    MISMATCHES_PER_DIFFERENCE,
    Moved,
)
from hapgpu.realign.moves.alignment_costs import INCOMPARABLE
from hapgpu.realign.moves.cuda import alignment_costs, name_hashes
from hapgpu.realign.moves.device_reads import (
    DeviceBestPairs,
    DeviceMovableReads,
    DevicePairScores,
    DeviceVariants,
    pairs_of,
)
from hapgpu.realign.moves.moves import Moves
from hapgpu.realign.projection.cuda.clip_ends import are_same_alignments, clip_end_insertions
from hapgpu.realign.projection.cuda.placement import DevicePlacement
from hapgpu.realign.projection.cuda.project import DeviceProjections, project_alignments
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.queries.cuda import device_queries
from hapgpu.realign.realigner import RealignOptions
from hapgpu.realign.scoring import Overhang
from hapgpu.realign.selection.by_score import BestBy
from hapgpu.realign.selection.cuda import best_by_likelihood, best_by_score
from hapgpu.realign.selection.extended_likelihoods_cuda import DeviceExtendedLikelihoods
from hapgpu.runtime.devices import CudaDevice
from hapgpu.runtime.gpu.context import OUT_OF_MEMORY


class DeviceMover:
    """Realigns records on the current GPU; the same moves as `Mover`.

    Threads must not share an object.

    Parameters
    ----------
    placement
        The haplotypes and their alignments with the reference.
    header
        The header of the input.
    options
        Options of the realignment.
    device
        The GPU, which must be the current one at each call.
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
        device: CudaDevice,
        source: str,
    ) -> None:
        haplotypes = placement.haplotypes
        self._options = options
        self._device = device
        self._source = source
        self._finder = DevicePairFinder(PairFinder(haplotypes, header, source))
        extender = Extender(haplotypes, placement.reference, header)
        self._extender = DeviceExtender(extender, haplotypes)
        self._placement = DevicePlacement(placement)
        self._likelihoods = DeviceExtendedLikelihoods(device, source)

    def __call__(self, records: DeviceRecords) -> Moved:
        """Find the moves of a batch.

        Raises
        ------
        InputError
            A record or the reference is damaged, or a read lacks qualities that likelihoods need.
        MemoryError
            A single read does not fit the memory of the GPU.
        """
        required, excluded = self._options.require_flags, self._options.exclude_flags | UNMAPPED
        flags, bases = records.flags, records.layout.base_counts
        is_used = (flags & required == required) & (flags & excluded == 0)
        is_used &= records.positions >= 0
        is_aligned = is_used & (bases > 0) & (records.layout.cigar_lengths > 0)
        candidates = self._finder.find(records, required, excluded)
        rows = candidates.rows[is_aligned[candidates.rows]]
        moves = list(self._moves_of(records.take(rows)))
        counts = {
            "reads": len(records),
            "without_bases": int((is_used & (bases == 0)).sum()),
            "at_loci": int(rows.size),
            "realigned": sum(map(len, moves)),
        }
        return Moved(Moves.concatenate([*moves, Moves.none()]), counts)

    def _moves_of(self, records: DeviceRecords) -> Iterator[Moves]:
        """Yield the moves of aligned records at loci, in parts that fit the memory."""
        candidates = self._finder.find(records)
        parts = [(0, len(records))]
        while parts:
            start, end = parts.pop(0)
            if start == end:
                continue
            try:
                pairs = candidates.pairs(start, end, cupy.zeros(end - start, dtype=np.bool_))
                moves = self._moves(*self._movable_reads(records, start, pairs))
            except OUT_OF_MEMORY:
                if end - start == 1:
                    raise
                cupy.get_default_memory_pool().free_all_blocks()
                middle = (start + end) // 2
                parts[:0] = [(start, middle), (middle, end)]
            else:
                yield moves

    def _movable_reads(
        self, records: DeviceRecords, start: int, pairs: DeviceReadPairs
    ) -> tuple[DeviceMovableReads, DeviceReadPairs, DeviceExtended]:
        """Extend the haplotypes to the reads, and exclude reads that cannot move.

        The pairs are those of the records from row `start` on. As in `Mover`.
        """
        count = int(pairs.offsets.size) - 1
        records = records.take(slice(start, start + count))
        clips, spans = clips_of(records, self._source), record_reference_lengths(records)
        bases, cigars = device_queries(records).bases, cigars_of(records)
        lengths, reads = bases.lengths, pairs.reads
        starts = records.positions.astype(np.int64) - clips.leading
        ends = records.positions + spans + clips.trailing
        needed = self._extender.flanks_needed(starts, ends, lengths, reads, pairs.haplotypes)
        extended, rows = self._extender.extend(pairs.haplotypes, needed)
        windows = extended.windows[rows[pairs.offsets[:-1]]]
        positions = records.positions - extended.reference_starts[windows]
        old = alignment_costs(
            bases,
            None,
            cigars,
            positions,
            extended.references,
            windows,
            scoring=self._options.scoring,
        )
        movable = DeviceMovableReads(records, bases, cigars, spans, clips, old.scores, old.costs)
        is_movable = old.costs > (INCOMPARABLE if self._options.always else 0)
        pairs = DeviceReadPairs(pairs.offsets, rows)
        return movable.take(is_movable), pairs_of(pairs, is_movable), extended

    def _moves(
        self, movable: DeviceMovableReads, pairs: DeviceReadPairs, extended: DeviceExtended
    ) -> Moves:
        if not len(movable.records):
            return Moves.none()
        if self._options.always:
            variants = DeviceVariants.whole(movable.bases)
        else:
            variants = DeviceVariants.of(movable.bases, movable.clips)
        scored = self._scored(pairs, variants, extended)
        if not self._options.always:
            is_better = self._scores_better(movable, pairs, scored)
            if not is_better.any():
                return Moves.none()
            scored = scored.take(is_better[pairs.reads])
            movable, pairs = movable.take(is_better), pairs_of(pairs, is_better)
        best = self._best(movable, pairs, extended, scored, variants)
        alignments = align_device_pairs(
            DevicePairs(
                extended.sequences, variants.bases, best.rows, best.variants.astype(np.int32)
            ),
            self._options.scoring,
            Overhang.SOFTCLIP,
            self._device,
        )
        projections = self._projected(movable, extended, variants, best, alignments)
        is_moved = self._is_moved(movable, extended, best, alignments, projections)
        rows = cupy.flatnonzero(is_moved)
        return _downloaded(movable, extended, best, alignments.scores, projections, rows)

    def _scored(
        self, pairs: DeviceReadPairs, variants: DeviceVariants, extended: DeviceExtended
    ) -> DevicePairScores:
        """Score each pair with all clip variants of its read; keep the first of the best."""
        reads = pairs.reads
        counts = (variants.offsets[1:] - variants.offsets[:-1])[reads]
        offsets = offsets_of(counts)
        total = int(offsets[-1])
        pair = rows_of(offsets, total)
        variant = cupy.arange(total) + (variants.offsets[reads] - offsets[:-1])[pair]
        scores = score_device_pairs(
            DevicePairs(
                extended.sequences, variants.bases, pairs.haplotypes[pair], variant.astype(np.int32)
            ),
            self._options.scoring,
            Overhang.SOFTCLIP,
            self._device,
        )
        best, _ = best_by_score(offsets, scores)
        return DevicePairScores(scores[best], variant[best])

    def _scores_better(
        self, movable: DeviceMovableReads, pairs: DeviceReadPairs, scored: DevicePairScores
    ) -> Any:
        """Return bool[n]: whether a haplotype scores higher than the old alignment."""
        rows, _ = best_by_score(pairs.offsets, scored.scores)
        best = scored.scores[rows]
        return (best > movable.scores) & (best >= self._min_scores(movable))

    def _min_scores(self, movable: DeviceMovableReads) -> Any:
        perfect = self._options.scoring.match * movable.bases.lengths
        return self._options.min_score * perfect

    def _best(
        self,
        movable: DeviceMovableReads,
        pairs: DeviceReadPairs,
        extended: DeviceExtended,
        scored: DevicePairScores,
        variants: DeviceVariants,
    ) -> DeviceBestPairs:
        """Choose the best haplotype of each read, the first of equals."""
        best, seconds = best_by_score(pairs.offsets, scored.scores)
        variant = scored.variants[best]
        if self._options.best_by is BestBy.LIKELIHOOD:
            # All haplotypes are compared with the clip variant of the best score.
            clips = variants.leading[variant], variants.trailing[variant]
            likelihoods = self._likelihoods_of(movable.records, pairs, extended, clips)
            best, seconds = best_by_likelihood(pairs.offsets, likelihoods, scored.scores)
        return DeviceBestPairs(pairs.haplotypes[best], variant, seconds)

    def _likelihoods_of(
        self,
        records: DeviceRecords,
        pairs: DeviceReadPairs,
        extended: DeviceExtended,
        clips: tuple[Any, Any],
    ) -> Any:
        """Return float64[p]: the likelihoods of the pairs; 0 for the only pair of a read."""
        likelihoods = cupy.zeros(len(pairs), dtype=np.float64)
        has_several = pairs.counts > 1
        rows, pair_rows = (cupy.flatnonzero(x) for x in (has_several, has_several[pairs.reads]))
        leading, trailing = clips
        likelihoods[pair_rows] = self._likelihoods(
            records.take(rows),
            pairs_of(pairs, has_several),
            extended,
            (leading[rows], trailing[rows]),
        )
        return likelihoods

    def _projected(
        self,
        movable: DeviceMovableReads,
        extended: DeviceExtended,
        variants: DeviceVariants,
        best: DeviceBestPairs,
        alignments: DeviceAlignments,
    ) -> DeviceProjections:
        """Project alignments onto the reference, and add their clips."""
        projections = project_alignments(
            variants.bases,
            alignments,
            best.rows,
            self._placement.place(extended),
            (variants.leading[best.variants], variants.trailing[best.variants]),
            queries=best.variants,
            clip_ends=not self._options.always,
        )
        cigars, positions = projections.cigars, projections.positions
        if not self._options.always:
            cigars, positions = clip_end_insertions(cigars, positions)
        hard = movable.clips.leading_hard, movable.clips.trailing_hard
        return DeviceProjections(positions, with_hard_clips(cigars, *hard), projections.ok)

    def _is_moved(
        self,
        movable: DeviceMovableReads,
        extended: DeviceExtended,
        best: DeviceBestPairs,
        alignments: DeviceAlignments,
        projections: DeviceProjections,
    ) -> Any:
        """Return bool[n]: whether the new alignment is better than the old one, as in `Mover`."""
        options, scores = self._options, alignments.scores
        is_moved = projections.ok & (scores >= self._min_scores(movable))
        is_moved &= ~are_same_alignments(
            movable.cigars,
            movable.records.positions,
            projections.cigars,
            projections.positions.astype(np.int32),
        )
        if options.always:
            return is_moved
        windows = extended.windows[best.rows]
        new = alignment_costs(
            movable.bases,
            None,
            projections.cigars,
            projections.positions - extended.reference_starts[windows],
            extended.references,
            windows,
            scoring=options.scoring,
        )
        gains, added = scores - movable.scores, new.costs - movable.costs
        min_gain = MISMATCHES_PER_DIFFERENCE * (options.scoring.match - options.scoring.mismatch)
        is_better = (gains > 0) & (gains >= min_gain * added) & (added <= MAX_ADDED_DIFFERENCES)
        return is_moved & is_better & (new.costs != INCOMPARABLE)


def _downloaded(
    movable: DeviceMovableReads,
    extended: DeviceExtended,
    best: DeviceBestPairs,
    scores: Any,
    projections: DeviceProjections,
    rows: Any,
) -> Moves:
    """Return the moves of some rows, int64, in host memory, with NM and MD."""
    records = movable.records.take(rows)
    windows = extended.windows[best.rows[rows]]
    cigars, positions = projections.cigars.take(rows), projections.positions[rows]
    distances, mismatches = mismatch_tags(
        movable.bases,
        rows,
        cigars,
        positions - extended.reference_starts[windows],
        extended.references,
        windows,
    )
    ends = positions + reference_lengths(cigars)
    return Moves(
        name_hashes(records).get(),
        records.flags.get(),
        records.reference_ids.get(),
        records.positions.get(),
        (records.positions + movable.spans[rows]).astype(np.int32).get(),
        positions.astype(np.int32).get(),
        ends.astype(np.int32).get(),
        scores[rows].get(),
        best.second_scores[rows].get(),
        distances.get(),
        mismatches.download(),
        cigars.download(),
    )

"""Realignment of one batch of reads: pairs, scores, best alignments, records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import PairBatch, ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.extended_haplotypes import (
    GAP_ROOM,
    ExtendedHaplotypes,
    Extender,
)
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.haplotypes.pairing.pairs import PairFinder, ReadHaplotypePairs
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups.samples import ReadGroups
from hapgpu.realign.align.dispatch import align_pairs
from hapgpu.realign.alleles.counts import AlleleCounts, count_alleles
from hapgpu.realign.projection.output_alignments import (
    HaplotypeAlignments,
    OutputAlignments,
    on_haplotypes,
    on_reference,
)
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.queries.orientations import Queries, queries_of
from hapgpu.realign.records.build import NewAlignments, realigned_records
from hapgpu.realign.scoring import Overhang, Scoring
from hapgpu.realign.selection.by_likelihood import LikelihoodChoice
from hapgpu.realign.selection.by_score import (
    NO_SCORE,
    BestBy,
    ScoredPairs,
    score_read_pairs,
)
from hapgpu.runtime.devices import Device

_Number = TypeVar("_Number", np.int32, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class RealignOptions:
    """Options of the realignment.

    Attributes
    ----------
    scoring
        Weights of the alignment of reads with haplotypes.
    best_by
        Criterion for a read's best haplotype.
    min_score
        Fraction of the score of a perfect alignment below which a read is written unmapped.
    always
        Move also reads whose old alignment is better.
    write_all
        Write a record for every pair of a read, not only for the best.
    require_flags, exclude_flags
        A read must have all of the first flags and none of the second.
    """

    scoring: Scoring
    best_by: BestBy
    min_score: float
    always: bool
    write_all: bool
    require_flags: int
    exclude_flags: int


@dataclass(frozen=True, slots=True)
class Realigned:
    """Records to write, and counts of reads; `alleles` if they are wanted."""

    records: ReadBatch
    reads: int
    unmapped: int
    without_bases: int
    alleles: AlleleCounts | None = None


class Realigner:
    """Realigns batches of reads on one device; threads must not share an object.

    Parameters
    ----------
    haplotypes
        The haplotypes; those of the placement, if there is one.
    placement
        The alignments of the haplotypes with the reference, to write reads without alignments in
        its coordinates; None for records in the coordinates of the haplotypes.
    header
        The header of the input.
    options
        Options of the realignment.
    device
        The device that computes.
    source
        Name of the input, for errors.
    groups
        The read groups, to count reads per sample and haplotype; not with a placement.

    Raises
    ------
    InputError
        A locus is on a contig that the header lacks.
    """

    def __init__(
        self,
        haplotypes: HaplotypeSet,
        placement: Placement | None,
        header: SamHeader,
        options: RealignOptions,
        device: Device,
        source: str,
        *,
        groups: ReadGroups | None = None,
    ) -> None:
        self._groups = groups
        self._haplotypes = haplotypes
        self._placement = placement
        self._options = options
        self._device = device
        self._source = source
        self._finder = PairFinder(haplotypes, header, source)
        self._contig_names = Ragged.from_sequences(
            name.encode("utf-8", "surrogateescape") for name in header.reference_names
        )
        self._by_likelihood = self._likelihood_choice(haplotypes)
        self._extender = None
        if placement is not None:
            self._extender = Extender(placement.haplotypes, placement.reference, header)

    def __call__(self, reads: ReadBatch) -> Realigned:
        """Realign reads; the records exclude reads by their flags, and reads at no locus.

        Raises
        ------
        InputError
            A record is damaged, or a read has no sample.
        """
        count = len(reads)
        reads, pairs = self._selected(reads)
        queries = queries_of(reads)
        without_bases = reads.bases.lengths == 0
        pairs = pairs.without(without_bases)
        haplotypes, extended = self._haplotypes, None
        if self._extender is not None:
            extended, pairs = self._extended(self._extender, pairs, reads)
            haplotypes = _as_set(extended)
        scored = self._scored(pairs, reads, queries, haplotypes)
        aligned = self._align(scored, queries.bases, haplotypes.sequences)
        if self._placement is None or extended is None:
            located = on_haplotypes(aligned, queries.bases, haplotypes.sequences)
        else:
            located = on_reference(aligned, queries.bases, extended, self._placement)
        is_mapped = self._is_mapped(aligned, queries.bases, len(reads))
        records = self._records(reads, queries, scored, aligned, located, is_mapped)
        unmapped, alleles = int((~is_mapped).sum()), None
        if self._groups is not None:
            samples = self._groups.samples_of(reads, np.arange(len(reads)))
            best = aligned.is_best & is_mapped[aligned.reads]
            chosen = aligned.reads[best], aligned.haplotypes[best]
            alleles = count_alleles(samples, *chosen, scored.are_tied, len(self._haplotypes))
        return Realigned(records, count, unmapped, int(without_bases.sum()), alleles)

    def _selected(self, reads: ReadBatch) -> tuple[ReadBatch, ReadHaplotypePairs]:
        """Exclude reads by their flags, and reads that overlap no locus."""
        is_used = reads.has_flags(self._options.require_flags, self._options.exclude_flags)
        if not is_used.all():
            reads = reads.take(is_used)
        pairs = self._finder.find(reads)
        has_any = pairs.counts > 0
        if has_any.all():
            return reads, pairs
        return reads.take(has_any), pairs.of_reads_with_any()

    @staticmethod
    def _extended(
        extender: Extender, pairs: ReadHaplotypePairs, reads: ReadBatch
    ) -> tuple[ExtendedHaplotypes, ReadHaplotypePairs]:
        """Extend haplotypes by the length of the reads, which may align at any offset."""
        lengths = reads.bases.lengths[pairs.reads] + GAP_ROOM
        extended, rows = extender.extend(pairs.haplotypes, np.stack([lengths, lengths]))
        return extended, ReadHaplotypePairs(pairs.offsets, rows)

    def _scored(
        self,
        pairs: ReadHaplotypePairs,
        reads: ReadBatch,
        queries: Queries,
        haplotypes: HaplotypeSet,
    ) -> ScoredPairs:
        """Choose the best pair of each read."""
        if self._options.best_by is BestBy.LIKELIHOOD:
            is_given = haplotypes is self._haplotypes
            choose = self._by_likelihood if is_given else self._likelihood_choice(haplotypes)
            return choose(pairs, reads, queries)
        return score_read_pairs(
            pairs,
            queries,
            haplotypes.sequences,
            self._options.scoring,
            self._device,
        )

    def _likelihood_choice(self, haplotypes: HaplotypeSet) -> LikelihoodChoice:
        return LikelihoodChoice(haplotypes, self._options.scoring, self._device, self._source)

    def _align(self, scored: ScoredPairs, bases: Ragged, sequences: Ragged) -> HaplotypeAlignments:
        """Align the best pair of each read, or all pairs."""
        best = scored.best[scored.best >= 0]
        rows = np.arange(len(scored.pairs)) if self._options.write_all else best
        haplotypes = scored.pairs.haplotypes[rows]
        queries = scored.queries[rows]
        pairs = PairBatch(sequences, bases, haplotypes, queries.astype(np.int32))
        is_best = np.zeros(len(scored.pairs), dtype=np.bool_)
        is_best[best] = True
        return HaplotypeAlignments(
            scored.pairs.reads[rows].astype(np.int64),
            queries,
            haplotypes,
            is_best[rows],
            align_pairs(pairs, self._options.scoring, Overhang.SOFTCLIP, self._device),
        )

    def _is_mapped(
        self, aligned: HaplotypeAlignments, bases: Ragged, reads: int
    ) -> NDArray[np.bool_]:
        """Return bool[reads]: whether the best alignment has the minimum score."""
        best = aligned.is_best
        perfect = self._options.scoring.match * bases.lengths[aligned.queries[best]]
        is_mapped = np.zeros(reads, dtype=np.bool_)
        is_mapped[aligned.reads[best]] = (
            aligned.alignments.scores[best] >= self._options.min_score * perfect
        )
        return is_mapped

    def _records(
        self,
        reads: ReadBatch,
        queries: Queries,
        scored: ScoredPairs,
        aligned: HaplotypeAlignments,
        located: OutputAlignments,
        is_mapped: NDArray[np.bool_],
    ) -> ReadBatch:
        """Return a record per alignment of a mapped read, and a record per other read.

        Other reads keep their alignment in the coordinates of the reference, and become unmapped
        in the coordinates of the haplotypes.
        """
        kept = np.flatnonzero(is_mapped[aligned.reads])
        other = np.flatnonzero(~is_mapped)
        read = np.concatenate((aligned.reads[kept], other))
        order = np.argsort(read, kind="stable")
        read = read[order]
        # The row after the last alignment means no alignment.
        none = len(aligned.reads)
        row = np.concatenate((kept, np.full(other.size, none)))[order]

        def with_none(values: NDArray[_Number], default: int) -> NDArray[_Number]:
            column: NDArray[_Number] = np.append(values, values.dtype.type(default))[row]
            return column

        ok = np.append(located.ok, False)[row]
        new = NewAlignments(
            mapped=ok,
            kept=~ok & (self._placement is not None),
            reference_ids=with_none(located.reference_ids, -1),
            positions=with_none(located.positions, -1),
            cigars=_with_empty_row(located.cigars).take(row),
            is_reversed=ok & (with_none(aligned.queries, -1) >= len(reads)),
            is_secondary=~np.append(aligned.is_best, True)[row],
            scores=with_none(aligned.alignments.scores, 0),
            second_scores=scored.second_scores[read],
            has_second_score=np.append(aligned.is_best, False)[row]
            & (scored.second_scores[read] != NO_SCORE),
            edit_distances=with_none(located.edit_distances, 0),
            mismatches=_with_empty_row(located.mismatches).take(row),
        )
        query = np.where(ok, with_none(aligned.queries, -1), read)
        return realigned_records(
            reads.take(read),
            queries.bases.take(query),
            queries.qualities.take(query),
            new,
            self._contig_names,
            self._source,
        )


def _as_set(extended: ExtendedHaplotypes) -> HaplotypeSet:
    """Return extended haplotypes as a set, with a locus per class."""
    _, classes = np.unique(extended.classes, return_inverse=True)
    return HaplotypeSet((), extended.sequences, (), classes.astype(np.int32))


def _with_empty_row(rows: Ragged) -> Ragged:
    return Ragged(rows.data, np.append(rows.offsets, rows.offsets[-1]))

"""Realignment of one batch of reads: pairs, scores, best alignments, records.

The stages are the same on the CPU and on a GPU; `hapgpu.realign.cpu` and `hapgpu.realign.cuda`
have their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.kinds import AnyArray, ArrayKind, Rows
from hapgpu.arrays.ragged import Ragged
from hapgpu.haplotypes.pairing.haplotype_set import HaplotypeSet
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import ReadGroups
from hapgpu.realign.alleles import AlleleCounts, count_alleles
from hapgpu.realign.options import BestBy
from hapgpu.realign.projection.placement import Placement
from hapgpu.realign.records.build import NewAlignments
from hapgpu.realign.scoring import Scoring
from hapgpu.realign.selection.choice import (
    NO_SCORE,
    AnyQueries,
    ChoiceStages,
    Pairs,
    ScoredPairs,
    choose_by_likelihood,
    choose_by_score,
)
from hapgpu.runtime.output import Output, joined


class AnyBatch(Protocol):
    """Reads: `ReadBatch`, or `DeviceRecords`."""

    def __len__(self) -> int: ...


class AnyAlignments(Protocol):
    """Alignments of pairs: `AlignmentBatch`, or `DeviceAlignments`."""

    @property
    def scores(self) -> AnyArray:
        """int32: the score of each alignment."""
        ...


Reads = TypeVar("Reads", bound=AnyBatch)
Queries = TypeVar("Queries", bound=AnyQueries)
Targets = TypeVar("Targets")
Alignments = TypeVar("Alignments", bound=AnyAlignments)
Result = TypeVar("Result")

Records: TypeAlias = ReadBatch | NDArray[np.uint8]
"""Records to write: as columns, or on GPUs as encoded bytes in host memory, end to end."""


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
class RealignTask:
    """What a worker needs to realign the batches of a run.

    Attributes
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
    source
        Name of the input, for errors.
    groups
        The read groups, to count reads per sample and haplotype; not with a placement.
    """

    haplotypes: HaplotypeSet
    placement: Placement | None
    header: SamHeader
    options: RealignOptions
    source: str
    groups: ReadGroups | None = None

    @property
    def contig_names(self) -> Ragged:
        """uint8 text, one row per @SQ line of the input."""
        return Ragged.from_names(self.header.reference_names)


@dataclass(frozen=True, slots=True)
class Realigned:
    """Records to write, in parts, and counts of reads per sample and haplotype if wanted."""

    records: Sequence[Records]
    alleles: Sequence[AlleleCounts]

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the records and counts of consecutive reads."""
        return cls(
            [records for part in parts for records in part.records],
            [counts for part in parts for counts in part.alleles],
        )


@dataclass(frozen=True, slots=True)
class ReadsAtLoci(Generic[Reads, Pairs]):
    """n reads with haplotypes.

    Attributes
    ----------
    reads
        The reads.
    without_bases
        bool[n]: reads that cannot be aligned.
    pairs
        The haplotypes of the other reads.
    """

    reads: Reads
    without_bases: AnyArray
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class HaplotypeAlignments(Generic[Alignments]):
    """a alignments of reads with haplotypes, read by read.

    Attributes
    ----------
    offsets
        int64[n + 1]: the alignments of read i are rows `offsets[i]` to `offsets[i + 1]`.
    reads, queries, haplotypes
        int64[a], int64[a] and int32[a]: row numbers in the batch, in its queries and in the
        haplotypes.
    is_best
        bool[a], true for one alignment per read.
    alignments
        The alignments.
    """

    offsets: AnyArray
    reads: AnyArray
    queries: AnyArray
    haplotypes: AnyArray
    is_best: AnyArray
    alignments: Alignments


@dataclass(frozen=True, slots=True)
class OutputAlignments(Generic[Rows]):
    """a alignments in the coordinates of the output.

    Attributes
    ----------
    ok
        bool[a]: whether there is one.
    reference_ids, positions
        int32[a].
    cigars
        uint32 in BAM encoding.
    edit_distances, mismatches
        int32[a] and uint8 text: NM and MD.
    """

    ok: AnyArray
    reference_ids: AnyArray
    positions: AnyArray
    cigars: Rows
    edit_distances: AnyArray
    mismatches: Rows


class RealignStages(
    ChoiceStages[Reads, Pairs, Queries, Targets],
    Protocol[Reads, Pairs, Queries, Targets, Alignments, Rows],
):
    """Stages of the realignment on one device."""

    @property
    def arrays(self) -> ArrayKind[Rows]:
        """The functions on the device's arrays."""
        ...

    @property
    def keeps_unmapped(self) -> bool:
        """Whether reads without a new alignment keep the old one, instead of becoming unmapped."""
        ...

    def at_loci(
        self, reads: Reads, compute: Callable[[ReadsAtLoci[Reads, Pairs]], Result], /
    ) -> Iterator[Result]:
        """Compute with the reads that have the flags and a haplotype, in at least one part.

        The parts are in the order of the reads, and fit the memory.
        """
        ...

    def queries(self, reads: Reads, /) -> Queries:
        """Return mapped reads in the orientation of the BAM, unmapped reads in both."""
        ...

    def targets(self, reads: Reads, pairs: Pairs, /) -> tuple[Pairs, Targets]:
        """Return the haplotypes to align with, and the pairs with their row numbers."""
        ...

    def align(
        self, targets: Targets, queries: Queries, haplotypes: AnyArray, rows: AnyArray, /
    ) -> Alignments:
        """Align `haplotypes`, int32[a], with queries, `rows`, int64[a]."""
        ...

    def locate(
        self, aligned: HaplotypeAlignments[Alignments], queries: Queries, targets: Targets, /
    ) -> OutputAlignments[Rows]:
        """Convert alignments with haplotypes to the coordinates of the output."""
        ...

    def samples(self, reads: Reads, /) -> AnyArray | None:
        """Return int32[n]: the sample of each read; None if reads are not counted."""
        ...

    def are_tied(self, scored: ScoredPairs[Pairs], /) -> AnyArray:
        """Return bool[n]: whether a read has several pairs within the tolerance of its best."""
        ...

    def records(self, reads: Reads, queries: Queries, new: NewAlignments[Rows], /) -> Records:
        """Make the records of new alignments."""
        ...


class Realigner(Generic[Reads, Pairs, Queries, Targets, Alignments, Rows]):
    """Realigns batches of reads on one device; threads must not share an object.

    Parameters
    ----------
    stages
        The stages on the device, with the haplotypes.
    options
        Options of the realignment.
    haplotypes
        Number of haplotypes.
    """

    def __init__(
        self,
        stages: RealignStages[Reads, Pairs, Queries, Targets, Alignments, Rows],
        options: RealignOptions,
        haplotypes: int,
    ) -> None:
        self._stages = stages
        self._options = options
        self._haplotypes = haplotypes

    def __call__(self, reads: Reads) -> Output[Realigned]:
        """Realign reads; the records exclude reads by their flags, and reads at no locus.

        Raises
        ------
        InputError
            A record is damaged, or lacks qualities that the likelihoods need, or has no sample.
        MemoryError
            A single read does not fit the memory of the GPU.
        """
        done = joined(list(self._stages.at_loci(reads, self._realigned)), Realigned.concatenate)
        return Output(done.content, {"reads": len(reads), **done.counts}, len(reads))

    def _realigned(self, found: ReadsAtLoci[Reads, Pairs]) -> Output[Realigned]:
        queries = self._stages.queries(found.reads)
        new, mapped, alleles = self._new_alignments(found, queries)
        counts = {
            "records": len(new),
            "unmapped": len(found.reads) - mapped,
            "without_bases": int(found.without_bases.sum()),
        }
        records = self._stages.records(found.reads, queries, new)
        return Output(Realigned([records], alleles), counts, 0)

    def _new_alignments(
        self, found: ReadsAtLoci[Reads, Pairs], queries: Queries
    ) -> tuple[NewAlignments[Rows], int, Sequence[AlleleCounts]]:
        """Return the new alignments, the number of mapped reads, and the counts if wanted."""
        stages, reads = self._stages, found.reads
        pairs, targets = stages.targets(reads, found.pairs)
        if self._options.best_by is BestBy.LIKELIHOOD:
            scored = choose_by_likelihood(stages, targets, pairs, reads, queries)
        else:
            scored = choose_by_score(stages, targets, pairs, queries)
        aligned = self._aligned(targets, scored, queries)
        located = stages.locate(aligned, queries, targets)
        is_mapped = self._is_mapped(aligned, queries, len(reads))
        new = self._of_records(scored, aligned, located, is_mapped)
        return new, int(is_mapped.sum()), self._alleles(reads, scored, aligned, is_mapped)

    def _aligned(
        self, targets: Targets, scored: ScoredPairs[Pairs], queries: Queries
    ) -> HaplotypeAlignments[Alignments]:
        """Align the best pair of each read, or all pairs."""
        arrays, has_best = self._stages.arrays, scored.best >= 0
        best = scored.best[has_best]
        offsets = arrays.offsets_of(has_best.astype(np.int64))
        is_best = arrays.module.ones(best.size, dtype=np.bool_)
        reads, rows, haplotypes = scored.reads, scored.queries, scored.pairs.haplotypes
        if self._options.write_all:
            offsets = scored.pairs.offsets
            is_best = arrays.module.zeros(len(scored.pairs), dtype=np.bool_)
            is_best[best] = True
        else:
            reads, rows, haplotypes = reads[best], rows[best], haplotypes[best]
        alignments = self._stages.align(targets, queries, haplotypes, rows)
        return HaplotypeAlignments(offsets, reads, rows, haplotypes, is_best, alignments)

    def _is_mapped(
        self, aligned: HaplotypeAlignments[Alignments], queries: Queries, reads: int
    ) -> AnyArray:
        """Return bool[reads]: whether the best alignment has the minimum score."""
        perfect = self._options.scoring.match * queries.bases.lengths_of(aligned.queries)
        reaches = aligned.alignments.scores >= self._options.min_score * perfect
        is_mapped = self._stages.arrays.module.zeros(reads, dtype=np.bool_)
        is_mapped[aligned.reads[aligned.is_best & reaches]] = True
        return is_mapped

    def _alleles(
        self,
        reads: Reads,
        scored: ScoredPairs[Pairs],
        aligned: HaplotypeAlignments[Alignments],
        is_mapped: AnyArray,
    ) -> Sequence[AlleleCounts]:
        """Count the reads per sample and haplotype, if wanted."""
        stages, arrays = self._stages, self._stages.arrays
        samples = stages.samples(reads)
        if samples is None:
            return []
        best = arrays.module.flatnonzero(aligned.is_best & is_mapped[aligned.reads])
        chosen = aligned.reads[best], aligned.haplotypes[best]
        are_tied = stages.are_tied(scored)
        return [count_alleles(samples, *chosen, are_tied, self._haplotypes, arrays)]

    def _of_records(
        self,
        scored: ScoredPairs[Pairs],
        aligned: HaplotypeAlignments[Alignments],
        located: OutputAlignments[Rows],
        is_mapped: AnyArray,
    ) -> NewAlignments[Rows]:
        """Return a row per alignment of a mapped read, and a row per other read."""
        arrays, xp = self._stages.arrays, self._stages.arrays.module
        counts = aligned.offsets[1:] - aligned.offsets[:-1]
        offsets = arrays.offsets_of(xp.where(is_mapped, counts, 1))
        total = int(offsets[-1])
        read = arrays.rows_of(offsets, total)
        within = xp.arange(total) - offsets[read]
        # The row after the last alignment means no alignment.
        none = aligned.reads.size
        row = xp.where(is_mapped[read], aligned.offsets[read] + within, none)

        def column(values: AnyArray, default: int) -> AnyArray:
            return xp.append(values, xp.asarray([default], dtype=values.dtype))[row]

        def rows(values: Rows) -> Rows:
            with_empty = arrays.rows(values.data, xp.append(values.offsets, values.offsets[-1:]))
            return with_empty.take(row)

        mapped = column(located.ok, 0)
        is_best = column(aligned.is_best, 0)
        second_scores = scored.second_scores[read]
        return NewAlignments(
            rows=read,
            mapped=mapped,
            kept=~mapped & self._stages.keeps_unmapped,
            reference_ids=column(located.reference_ids, -1),
            positions=column(located.positions, -1),
            cigars=rows(located.cigars),
            is_reversed=mapped & (column(aligned.queries, -1) >= is_mapped.size),
            is_secondary=is_mapped[read] & ~is_best,
            scores=column(aligned.alignments.scores, 0),
            second_scores=second_scores,
            has_second_score=is_best & (second_scores != NO_SCORE),
            edit_distances=column(located.edit_distances, 0),
            mismatches=rows(located.mismatches),
        )

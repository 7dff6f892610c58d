"""Arrays between the stages of discovery: columns of many active regions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged import Ragged
from hapgpu.calling.record_columns import (
    AlleleAnnotations,
    DragstrTexts,
    RecordMarks,
    TandemRepeats,
)
from hapgpu.haplotypes.batches import ReferenceSlice

PADDING: Final = 100
"""Bases on both sides of an active span that are assembled too."""

MAX_JUNCTION: Final = 300
"""Bases between both ends of a junction of split reads, at most."""

REFERENCE_ROOM: Final = 700
"""Bases of the reference on both sides of a window: for padding, and repeats at its ends."""

LEAD: Final = 1000
"""Active regions that start at most so many bases before a segment are computed with it: deletions
that are called there decide about spanning alleles in the segment."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a calling interval; the active regions that start in it are called.

    Attributes
    ----------
    contig, contig_length
        The contig.
    start, end
        0-based, half-open.
    interval_start, interval_end
        The calling interval that holds the segment: activity outside of it is not computed.
    """

    contig: str
    contig_length: int
    start: int
    end: int
    interval_start: int
    interval_end: int


@dataclass(frozen=True, slots=True)
class GivenAlleles:
    """g different alleles of one contig that are called in any case, ascending.

    They share no base with REF at their ends but the first one, if their lengths differ; insertions
    and deletions are left-aligned.

    Attributes
    ----------
    starts, ends
        int64[g], 0-based, half-open: REF.
    alternates
        uint8 text, g rows: ALT.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: Ragged

    def __len__(self) -> int:
        return self.starts.size

    def take(self, rows: NDArray[np.int64]) -> GivenAlleles:
        """Select alleles by `rows`, int64[k], ascending."""
        return GivenAlleles(self.starts[rows], self.ends[rows], self.alternates.take(rows))


_NONE: Final = np.empty(0, dtype=np.int64)
NO_GIVEN_ALLELES: Final = GivenAlleles(_NONE, _NONE, Ragged.from_sequences([]))


@dataclass(frozen=True, slots=True)
class SegmentReads:
    """All reads that a segment needs.

    Attributes
    ----------
    segment
        The segment.
    window_start, window_end
        0-based, half-open: `reads` are complete within; it holds the segment and room on both
        sides, cut to the contig.
    reference
        Bases of the window and `REFERENCE_ROOM` on both sides, cut to the contig; A, C, G, T, N.
    reads
        n reads that pass HaplotypeCaller's filters, downsampled, sorted by position; bases are
        A, C, G, T, N.
    samples
        int32[n].
    given
        Given alleles that overlap the window.
    """

    segment: Segment
    window_start: int
    window_end: int
    reference: ReferenceSlice
    reads: ReadBatch
    samples: NDArray[np.int32]
    given: GivenAlleles = NO_GIVEN_ALLELES


@dataclass(frozen=True, slots=True)
class ActiveRegions:
    """r active regions of one contig, ascending, with the padding that is assembled.

    Attributes
    ----------
    starts, ends
        int64[r], 0-based, half-open: the active span; after trimming, the variant span cut to it.
    padded_starts, padded_ends
        int64[r]: the span with padding, cut to the contig.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    padded_starts: NDArray[np.int64]
    padded_ends: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size

    def take(self, rows: NDArray[np.int64]) -> ActiveRegions:
        """Select active regions by `rows`, int64[k]."""
        return ActiveRegions(
            self.starts[rows], self.ends[rows], self.padded_starts[rows], self.padded_ends[rows]
        )


@dataclass(frozen=True, slots=True)
class RegionReads:
    """m reads clipped to r active regions, region by region, in GATK's order.

    A read of the segment has a row in each active region whose padded span it overlaps. Its bases
    are bases `base_starts` to `base_ends` of the record: clips remove bases at the ends only.

    Attributes
    ----------
    offsets
        int64[r + 1]: the reads of region k are rows `offsets[k]` to `offsets[k + 1]`.
    rows
        int64[m]: rows of `SegmentReads.reads`.
    samples
        int32[m].
    base_starts, base_ends
        int64[m]: range of the bases in the record, never empty.
    starts, ends
        int64[m], 0-based, half-open: the reference interval of the alignment.
    cigars
        uint32 in BAM encoding, m rows: M, =, X, I, D only; soft clips that are used are M.
    qualities
        uint8 Phred, m rows: the base qualities of the range, lowered where mates overlap.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    samples: NDArray[np.int32]
    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    cigars: Ragged
    qualities: Ragged

    def __len__(self) -> int:
        return self.rows.size

    @property
    def regions(self) -> NDArray[np.int64]:
        """int64[m]: the active region of each read."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def bases(self, reads: ReadBatch) -> Ragged:
        """Gather the bases: uint8 text, m rows; `reads` are those of the segment."""
        starts = reads.bases.offsets[self.rows] + self.base_starts
        return Ragged.gather(reads.bases.data, starts, self.base_ends - self.base_starts)

    def take(self, kept: NDArray[np.bool_]) -> RegionReads:
        """Select reads by a mask, `kept`, bool[m]; the number of active regions stays."""
        before = np.concatenate(([0], np.cumsum(kept))).astype(np.int64)
        rows = np.flatnonzero(kept)
        return RegionReads(
            before[self.offsets],
            self.rows[rows],
            self.samples[rows],
            self.base_starts[rows],
            self.base_ends[rows],
            self.starts[rows],
            self.ends[rows],
            self.cigars.take(rows),
            self.qualities.take(rows),
        )

    def of_regions(self, kept: NDArray[np.bool_]) -> RegionReads:
        """Select active regions by a mask, `kept`, bool[r], with their reads."""
        reads = self.take(kept[self.regions])
        return replace(reads, offsets=reads.offsets[np.concatenate(([True], kept))])


@dataclass(frozen=True, slots=True)
class RegionHaplotypes:
    """h haplotypes of r active regions, region by region.

    Attributes
    ----------
    offsets
        int64[r + 1]: the haplotypes of region k are rows `offsets[k]` to `offsets[k + 1]`.
    bases
        uint8 text, h rows.
    cigars
        uint32 in BAM encoding, h rows: the alignment with the reference of the (padded) span, from
        end to end: consumes all bases of both.
    is_reference
        bool[h]: exactly one per region, the last of its rows until haplotypes are trimmed.
    scores
        float64[h]: log10 score of the path in the graph; NaN for the reference.
    """

    offsets: NDArray[np.int64]
    bases: Ragged
    cigars: Ragged
    is_reference: NDArray[np.bool_]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return self.is_reference.size

    @property
    def regions(self) -> NDArray[np.int64]:
        """int64[h]: the active region of each haplotype."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class Events:
    """Events of h haplotypes, haplotype by haplotype, ascending.

    Attributes
    ----------
    offsets
        int64[h + 1]: the events of haplotype k are rows `offsets[k]` to `offsets[k + 1]`.
    starts
        int64[e], 0-based position of the first base of REF.
    ends
        int64[e], end of REF, half-open.
    alternates
        uint8 text, e rows: ALT. REF is the reference from start to end.
    """

    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: Ragged


@dataclass(frozen=True, slots=True)
class ForcedEvents:
    """f events whose alleles records keep, of t active regions.

    Attributes
    ----------
    offsets
        int64[t + 1]: the events of region k are rows `offsets[k]` to `offsets[k + 1]`.
    rows
        int64[f]: the given allele, a row of `SegmentReads.given`.
    starts, ends, alternates
        As in `Events`.
    is_given
        bool[f]: whether the event is the given allele; else it is one that haplotypes with the
        allele have, by their CIGARs, instead of it or beside it.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    alternates: Ragged
    is_given: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TrimmedRegions:
    """Active regions cut to their variants, with their haplotypes and events.

    Attributes
    ----------
    kept
        int64[t], ascending: the active regions, of those given, that have variants.
    regions
        t rows: variant spans cut to the active spans, and the trimmed padded spans.
    haplotypes
        Of the trimmed padded spans, sorted by length, then by bases; then those that are made of
        given alleles.
    events
        Of these haplotypes.
    forced
        Of given alleles; None without any.
    """

    kept: NDArray[np.int64]
    regions: ActiveRegions
    haplotypes: RegionHaplotypes
    events: Events
    forced: ForcedEvents | None = None


@dataclass(frozen=True, slots=True)
class RegionLikelihoods:
    """Likelihoods of the m reads that are genotyped, and of others that only count in DP and MQ.

    Attributes
    ----------
    reads
        m reads, of t active regions, that pass and that some haplotype explains; their `starts`,
        `ends` and `cigars` are those of the realignment to the best haplotype, on the reference,
        and their bases and qualities those of the trimmed span.
    likelihoods
        float64 rows, m of them: log10 for each haplotype of the region, in its order, none more
        than 4.5 below the best.
    best_haplotypes
        int64[m]: the best haplotype, counted within the region.
    is_informative
        bool[m]: whether the best haplotype is more than 0.2 above the next.
    others
        Reads of the t active regions that do not pass; only counted.
    """

    reads: RegionReads
    likelihoods: Ragged
    best_haplotypes: NDArray[np.int64]
    is_informative: NDArray[np.bool_]
    others: RegionReads


def _no_marks() -> NDArray[np.bool_]:
    return np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class CallSites:
    """s positions with events, ascending within each of t active regions.

    Attributes
    ----------
    regions
        int64[s]: the active region.
    starts
        int64[s], 0-based position of the first base of REF.
    ends
        int64[s], end of the longest REF, half-open.
    allele_offsets
        int64[s + 1]: the alleles of site i are rows `allele_offsets[i]` (REF) to
        `allele_offsets[i + 1]`.
    alleles
        uint8 text: REF and ALTs, `*` for a spanning deletion.
    haplotype_alleles
        int16 rows, s of them: the allele of each haplotype of the region.
    is_forced
        bool[a]: alleles that records keep, however improbable; empty without given alleles.
    """

    regions: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: Ragged
    haplotype_alleles: Ragged
    is_forced: NDArray[np.bool_] = field(default_factory=_no_marks)

    def __len__(self) -> int:
        return self.starts.size


@dataclass(frozen=True, slots=True)
class ReadsAtSites:
    """Reads at each of s sites, with their likelihoods given its alleles.

    Attributes
    ----------
    offsets
        int64[s + 1]: the reads of site i are rows `offsets[i]` to `offsets[i + 1]`.
    reads
        int64[x]: rows of `RegionLikelihoods.reads`, in order.
    likelihoods
        float64 rows, x of them: log10, a value per allele of the site.
    other_offsets
        int64[s + 1], as `offsets`.
    others
        int64[y]: rows of `RegionLikelihoods.others` at each site.
    """

    offsets: NDArray[np.int64]
    reads: NDArray[np.int64]
    likelihoods: Ragged
    other_offsets: NDArray[np.int64]
    others: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VariantCalls:
    """v records, ascending, with the genotypes of n samples.

    Attributes
    ----------
    sites
        int64[v]: the site of each record.
    starts
        int64[v], 0-based position of REF.
    allele_offsets, alleles
        int64[v + 1], and uint8 text, a rows: REF and ALTs of each record, as in `CallSites`; the
        alleles that are kept, trimmed.
    site_alleles
        int16[a]: the number of each allele among those of the site.
    qualities
        float64[v]: QUAL.
    genotypes
        int16[v, n, p]: numbers of alleles, ascending; -1 for no call. p is the highest ploidy of
        the run; a record of a lower one has -2 in the other columns.
    genotype_qualities
        int16[v, n]: GQ, at most 99; 0 for no call.
    phred_likelihoods
        int32 rows, v * n of them: PL, 0 for the best.
    maximum_likelihood_counts
        int32[a]: MLEAC of each allele.
    ploidies
        int64[v]: copies of each sample.
    """

    sites: NDArray[np.int64]
    starts: NDArray[np.int64]
    allele_offsets: NDArray[np.int64]
    alleles: Ragged
    site_alleles: NDArray[np.int16]
    qualities: NDArray[np.float64]
    genotypes: NDArray[np.int16]
    genotype_qualities: NDArray[np.int16]
    phred_likelihoods: Ragged
    maximum_likelihood_counts: NDArray[np.int32]
    ploidies: NDArray[np.int64]

    def __len__(self) -> int:
        return self.starts.size


@dataclass(frozen=True, slots=True)
class Annotations:
    """INFO fields and depths of v records; NaN where a field is not defined.

    Attributes
    ----------
    depths
        int32[v]: DP of INFO.
    sample_depths
        int32[v, n]: DP of FORMAT.
    allele_depths
        int32 rows, v * n of them: AD.
    values
        float64[v, k]: the fields of `calling.annotations.fields.FIELDS`, in its order.
    strand_depths
        int64[v, n, 4]: reads of REF, forward and reverse, and of ALTs, forward and reverse.
    mapping_qualities
        int64[v, 2]: sum of squared mapping qualities, and reads with one.
    zero_qualities, discovered_alleles
        int64[v]: MQ0 and NDA; None if they are not enabled.
    alleles, repeats, dragstr
        Annotations of alleles and of repeats; None if they are not enabled.
    marks
        ID, flags and filters of the records; None for none.
    """

    depths: NDArray[np.int32]
    sample_depths: NDArray[np.int32]
    allele_depths: Ragged
    values: NDArray[np.float64]
    strand_depths: NDArray[np.int64]
    mapping_qualities: NDArray[np.int64]
    zero_qualities: NDArray[np.int64] | None = None
    discovered_alleles: NDArray[np.int64] | None = None
    alleles: AlleleAnnotations | None = None
    repeats: TandemRepeats | None = None
    dragstr: DragstrTexts | None = None
    marks: RecordMarks | None = None

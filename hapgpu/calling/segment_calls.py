"""Result of a segment, and the steps of `call` that VCF and genomic VCF do not share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import lengths_of
from hapgpu.calling.annotations.fields import enabled_fields
from hapgpu.calling.assembly.haplotypes import AT_LIMIT, LEFT, NOT_ASSEMBLED, UNROLLED
from hapgpu.calling.batches import (
    ActiveRegions,
    Annotations,
    CallSites,
    ReadsAtSites,
    RegionHaplotypes,
    RegionLikelihoods,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.genotypes.calls import NO_CALL
from hapgpu.calling.genotypes.likelihoods import PreparedReads
from hapgpu.calling.genotypes.site_reads import (
    reads_with_kept_non_ref,
    reads_with_non_ref,
    sites_with_non_ref,
)
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.block_lines import position_lines
from hapgpu.calling.output.call_lines import call_lines
from hapgpu.calling.output.gvcf_parts import GvcfPart, gvcf_part, gvcf_records, no_records
from hapgpu.calling.output.phasing import Phasing, phased, unphased
from hapgpu.calling.output.reference_positions import (
    CalledRegions,
    ReferencePositions,
    reference_positions,
)
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.regions.active_regions import active_regions, all_regions
from hapgpu.calling.regions.junctions import Junctions
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.runtime.statistics import Timed, untimed

_OUTCOMES: Final = {
    "cyclic_regions": UNROLLED,
    "regions_not_assembled": NOT_ASSEMBLED,
    "regions_at_haplotype_limit": AT_LIMIT,
    "host_regions": LEFT,
}
"""Flags of active regions, by the names of their counts."""


class SegmentRecords(NamedTuple):
    """Records of a segment, and of the active regions before it.

    Attributes
    ----------
    calls
        v records.
    annotations
        Of these records.
    rows
        bool[v]: whether the record is of an active region that starts in the segment.
    """

    calls: VariantCalls
    annotations: Annotations
    rows: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SegmentCalls:
    """Result of a segment.

    Attributes
    ----------
    segment
        The segment.
    counts
        Named counts of the work in the segment.
    records
        The records; None if no active region has a variant.
    realigned
        BAM records of the realigned reads; None if they are not wanted.
    reference
        Reference confidence; None unless the output is a genomic VCF.
    """

    segment: Segment
    counts: Mapping[str, int]
    records: SegmentRecords | None = None
    realigned: RecordRun | None = None
    reference: Reference | None = None


def no_counts(bases: int, covered_bases: int = 0) -> dict[str, int]:
    """Return the counts of a segment, or of several, without active regions.

    Parameters
    ----------
    bases
        Bases of the segments.
    covered_bases
        Of these, the bases from the first to the last aligned base of any read.
    """
    names = (
        "active_regions",
        "active_bases",
        "haplotypes",
        "variant_regions",
        "cells",
        "modelled_reads",
        "poorly_modelled_reads",
        "records",
        *_OUTCOMES,
    )
    counts = {"bases": bases, "covered_bases": covered_bases}
    return {**counts, **dict.fromkeys(names, 0)}


def segment_counts(segment: SegmentReads) -> dict[str, int]:
    """Return the counts of a segment without active regions; deletions of reads are covered."""
    start, end = segment.segment.start, segment.segment.end
    positions = segment.reads.positions.astype(np.int64)
    ends = np.minimum(positions + reference_lengths(segment.reads.cigars), end)
    # Sorted by position: a read adds the bases after the last end before it.
    last_ends = np.maximum.accumulate(np.append(start, ends))[:-1]
    added = ends - np.maximum(positions, last_ends)
    return no_counts(end - start, int(added[added > 0].sum()))


def region_counts(
    segment: Segment,
    regions: ActiveRegions,
    haplotypes: RegionHaplotypes,
    outcomes: NDArray[np.uint8],
    trimmed: TrimmedRegions,
) -> dict[str, int]:
    """Count the active regions that start in a segment; `outcomes`, uint8[r], are flags."""
    first = int(np.searchsorted(regions.starts, segment.start))
    return {
        "active_regions": len(regions) - first,
        "active_bases": int((regions.ends[first:] - regions.starts[first:]).sum()),
        "haplotypes": int(haplotypes.offsets[-1] - haplotypes.offsets[first]),
        "variant_regions": int((trimmed.kept >= first).sum()),
        **{name: int((outcomes[first:] & flag != 0).sum()) for name, flag in _OUTCOMES.items()},
    }


def read_counts(
    prepared: PreparedReads, likelihoods: RegionLikelihoods, is_own: NDArray[np.bool_]
) -> dict[str, int]:
    """Count cells of the pair-HMM, and the reads that a haplotype explains or none does.

    `is_own`, bool[t], tells which active regions start in the segment.
    """
    batch = prepared.batch
    compared = int(lengths_of(prepared.reads.offsets)[is_own].sum())
    modelled = int(lengths_of(likelihoods.reads.offsets)[is_own].sum())
    return {
        "cells": int((batch.group_bases * batch.group_columns)[is_own].sum()),
        "modelled_reads": modelled,
        "poorly_modelled_reads": compared - modelled,
    }


class WindowRegions(NamedTuple):
    """Regions of a segment: active ones, and inactive ones if the output needs them."""

    active: ActiveRegions
    inactive: ActiveRegions | None


class RegionRecords(NamedTuple):
    """Records of the active regions of a segment, and the results that they are made from."""

    trimmed: TrimmedRegions
    likelihoods: RegionLikelihoods
    sites: CallSites
    calls: VariantCalls
    annotations: Annotations


class Reference(NamedTuple):
    """Positions of the regions that start in a segment, and the phases of records if it has any."""

    positions: ReferencePositions
    phasing: Phasing | None


class VariantsOnly:
    """Steps of a VCF of variants; each output has its own ones.

    Parameters
    ----------
    options
        Options of all stages.
    timed
        Takes the name of a stage and its function; returns the function, perhaps timed.
    flags
        Flags of records, ascending.
    has_given
        Whether alleles are given.

    Attributes
    ----------
    fields
        The fields of the output.
    """

    def __init__(
        self,
        options: CallOptions,
        timed: Timed = untimed,
        *,
        flags: tuple[str, ...] = (),
        has_given: bool = False,
    ) -> None:
        self._options = options
        self._timed = timed
        fields = enabled_fields(
            options.annotations,
            is_genomic=options.genotyping.has_non_ref,
            has_dragstr=options.dragstr is not None,
        )
        self.fields = replace(fields, flags=flags, has_low_quality=has_given)

    def regions(
        self, segment: SegmentReads, samples: int, junctions: Junctions
    ) -> WindowRegions | None:
        """Return the regions of a segment; None if its window starts too late to tell."""
        quality = self._options.assembly.min_base_quality
        genotyping = self._options.genotyping
        active = active_regions(segment, samples, genotyping, junctions, min_base_quality=quality)
        return None if active is None else WindowRegions(active, None)

    def with_non_ref(self, sites: CallSites, reads: ReadsAtSites) -> tuple[CallSites, ReadsAtSites]:
        """Return the sites and reads with the allele `<NON_REF>`, if the output has it."""
        return sites, reads

    def with_kept_non_ref(
        self, _sites: CallSites, reads: ReadsAtSites, _calls: VariantCalls
    ) -> ReadsAtSites:
        """Return the reads for annotations: likelihoods of `<NON_REF>` follow the kept alleles."""
        return reads

    def reference(
        self,
        _segment: SegmentReads,
        _regions: WindowRegions,
        _reads: RegionReads | None,
        _found: RegionRecords | None,
    ) -> Reference | None:
        """Return the reference confidence of the positions of a segment, if the output has it.

        Parameters
        ----------
        segment, regions
            The segment and its regions.
        reads
            Finalized reads of the active regions; None if there are no active regions.
        found
            Records of the active regions; None if none has a variant.
        """
        return None

    def are_written(self, found: RegionRecords) -> NDArray[np.bool_]:
        """Return bool[v]: records that are written, if they are of the segment."""
        return np.ones(len(found.calls), dtype=np.bool_)

    def lines(self, found: SegmentCalls) -> bytes | GvcfPart:
        """Format the records of a segment."""
        if found.records is None:
            return b""
        return call_lines(found.segment.contig, *found.records, self.fields)


class GenomicVcf(VariantsOnly):
    """Steps of a genomic VCF of one sample."""

    def regions(
        self, segment: SegmentReads, samples: int, junctions: Junctions
    ) -> WindowRegions | None:
        """Return the active and the inactive regions."""
        quality = self._options.assembly.min_base_quality
        genotyping = self._options.genotyping
        found = all_regions(segment, samples, genotyping, junctions, min_base_quality=quality)
        return None if found is None else WindowRegions(*found)

    def with_non_ref(self, sites: CallSites, reads: ReadsAtSites) -> tuple[CallSites, ReadsAtSites]:
        """Return the sites with the allele `<NON_REF>`, and the reads with its likelihoods."""
        sites = sites_with_non_ref(sites)
        return sites, reads_with_non_ref(sites, reads)

    def with_kept_non_ref(
        self, sites: CallSites, reads: ReadsAtSites, calls: VariantCalls
    ) -> ReadsAtSites:
        """Return the reads with likelihoods of `<NON_REF>` made from the kept alleles."""
        return reads_with_kept_non_ref(sites, reads, calls)

    def reference(
        self,
        segment: SegmentReads,
        regions: WindowRegions,
        reads: RegionReads | None,
        found: RegionRecords | None,
    ) -> Reference:
        """Return the confidence of all positions, and the phases of the records.

        Raises
        ------
        ValueError
            `regions` have no inactive ones: they were not found for a genomic VCF.
        """
        if regions.inactive is None:
            raise ValueError("a genomic VCF needs the inactive regions")
        assembly = self._options.assembly
        if reads is None:
            reads = finalized_reads(segment, regions.active, assembly)
        if found is None:
            phasing, none = None, np.empty(0, dtype=np.int64)
            nowhere = np.zeros(len(regions.active), dtype=np.bool_)
            called = CalledRegions(none, regions.active.take(none), reads.of_regions(nowhere))
        else:
            called = _called_regions(found)
            phasing = self._phasing(found)
        positions = self._timed("reference", reference_positions)(
            segment,
            regions.inactive,
            regions.active,
            reads,
            called,
            assembly,
            ploidies=self._options.genotyping.ploidies,
        )
        return Reference(positions, phasing)

    def _phasing(self, found: RegionRecords) -> Phasing:
        if not self._options.genomic_vcf.has_phases:
            return unphased(len(found.calls))
        return self._timed("reference", phased)(found.calls, found.sites, found.trimmed)

    def are_written(self, found: RegionRecords) -> NDArray[np.bool_]:
        """Return bool[v]: records of active regions in which one has a genotype or is forced."""
        return _has_genotype(found)[found.sites.regions[found.calls.sites]]

    def lines(self, found: SegmentCalls) -> bytes | GvcfPart:
        """Format the records and the blocks between them, except blocks at the ends.

        Without blocks, all lines are formatted.

        Raises
        ------
        ValueError
            The segment was called without the confidence of the reference.
        """
        if found.reference is None:
            raise ValueError("a genomic VCF needs the reference confidence")
        contig, (positions, phasing) = found.segment.contig, found.reference
        records = no_records()
        if found.records is not None and phasing is not None:
            records = gvcf_records(contig, *found.records, phasing, self.fields)
        options = self._options.genomic
        if options.is_per_position:
            write = self._timed("reference", position_lines)
            return write(contig, positions, records.starts, records.lines)
        return self._timed("reference", gvcf_part)(contig, positions, records, options)


def call_mode(
    options: CallOptions,
    timed: Timed = untimed,
    *,
    flags: tuple[str, ...] = (),
    has_given: bool = False,
) -> VariantsOnly:
    """Return the steps of the output: a VCF of variants, or a genomic VCF; see `VariantsOnly`."""
    mode = GenomicVcf if options.genotyping.has_non_ref else VariantsOnly
    return mode(options, timed, flags=flags, has_given=has_given)


def _has_genotype(found: RegionRecords) -> NDArray[np.bool_]:
    """Return bool[t]: active regions in which a record has a genotype, or a given allele."""
    is_called = (found.calls.genotypes != NO_CALL).all(axis=(1, 2))
    if found.sites.is_forced.size:
        firsts = found.sites.allele_offsets[found.calls.sites]
        alleles = np.repeat(firsts, lengths_of(found.calls.allele_offsets))
        is_forced = found.sites.is_forced[alleles + found.calls.site_alleles]
        is_called |= np.logical_or.reduceat(is_forced, found.calls.allele_offsets[:-1])
    is_kept = np.zeros(found.trimmed.kept.size, dtype=np.bool_)
    is_kept[found.sites.regions[found.calls.sites[is_called]]] = True
    return is_kept


def _called_regions(found: RegionRecords) -> CalledRegions:
    is_kept = _has_genotype(found)
    rows = np.flatnonzero(is_kept)
    spans = found.trimmed.regions.take(rows)
    return CalledRegions(
        found.trimmed.kept[rows], spans, found.likelihoods.reads.of_regions(is_kept)
    )

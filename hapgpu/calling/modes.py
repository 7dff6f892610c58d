"""The two outputs of `call`: a VCF of variants, or a genomic VCF.

GATK's ReferenceConfidenceMode: NONE, and GVCF, which adds the allele `<NON_REF>` and the confidence
of positions without a variant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.activity.active_regions import active_regions, all_regions
from hapgpu.calling.activity.junctions import Junctions
from hapgpu.calling.batches import (
    ActiveRegions,
    Annotations,
    CallSites,
    ReadsAtSites,
    RegionLikelihoods,
    RegionReads,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.gvcf.blocks import CalledRegions, ReferencePositions, reference_positions
from hapgpu.calling.gvcf.lines import GvcfPart, gvcf_part
from hapgpu.calling.gvcf.phasing import Phasing, phased
from hapgpu.calling.likelihoods.site_reads import (
    reads_with_kept_non_ref,
    reads_with_non_ref,
    sites_with_non_ref,
)
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.lines import call_lines
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.runtime.statistics import Timed, untimed


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
    """Positions of the regions that start in a segment, and the phases of its records."""

    positions: ReferencePositions
    phasing: Phasing


class VariantsOnly:
    """Steps of a VCF of variants; each output has its own ones.

    Parameters
    ----------
    options
        Options of all stages.
    timed
        Takes the name of a stage and its function; returns the function, perhaps timed.
    """

    def __init__(self, options: CallOptions, timed: Timed = untimed) -> None:
        self._options = options
        self._timed = timed

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

    def lines(
        self,
        contig: str,
        calls: VariantCalls,
        annotations: Annotations,
        rows: NDArray[np.bool_],
        _reference: Reference | None,
    ) -> bytes | GvcfPart:
        """Format the records of a segment: those of v records that `rows`, bool[v], selects."""
        return call_lines(contig, calls, annotations, rows)


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
        """Return the confidence of all positions, and the phases of the records."""
        if regions.inactive is None:
            raise ValueError("a genomic VCF needs the inactive regions")
        assembly = self._options.assembly
        if reads is None:
            reads = finalized_reads(segment, regions.active, assembly)
        none = np.empty(0, dtype=np.int64)
        phasing = Phasing(none, np.empty(0, dtype=np.bool_))
        if found is None:
            nowhere = np.zeros(len(regions.active), dtype=np.bool_)
            called = CalledRegions(none, regions.active.take(none), reads.of_regions(nowhere))
        else:
            called = _called_regions(found)
            phase = self._timed("reference", phased)
            phasing = phase(found.calls, found.sites, found.trimmed)
        positions = self._timed("reference", reference_positions)(
            segment, regions.inactive, regions.active, reads, called, assembly
        )
        return Reference(positions, phasing)

    def are_written(self, found: RegionRecords) -> NDArray[np.bool_]:
        """Return bool[v]: records of active regions in which a record has a genotype."""
        return _has_genotype(found)[found.sites.regions[found.calls.sites]]

    def lines(
        self,
        contig: str,
        calls: VariantCalls,
        annotations: Annotations,
        rows: NDArray[np.bool_],
        reference: Reference | None,
    ) -> GvcfPart:
        """Format the records; blocks of the positions between them are made in the output."""
        if reference is None:
            raise ValueError("a genomic VCF needs the reference confidence")
        return gvcf_part(contig, calls, annotations, rows, reference)


def call_mode(options: CallOptions, timed: Timed = untimed) -> VariantsOnly:
    """Return the steps of the output: a VCF of variants, or a genomic VCF."""
    return (GenomicVcf if options.genotyping.has_non_ref else VariantsOnly)(options, timed)


def _has_genotype(found: RegionRecords) -> NDArray[np.bool_]:
    """Return bool[t]: active regions in which a record has a genotype."""
    is_called = (found.calls.genotypes >= 0).all(axis=(1, 2))
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

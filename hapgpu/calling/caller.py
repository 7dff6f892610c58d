"""Calling of one segment: all stages in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import Ragged, lengths_of
from hapgpu.calling.activity.active_regions import active_regions, all_regions
from hapgpu.calling.activity.junctions import NO_JUNCTIONS, junctions_of, widened_to
from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.fields import FIELDS
from hapgpu.calling.assembly.assembler import assembled_haplotypes
from hapgpu.calling.assembly.haplotypes import AT_LIMIT, NOT_ASSEMBLED, UNROLLED
from hapgpu.calling.batches import (
    ActiveRegions,
    Annotations,
    CallSites,
    ReadLikelihoods,
    RegionHaplotypes,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.spans import ANY_UNIT, LONGEST_UNIT
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.gvcf.phasing import Phasing, phased
from hapgpu.calling.gvcf.positions import CalledRegions, ReferencePositions, reference_positions
from hapgpu.calling.likelihoods.likelihoods import (
    PreparedReads,
    prepared_reads,
    read_likelihoods,
)
from hapgpu.calling.likelihoods.non_ref import (
    reads_with_kept_non_ref,
    reads_with_non_ref,
    sites_with_non_ref,
)
from hapgpu.calling.likelihoods.shared_batches import LikelihoodsOf
from hapgpu.calling.likelihoods.site_reads import site_reads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.realigned_records import RealignedRecords
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.reads.reclipped import reclipped_reads
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.runtime.devices import CpuDevice

PAIR_HMM: Final = "pairhmm"
"""Stage of the pair-HMM."""

Timed = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Function such as `hapgpu.runtime.statistics.RunStatistics.timed`."""


_ALIGNER: Final = CpuDevice(1)

_OUTCOMES: Final = {
    "cyclic_regions": UNROLLED,
    "regions_not_assembled": NOT_ASSEMBLED,
    "regions_at_haplotype_limit": AT_LIMIT,
}
"""Flags of active regions, by the names of their counts."""


def untimed(_stage: str, step: Callable[..., Any]) -> Callable[..., Any]:
    """Return the step."""
    return step


@dataclass(frozen=True, slots=True)
class SegmentCalls:
    """Records of a segment, and of the active regions before it.

    Attributes
    ----------
    segment
        The segment.
    calls
        v records.
    annotations
        Of these records.
    rows
        bool[v]: whether the record is of an active region that starts in the segment.
    counts
        Named counts of the work in the segment.
    realigned
        BAM records of the realigned reads; None if they are not wanted.
    reference
        For a genomic VCF: the positions of the regions that start in the segment, and the phases of
        the records; else None.
    """

    segment: Segment
    calls: VariantCalls
    annotations: Annotations
    rows: NDArray[np.bool_]
    counts: Mapping[str, int]
    realigned: RecordRun | None = None
    reference: tuple[ReferencePositions, Phasing] | None = None


class Caller:
    """Caller of segments; threads may share it.

    Parameters
    ----------
    options
        Options of all stages.
    samples
        Number of samples.
    pair_hmm
        The pair-HMM on a device. Alignments are computed by the calling thread: most reads and
        haplotypes need no matrix, and the others are too few for a GPU.
    source
        Name of the reads, for errors.
    timed
        Takes the name of a stage and its function; returns the function, perhaps timed.
    realigned
        Makes records of realigned reads, if they are wanted.
    """

    def __init__(
        self,
        options: CallOptions,
        samples: int,
        pair_hmm: LikelihoodsOf,
        source: str,
        timed: Timed = untimed,
        realigned: RealignedRecords | None = None,
    ) -> None:
        self._options = options
        self._samples = samples
        self._pair_hmm = pair_hmm
        self._source = source
        self._timed = timed
        self._realigned = realigned

    def __call__(self, segment: SegmentReads) -> SegmentCalls | None:
        """Call a segment; None if the active regions depend on bases before its window.

        Raises
        ------
        InputError
            A read has a tag `BI` or `BD` that does not fit its bases, or malformed tags.
        OutputError
            The name of a read is too long for BAM.
        DeviceError
            The device has too little memory, or failed.
        """
        found = self._regions(segment)
        if found is None:
            return None
        regions, inactive, has_junction = found
        if not len(regions):
            return self._without_records(segment, regions, inactive)
        reads = self._run("clip", finalized_reads, segment, regions, self._options.assembly)
        trimmed, counts = self._assembled(segment, regions, reads, has_junction)
        if not trimmed.kept.size:
            return self._without_records(segment, regions, inactive, reads, counts)
        is_own = regions.starts[trimmed.kept] >= segment.segment.start
        likelihoods = self._likelihoods(reads, segment, trimmed, is_own, counts)
        sites, calls, annotations = self._called(segment, trimmed, likelihoods)
        rows = is_own[sites.regions[calls.sites]]
        reference = None
        if self._options.genotyping.has_non_ref:
            called = _called_regions(calls, sites, trimmed, likelihoods)
            rows &= np.isin(trimmed.kept[sites.regions[calls.sites]], called.kept)
            phasing = self._run("reference", phased, calls, sites, trimmed)
            reference = self._positions(segment, inactive, regions, reads, called), phasing
        counts["records"] = int(rows.sum())
        realigned = None
        if self._realigned is not None:
            realigned = self._run(
                "bam_out",
                self._realigned.of_segment,
                calls,
                rows,
                sites,
                likelihoods,
                trimmed,
                segment,
            )
        return SegmentCalls(segment.segment, calls, annotations, rows, counts, realigned, reference)

    def _regions(
        self, segment: SegmentReads
    ) -> tuple[ActiveRegions, ActiveRegions | None, NDArray[np.bool_]] | None:
        """Return the active regions, the inactive ones if they are wanted, and bool[r].

        The latter tells which active regions have a junction.
        """
        genotyping, assembly = self._options.genotyping, self._options.assembly
        quality = assembly.min_base_quality
        junctions = NO_JUNCTIONS
        if not assembly.is_strict:
            junctions = self._run("activity", junctions_of, segment, quality)
        function = all_regions if genotyping.has_non_ref else active_regions
        found = self._run(
            "activity",
            partial(function, min_base_quality=quality),
            segment,
            self._samples,
            genotyping,
            junctions,
        )
        if found is None:
            return None
        active, inactive = found if genotyping.has_non_ref else (found, None)
        active = widened_to(junctions, active, segment)
        return active, inactive, junctions.are_in(active)

    def _called(
        self, segment: SegmentReads, trimmed: TrimmedRegions, likelihoods: ReadLikelihoods
    ) -> tuple[CallSites, VariantCalls, Annotations]:
        """Return the sites, and the records with their annotations."""
        genotyping = self._options.genotyping
        sites: CallSites = self._run("events", call_sites, trimmed, segment.reference)
        at_sites = self._run("genotypes", site_reads, sites, likelihoods)
        if genotyping.has_non_ref:
            sites = sites_with_non_ref(sites)
            at_sites = self._run("genotypes", reads_with_non_ref, sites, at_sites)
        calls: VariantCalls = self._run(
            "genotypes",
            called_variants,
            sites,
            at_sites,
            likelihoods,
            self._samples,
            genotyping,
        )
        if genotyping.has_non_ref:
            at_sites = self._run("genotypes", reads_with_kept_non_ref, sites, at_sites, calls)
        annotations: Annotations = self._run(
            "annotations",
            annotations_of,
            calls,
            sites,
            at_sites,
            likelihoods,
            segment,
            self._samples,
        )
        return sites, calls, annotations

    def _positions(
        self,
        segment: SegmentReads,
        inactive: ActiveRegions | None,
        regions: ActiveRegions,
        reads: RegionReads,
        called: CalledRegions,
    ) -> ReferencePositions:
        found: ReferencePositions = self._run(
            "reference",
            reference_positions,
            segment,
            inactive,
            regions,
            reads,
            called,
            self._options.assembly,
        )
        return found

    def _assembled(
        self,
        segment: SegmentReads,
        regions: ActiveRegions,
        reads: RegionReads,
        has_junction: NDArray[np.bool_],
    ) -> tuple[TrimmedRegions, dict[str, int]]:
        """Return the trimmed active regions with variants, and counts."""
        haplotypes, outcomes = self._run(
            "assembly",
            assembled_haplotypes,
            reads,
            segment,
            regions,
            self._options.assembly,
            _ALIGNER,
            has_junction,
        )
        trimmed: TrimmedRegions = self._run(
            "events",
            trimmed_to_variants,
            haplotypes,
            regions,
            segment.reference,
            ANY_UNIT if self._options.assembly.is_strict else LONGEST_UNIT,
        )
        return trimmed, _counts(segment, regions, haplotypes, outcomes, trimmed)

    def _likelihoods(
        self,
        reads: RegionReads,
        segment: SegmentReads,
        trimmed: TrimmedRegions,
        is_own: NDArray[np.bool_],
        counts: dict[str, int],
    ) -> ReadLikelihoods:
        """Return the likelihoods of the reads.

        Counts the cells of the pair-HMM, and the reads that a haplotype explains or none does, of
        active regions that start in the segment.
        """
        reads = self._run("clip", reclipped_reads, reads, segment, trimmed)
        prepared: PreparedReads = self._run(
            "likelihoods", prepared_reads, reads, segment, trimmed, self._options, self._source
        )
        batch = prepared.batch
        counts["cells"] = int((batch.group_bases * batch.group_columns)[is_own].sum())
        values = self._run(PAIR_HMM, self._pair_hmm, batch)
        likelihoods: ReadLikelihoods = self._run(
            "realign", read_likelihoods, prepared, values, trimmed, _ALIGNER
        )
        compared = int(lengths_of(prepared.reads.offsets)[is_own].sum())
        counts["modelled_reads"] = int(lengths_of(likelihoods.reads.offsets)[is_own].sum())
        counts["poorly_modelled_reads"] = compared - counts["modelled_reads"]
        return likelihoods

    def _without_records(
        self,
        segment: SegmentReads,
        regions: ActiveRegions,
        inactive: ActiveRegions | None,
        reads: RegionReads | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> SegmentCalls:
        calls, annotations = _no_records(self._samples)
        rows = np.empty(0, dtype=np.bool_)
        reference = None
        if inactive is not None:
            if reads is None:
                reads = finalized_reads(segment, regions, self._options.assembly)
            none = np.empty(0, dtype=np.int64)
            nowhere = np.zeros(len(regions), dtype=np.bool_)
            called = CalledRegions(none, regions.take(none), reads.of_regions(nowhere))
            positions = self._positions(segment, inactive, regions, reads, called)
            reference = positions, Phasing(none, rows)
        all_counts = {**no_counts(*_bases_of(segment)), **(counts or {})}
        return SegmentCalls(
            segment.segment, calls, annotations, rows, all_counts, reference=reference
        )

    def _run(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._timed(stage, lambda _: function(*arguments))(None)


def _called_regions(
    calls: VariantCalls,
    sites: CallSites,
    trimmed: TrimmedRegions,
    likelihoods: ReadLikelihoods,
) -> CalledRegions:
    """Return the active regions in which a record has a genotype."""
    is_called = (calls.genotypes >= 0).all(axis=(1, 2))
    is_kept = np.zeros(trimmed.kept.size, dtype=np.bool_)
    is_kept[sites.regions[calls.sites[is_called]]] = True
    rows = np.flatnonzero(is_kept)
    spans, reads = trimmed.regions.take(rows), likelihoods.reads.of_regions(is_kept)
    return CalledRegions(trimmed.kept[rows], spans, reads)


def _counts(
    segment: SegmentReads,
    regions: ActiveRegions,
    haplotypes: RegionHaplotypes,
    outcomes: NDArray[np.uint8],
    trimmed: TrimmedRegions,
) -> dict[str, int]:
    """Count the active regions that start in a segment."""
    first = int(np.searchsorted(regions.starts, segment.segment.start))
    return {
        **no_counts(*_bases_of(segment)),
        "active_regions": len(regions) - first,
        "active_bases": int((regions.ends[first:] - regions.starts[first:]).sum()),
        "haplotypes": int(haplotypes.offsets[-1] - haplotypes.offsets[first]),
        "variant_regions": int((trimmed.kept >= first).sum()),
        **{name: int((outcomes[first:] & flag != 0).sum()) for name, flag in _OUTCOMES.items()},
    }


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


def _bases_of(segment: SegmentReads) -> tuple[int, int]:
    """Return the bases of a segment, and those of them that a read covers, deletions included."""
    start, end = segment.segment.start, segment.segment.end
    positions = segment.reads.positions.astype(np.int64)
    ends = np.minimum(positions + reference_lengths(segment.reads.cigars), end)
    # Sorted by position: a read adds the bases after the last end before it.
    last_ends = np.maximum.accumulate(np.append(start, ends))[:-1]
    added = ends - np.maximum(positions, last_ends)
    return end - start, int(added[added > 0].sum())


def _no_records(samples: int) -> tuple[VariantCalls, Annotations]:
    """Return no records, of a number of samples."""
    numbers = np.empty(0, dtype=np.int64)
    table = np.empty((0, samples), dtype=np.int32)
    texts = Ragged(np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64))
    values = Ragged(np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    calls = VariantCalls(
        numbers,
        numbers,
        np.zeros(1, dtype=np.int64),
        texts,
        numbers.astype(np.int16),
        numbers.astype(np.float64),
        np.empty((0, samples, 2), dtype=np.int16),
        table.astype(np.int16),
        values,
        numbers.astype(np.int32),
    )
    annotations = Annotations(
        numbers.astype(np.int32),
        table,
        values,
        np.empty((0, len(FIELDS))),
        np.empty((0, samples, 4), dtype=np.int64),
        np.empty((0, 2), dtype=np.int64),
    )
    return calls, annotations

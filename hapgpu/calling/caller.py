"""Calling of one segment: all stages in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.activity.regions import active_regions
from hapgpu.calling.annotations.annotations import annotations_of
from hapgpu.calling.assembly.assembler import assembled_haplotypes
from hapgpu.calling.batches import (
    ActiveRegions,
    Annotations,
    CallSites,
    RegionHaplotypes,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.events.sites import call_sites
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.likelihoods.likelihoods import haplotype_likelihoods
from hapgpu.calling.likelihoods.site_reads import site_reads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.finalized import finalized_reads
from hapgpu.calling.reads.reclipped import reclipped_reads
from hapgpu.runtime.devices import Device

Timed = Callable[[str, Callable[..., Any]], Callable[..., Any]]
"""Function such as `hapgpu.runtime.statistics.RunStatistics.timed`."""


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
    """

    segment: Segment
    calls: VariantCalls
    annotations: Annotations
    rows: NDArray[np.bool_]
    counts: Mapping[str, int]


class Caller:
    """Caller of segments on a device; threads may share it.

    Parameters
    ----------
    options
        Options of all stages.
    samples
        Number of samples.
    device
        The device of the pair-HMM and of alignments.
    source
        Name of the reads, for errors.
    timed
        Takes the name of a stage and its function; returns the function, perhaps timed.
    """

    def __init__(
        self,
        options: CallOptions,
        samples: int,
        device: Device,
        source: str,
        timed: Timed = untimed,
    ) -> None:
        self._options = options
        self._samples = samples
        self._device = device
        self._source = source
        self._timed = timed

    def __call__(self, segment: SegmentReads) -> SegmentCalls | None:
        """Call a segment; None if the active regions depend on bases before its window.

        Raises
        ------
        InputError
            A read has a tag `BI` or `BD` that does not fit its bases.
        DeviceError
            The device has too little memory, or failed.
        """
        options, samples = self._options, self._samples
        regions: ActiveRegions | None = self._run(
            "activity", active_regions, segment, samples, options.genotyping
        )
        if regions is None:
            return None
        reads = self._run("clip", finalized_reads, segment, regions, options.assembly)
        haplotypes: RegionHaplotypes = self._run(
            "assembly",
            assembled_haplotypes,
            reads,
            segment,
            regions,
            options.assembly,
            samples,
            self._device,
        )
        trimmed: TrimmedRegions = self._run(
            "events", trimmed_to_variants, haplotypes, regions, segment.reference
        )
        reads = self._run("clip", reclipped_reads, reads, segment, trimmed)
        likelihoods = self._run(
            "likelihoods",
            haplotype_likelihoods,
            reads,
            segment,
            trimmed,
            options,
            self._source,
            self._device,
        )
        sites: CallSites = self._run("events", call_sites, trimmed, segment.reference)
        at_sites = self._run("genotypes", site_reads, sites, likelihoods)
        calls: VariantCalls = self._run(
            "genotypes",
            called_variants,
            sites,
            at_sites,
            likelihoods,
            trimmed,
            samples,
            options.genotyping,
        )
        annotations = self._run(
            "annotations", annotations_of, calls, sites, at_sites, likelihoods, segment, samples
        )
        rows = _starts(regions, trimmed, sites, calls) >= segment.segment.start
        counts = _counts(segment.segment, regions, haplotypes, trimmed)
        counts["records"] = int(rows.sum())
        return SegmentCalls(segment.segment, calls, annotations, rows, counts)

    def _run(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._timed(stage, lambda _: function(*arguments))(None)


def _starts(
    regions: ActiveRegions, trimmed: TrimmedRegions, sites: CallSites, calls: VariantCalls
) -> NDArray[np.int64]:
    """Return int64[v]: the start of the active region of each record."""
    starts: NDArray[np.int64] = regions.starts[trimmed.kept[sites.regions[calls.sites]]]
    return starts


def _counts(
    segment: Segment,
    regions: ActiveRegions,
    haplotypes: RegionHaplotypes,
    trimmed: TrimmedRegions,
) -> dict[str, int]:
    """Count what belongs to the active regions that start in a segment."""
    first = int(np.searchsorted(regions.starts, segment.start))
    offsets = haplotypes.offsets
    return {
        "bases": segment.end - segment.start,
        "active_regions": len(regions) - first,
        "active_bases": int((regions.ends[first:] - regions.starts[first:]).sum()),
        "haplotypes": int(offsets[-1] - offsets[first]),
        "variant_regions": int((trimmed.kept >= first).sum()),
    }

"""Worker of `hapgpu call`: the stages of a segment in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import lengths_of
from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.annotations.dragstr import dragstr_texts
from hapgpu.calling.batches import (
    Annotations,
    RegionLikelihoods,
    RegionReads,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.device_stages import DeviceStages
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.forced_events import RegionAlleles
from hapgpu.calling.events.spans import ANY_UNIT, LONGEST_UNIT
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.genotypes.contamination import (
    without_contamination,
)
from hapgpu.calling.genotypes.forced_alleles import called_given, with_forced_alleles
from hapgpu.calling.genotypes.genotype_tables import most_alleles
from hapgpu.calling.genotypes.likelihoods import prepared_reads, read_likelihoods
from hapgpu.calling.genotypes.site_reads import site_reads
from hapgpu.calling.known.names import KnownFile, KnownVariants, flags_of
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.filters import low_qualities
from hapgpu.calling.output.realigned_records import (
    RealignedRecords,
)
from hapgpu.calling.reads.finalized import finalized_reads, reclipped_reads
from hapgpu.calling.reads.given_alleles import GivenSites
from hapgpu.calling.reads.segments import (
    EmptyIntervals,
    SegmentSource,
)
from hapgpu.calling.regions.junctions import NO_JUNCTIONS, junctions_of, widened_to
from hapgpu.calling.segment_calls import (
    RegionRecords,
    SegmentCalls,
    SegmentRecords,
    WindowRegions,
    call_mode,
    read_counts,
    region_counts,
    segment_counts,
)
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.runtime.devices import CpuDevice
from hapgpu.runtime.statistics import Timed, untimed

PAIR_HMM: Final = "pairhmm"
"""Stage of the pair-HMM."""
CALLED_GIVEN: Final = "given_alleles_called"
"""Count of given alleles with a record."""

_ALIGNER: Final = CpuDevice(1)
"""Most reads and haplotypes need no matrix, and the others are too few for a GPU."""

Work = Sequence[SegmentSource | EmptyIntervals]
"""Segments, and calling intervals without reads, for one worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Options of a worker, which can be pickled.

    Attributes
    ----------
    call
        Options of all stages.
    samples
        Number of samples.
    source
        Name of the reads, for errors.
    realigned
        Makes records of realigned reads, if they are wanted.
    contamination
        float64[n]: the contaminated fraction of each sample; None: no reads are removed.
    known
        Files of known variants, which name records.
    given
        Given alleles, if there are any.
    """

    call: CallOptions
    samples: int
    source: str
    realigned: RealignedRecords | None = None
    contamination: NDArray[np.float64] | None = None
    known: Sequence[KnownFile] = ()
    given: GivenSites | None = None


def open_worker(
    options: WorkerOptions, stages: DeviceStages, timed: Timed = untimed
) -> SegmentWorker:
    """Return a worker with the stages of its device (`stages_on`), which workers of a GPU share.

    `timed` takes the name of a stage and its function; it returns the function, perhaps timed.
    """
    return SegmentWorker(options, stages, timed)


class SegmentWorker:
    """Worker that reads and calls segments; parameters as of `open_worker`."""

    def __init__(self, options: WorkerOptions, stages: DeviceStages, timed: Timed) -> None:
        self._options = options.call
        self._samples = options.samples
        self._source = options.source
        self._realigned = options.realigned
        self._contamination = options.contamination
        self._known = KnownVariants(options.known)
        self._given = options.given
        self._stages = stages
        self._timed = timed
        self._mode = call_mode(
            options.call,
            timed,
            flags=flags_of(options.known),
            has_given=options.given is not None,
        )

    def __call__(self, work: Work) -> list[SegmentCalls | EmptyIntervals]:
        """Read and call segments, in parts where they have very many reads.

        Intervals without reads are returned as they are.

        Raises
        ------
        InputError
            As `SegmentSource.read`; or a read has a tag `BI` or `BD` that does not fit its bases,
            or malformed tags.
        OutputError
            The name of a read is too long for BAM.
        DeviceError
            The device has too little memory, or failed.
        """
        called: list[SegmentCalls | EmptyIntervals] = []
        for part in work:
            called += [part] if isinstance(part, EmptyIntervals) else self._parts(part)
        return called

    def _parts(self, source: SegmentSource) -> list[SegmentCalls]:
        read = self._timed("read", source.read)
        reads = read()
        if reads is None:
            return [calls for half in source.halves() for calls in self._parts(half)]
        calls = self.called(self._with_given(reads))
        if calls is None and (far := read(far=True)) is not None:
            calls = self.called(self._with_given(far))
        if calls is None:
            message = f"{source.segment}: no start of an active region in the far window"
            raise ValueError(message)
        return [calls]

    def _with_given(self, reads: SegmentReads) -> SegmentReads:
        """Return the reads of a segment with the given alleles, if there are any."""
        if self._given is None:
            return reads
        window = reads.window_start, reads.window_end
        return replace(reads, given=self._given.within(reads.segment.contig, *window))

    def called(self, segment: SegmentReads) -> SegmentCalls | None:
        """Call a segment: all stages; None if its active regions need bases before its window."""
        found = self._regions(segment)
        if found is None:
            return None
        regions, has_junction = found
        counts = segment_counts(segment)
        if not len(regions.active):
            return self._without_records(segment, regions, None, counts)
        assembly = self._options.assembly
        reads = self._timed("clip", finalized_reads)(segment, regions.active, assembly)
        trimmed = self._trimmed(segment, regions, reads, has_junction, counts)
        if not trimmed.kept.size:
            return self._without_records(segment, regions, reads, counts)
        is_own = regions.active.starts[trimmed.kept] >= segment.segment.start
        likelihoods = self._likelihoods(segment, reads, trimmed, is_own, counts)
        ploidies = self._ploidies(segment, regions, trimmed)
        records = self._records(segment, trimmed, likelihoods, ploidies)
        reference = self._mode.reference(segment, regions, reads, records)
        sites, calls = records.sites, records.calls
        rows = is_own[sites.regions[calls.sites]] & self._mode.are_written(records)
        counts["records"] = int(rows.sum())
        if trimmed.forced is not None:
            counts[CALLED_GIVEN] = called_given(sites, calls, rows, trimmed.forced)
        realigned: RecordRun | None = None
        if self._realigned is not None:
            realign = self._timed("bam_out", self._realigned.of_segment)
            realigned = realign(calls, rows, sites, likelihoods, trimmed, segment)
        mark = self._timed("annotations", self._marked)
        annotations = mark(segment.segment.contig, calls, rows, records.annotations)
        kept = SegmentRecords(calls, annotations, rows)
        return SegmentCalls(segment.segment, counts, kept, realigned, reference)

    def _regions(self, segment: SegmentReads) -> tuple[WindowRegions, NDArray[np.bool_]] | None:
        """Return the regions, and bool[r]: which active ones have a junction of split reads."""
        timed, assembly = self._timed, self._options.assembly
        junctions = NO_JUNCTIONS
        if not assembly.is_strict:
            junctions = timed("activity", junctions_of)(segment, assembly.min_base_quality)
        found = timed("activity", self._mode.regions)(segment, self._samples, junctions)
        if found is None:
            return None
        regions = WindowRegions(widened_to(junctions, found.active, segment), found.inactive)
        return regions, junctions.are_in(regions.active)

    def _trimmed(
        self,
        segment: SegmentReads,
        regions: WindowRegions,
        reads: RegionReads,
        has_junction: NDArray[np.bool_],
        counts: dict[str, int],
    ) -> TrimmedRegions:
        """Return the active regions with variants, with their haplotypes; count them."""
        timed, assembly, active = self._timed, self._options.assembly, regions.active
        haplotypes, outcomes = timed("assembly", self._stages.haplotypes)(
            reads, segment, active, has_junction
        )
        longest_unit = ANY_UNIT if assembly.is_strict else LONGEST_UNIT
        own: RegionAlleles | None = None
        if len(segment.given):
            own = RegionAlleles.of(segment.given, active, lengths_of(reads.offsets) > 0)
        trimmed = timed("events", trimmed_to_variants)(
            haplotypes,
            active,
            segment.reference,
            longest_unit,
            own=own,
            max_mnp_distance=self._options.events.max_mnp_distance,
        )
        counts.update(region_counts(segment.segment, active, haplotypes, outcomes, trimmed))
        return trimmed

    def _likelihoods(
        self,
        segment: SegmentReads,
        reads: RegionReads,
        trimmed: TrimmedRegions,
        is_own: NDArray[np.bool_],
        counts: dict[str, int],
    ) -> RegionLikelihoods:
        """Return the likelihoods of the reads; count those of the segment, bool[t] `is_own`."""
        timed = self._timed
        reads = timed("clip", reclipped_reads)(reads, segment, trimmed)
        prepared = timed("likelihoods", prepared_reads)(
            reads, segment, trimmed, self._options, self._source
        )
        values = timed(PAIR_HMM, self._stages.pair_hmm)(prepared.batch)
        likelihoods = timed("realign", read_likelihoods)(prepared, values, trimmed, _ALIGNER)
        counts.update(read_counts(prepared, likelihoods, is_own))
        return likelihoods

    def _ploidies(
        self, segment: SegmentReads, regions: WindowRegions, trimmed: TrimmedRegions
    ) -> NDArray[np.int64]:
        """Return int64[t]: copies in the active regions with variants, by their active spans."""
        spans = regions.active.take(trimmed.kept)
        ploidies = self._options.genotyping.ploidies
        return ploidies.at(segment.segment.contig, spans.starts, spans.ends)

    def _records(
        self,
        segment: SegmentReads,
        trimmed: TrimmedRegions,
        likelihoods: RegionLikelihoods,
        ploidies: NDArray[np.int64],
    ) -> RegionRecords:
        """Return the records of the active regions, with their annotations."""
        timed, mode, samples = self._timed, self._mode, self._samples
        most = most_alleles(ploidies, self._options.genotyping.max_genotypes)
        has_spanning = self._options.events.has_spanning_alleles
        sites = timed("events", call_sites)(
            trimmed, segment.reference, most, has_spanning_alleles=has_spanning
        )
        reads = timed("genotypes", site_reads)(sites, likelihoods)
        all_sites, all_reads = sites, reads
        if self._contamination is not None:
            reads = timed("genotypes", without_contamination)(
                sites, reads, likelihoods.reads, segment.reads.names, self._contamination
            )
        sites, reads = timed("genotypes", mode.with_non_ref)(sites, reads)
        if trimmed.forced is not None:
            sites = timed("genotypes", with_forced_alleles)(sites, trimmed.forced)
        calls = timed("genotypes", called_variants)(
            sites, reads, likelihoods, samples, self._options.genotyping, ploidies
        )
        if not (self._contamination is None or self._options.contamination.is_for_annotations):
            _, reads = timed("genotypes", mode.with_non_ref)(all_sites, all_reads)
        reads = timed("genotypes", mode.with_kept_non_ref)(sites, reads, calls)
        annotations = timed("annotations", annotations_of)(
            calls, sites, reads, likelihoods, segment, samples, fields=mode.fields
        )
        if self._options.dragstr is not None:
            texts = timed("annotations", dragstr_texts)(
                calls, segment.reference, self._options.dragstr
            )
            annotations = replace(annotations, dragstr=texts)
        return RegionRecords(trimmed, likelihoods, sites, calls, annotations)

    def _marked(
        self,
        contig: str,
        calls: VariantCalls,
        rows: NDArray[np.bool_],
        annotations: Annotations,
    ) -> Annotations:
        """Return the annotations with IDs, flags and LowQual, if there may be any."""
        if self._given is None and not self._mode.fields.flags:
            return annotations
        marks = self._known.names_of(contig, calls, rows)
        if self._given is not None:
            filters = low_qualities(calls, self._options.genotyping.min_confidence)
            marks = replace(marks, filters=filters)
        return replace(annotations, marks=marks)

    def _without_records(
        self,
        segment: SegmentReads,
        regions: WindowRegions,
        reads: RegionReads | None,
        counts: Mapping[str, int],
    ) -> SegmentCalls:
        reference = self._mode.reference(segment, regions, reads, None)
        return SegmentCalls(segment.segment, counts, reference=reference)

"""Recipe of `hapgpu call`: inputs, the stages of a segment in their order, and outputs.

A worker calls one segment after the other; the output joins them in the order of the reference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.ragged import lengths_of
from hapgpu.calling.annotations.annotator import annotations_of
from hapgpu.calling.batches import (
    LEAD,
    Annotations,
    RegionLikelihoods,
    RegionReads,
    Segment,
    SegmentReads,
    TrimmedRegions,
    VariantCalls,
)
from hapgpu.calling.device_stages import DeviceStages, stages_on
from hapgpu.calling.events.alleles import call_sites
from hapgpu.calling.events.forced_events import RegionAlleles
from hapgpu.calling.events.spans import ANY_UNIT, LONGEST_UNIT
from hapgpu.calling.events.trimming import trimmed_to_variants
from hapgpu.calling.genotypes.calls import called_variants
from hapgpu.calling.genotypes.contamination import (
    sample_fractions,
    warn_of_other_samples,
    without_contamination,
)
from hapgpu.calling.genotypes.forced_alleles import called_given, with_forced_alleles
from hapgpu.calling.genotypes.genotype_tables import most_alleles
from hapgpu.calling.genotypes.likelihoods import prepared_reads, read_likelihoods
from hapgpu.calling.genotypes.site_reads import site_reads
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.call_lines import calls_header
from hapgpu.calling.output.filters import low_qualities
from hapgpu.calling.output.gvcf_parts import GvcfPart, JoinedLines, empty_blocks
from hapgpu.calling.output.known_names import KnownFile, KnownVariants, check_known, flags_of
from hapgpu.calling.output.realigned_records import (
    RealignedOutput,
    RealignedRecords,
    realigned_header,
)
from hapgpu.calling.reads.finalized import finalized_reads, reclipped_reads
from hapgpu.calling.reads.given_alleles import GivenSites, read_given_alleles
from hapgpu.calling.reads.segment_reader import SegmentReader
from hapgpu.calling.reads.segments import (
    BlocksOf,
    EmptyIntervals,
    SegmentSource,
    no_blocks,
    segment_bases,
)
from hapgpu.calling.reads.windows import Room
from hapgpu.calling.regions.active_regions import MAX_ROOM_BEFORE, ROOM_AFTER, ROOM_BEFORE
from hapgpu.calling.regions.junctions import NO_JUNCTIONS, junctions_of, widened_to
from hapgpu.calling.segment_calls import (
    RegionRecords,
    SegmentCalls,
    SegmentRecords,
    VariantsOnly,
    WindowRegions,
    call_mode,
    no_counts,
    read_counts,
    region_counts,
    segment_counts,
)
from hapgpu.errors import UsageError
from hapgpu.io.alignments.record_order import RecordRun
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.io.intervals.choice import ALL_INTERVALS, IntervalChoice
from hapgpu.io.vcf.writer import VcfWriter
from hapgpu.runtime import leftovers
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import CpuDevice, Device
from hapgpu.runtime.output import CountingSink, Output
from hapgpu.runtime.pipeline import run_pipeline
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.allocator import keep_freed_memory
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.processes.tallies import Tally
from hapgpu.runtime.progress import Progress
from hapgpu.runtime.statistics import RunStatistics, Timed, untimed
from hapgpu.version import __version__

PAIR_HMM: Final = "pairhmm"
"""Stage of the pair-HMM."""
GIVEN: Final = "given_alleles"
CALLED_GIVEN: Final = "given_alleles_called"
LOST_GIVEN: Final = "given_alleles_lost"
"""Counts of given alleles, those with a record, and the others."""

_ROOM: Final = Room(LEAD + ROOM_BEFORE, LEAD + MAX_ROOM_BEFORE, ROOM_AFTER)
_ALIGNER: Final = CpuDevice(1)
"""Most reads and haplotypes need no matrix, and the others are too few for a GPU."""

Work = Sequence[SegmentSource | EmptyIntervals]
"""Segments, and calling intervals without reads, for one worker."""


@dataclass(frozen=True, slots=True)
class CallInputs:
    """Inputs of calling.

    Attributes
    ----------
    reads
        Names of BAM, CRAM or SAM files; `-` is standard input.
    reference
        FASTA with its index.
    regions
        Regions that are called.
    max_record
        Bytes of a record or a header, at most.
    intervals
        Intervals that are called; with `regions`, what both have.
    known
        Files of known variants, which name records.
    alleles
        VCF or BCF of given alleles, if there are any.
    keeps_filtered
        Whether its filtered records count.
    """

    reads: Sequence[str]
    reference: Path
    regions: RegionChoice = EVERYTHING
    max_record: int = MAX_RECORD
    intervals: IntervalChoice = ALL_INTERVALS
    known: Sequence[KnownFile] = ()
    alleles: Path | None = None
    keeps_filtered: bool = False


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


class CallSession(Closeable):
    """Open inputs of a run; a context manager.

    Parameters
    ----------
    inputs
        The files.
    options
        Options of all stages.
    devices
        The devices that compute.
    threads
        CPU threads.
    segment_size
        Bases of a segment, at most; None: by the bases to call and the threads. Results do not
        depend on it.

    Attributes
    ----------
    options
        The options.
    samples
        Names of the samples, in the order of the files and their headers.
    contigs
        Lengths of the contigs of the reference, in the order of the records.
    bases
        Number of bases to call.
    reference
        Path of the reference.
    known
        Files of known variants.

    Raises
    ------
    InputError
        An input is missing, damaged, or does not fit the others.
    UsageError
        A region is not in the reference, an input is given twice, or a genomic VCF of several
        samples is wanted.
    """

    def __init__(
        self,
        inputs: CallInputs,
        options: CallOptions,
        devices: Sequence[Device],
        threads: int,
        segment_size: int | None = None,
    ) -> None:
        self.reference = inputs.reference
        self.options = options
        self.known = tuple(inputs.known)
        self._devices = devices
        self._threads = threads
        self._stages = [stages_on(device, options.assembly) for device in devices]
        self._source = ", ".join(inputs.reads)
        with ExitStack() as stack:
            reference = stack.enter_context(ReferenceFasta(inputs.reference))
            self._reads = stack.enter_context(
                SegmentReader(
                    inputs.reads,
                    reference,
                    options,
                    _ROOM,
                    threads=threads,
                    max_record=inputs.max_record,
                )
            )
            count = len(self._reads.samples)
            if options.genotyping.has_non_ref and count != 1:
                name = "--bp-resolution" if options.genomic.is_per_position else "--gvcf"
                raise UsageError(f"{name}: {count} samples; call each sample alone (--sample-name)")
            warn_of_other_samples(options.contamination, self._reads.samples)
            for file in self.known:
                check_known(file, self._reads.contigs)
            self._intervals = self._reads.intervals(inputs.regions, inputs.intervals)
            self._given = _given_alleles(inputs, reference)
            self._stack = stack.pop_all()
        self.samples = self._reads.samples
        self.contigs = self._reads.contigs
        self.bases = self._intervals.bases
        self._segment_size = segment_size or segment_bases(self.bases, threads)

    def warn_of_first_reads(self) -> None:
        """Warn of what the first reads of files show that would spoil the calls."""
        self._reads.warn_of_first_reads()

    def segments(self) -> Iterator[Work]:
        """Yield the segments with their reads, once, in the order of the records.

        A worker gets several segments of small contigs; contigs without reads have no segments.
        """
        options = self.options.genotyping
        blocks_of: BlocksOf = no_blocks
        if options.has_non_ref:
            blocks_of = partial(empty_blocks, ploidies=options.ploidies)
        return self._reads.parts(
            self._intervals,
            self._segment_size,
            blocks_of=blocks_of,
            all_are_segments=options.has_non_ref and self.options.genomic.is_per_position,
        )

    def realigned_records(self, command_line: str) -> RealignedRecords:
        """Return the maker of records of realigned reads; the header has a line for the run."""
        header = realigned_header(self._reads.headers, self._reads.sample_table, self.contigs)
        return RealignedRecords(header.with_program(command_line), self._source)

    def processes(self, count: int, tallies: Sequence[Tally] = ()) -> Processes:
        """Return so many processes for the workers, which also add to the tallies."""
        return Processes(count, [self._reads], [*tallies, self._reads.tally])

    def workers(
        self, timed: Timed = untimed, realigned: RealignedRecords | None = None
    ) -> list[SegmentWorker]:
        """Return the workers that together keep the devices and threads busy.

        A worker is a CPU thread, which may share a GPU; `realigned` as of `WorkerOptions`.
        """
        # A stream keeps the thread busy that makes segments; else that thread has little to do.
        threads = max(self._threads if self._reads.is_indexed else self._threads - 1, 1)
        options = WorkerOptions(
            call=self.options,
            samples=len(self.samples),
            source=self._source,
            realigned=realigned,
            contamination=sample_fractions(self.options.contamination, self.samples),
            known=self.known,
            given=self._given,
        )
        stages = self._stages
        return [
            open_worker(options, stages[number % len(stages)], timed)
            for number in range(max(threads, len(stages)))
        ]

    @property
    def given_alleles(self) -> int | None:
        """Number of given alleles within the calling intervals; None if there are none to call."""
        return None if self._given is None else self._given.count_in(self._intervals)

    @property
    def read_counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, by name."""
        return self._reads.counts

    def close(self) -> None:
        """Close the inputs."""
        self._stack.close()


def _given_alleles(inputs: CallInputs, reference: ReferenceFasta) -> GivenSites | None:
    """Read the given alleles, if there are any."""
    if inputs.alleles is None:
        return None
    filtered = inputs.keeps_filtered
    return read_given_alleles(inputs.alleles, reference, inputs.max_record, keeps_filtered=filtered)


class CalledParts(NamedTuple):
    """Formatted records of segments, and their realigned reads if they are wanted."""

    lines: list[bytes | GvcfPart | EmptyIntervals]
    realigned: list[tuple[Segment, RecordRun]]


def formatted(
    worker: SegmentWorker,
    mode: VariantsOnly,
    work: Work,
) -> Output[CalledParts]:
    """Call segments with a worker, and format their records."""
    counts: Counter[str] = Counter()
    parts = CalledParts([], [])
    for part in worker(work):
        if isinstance(part, EmptyIntervals):
            counts.update(no_counts(part.size))
            if part.bases.size:
                parts.lines.append(part)
            continue
        parts.lines.append(mode.lines(part))
        counts.update(part.counts)
        if part.realigned is not None:
            parts.realigned.append((part.segment, part.realigned))
    return Output(parts, counts, counts["bases"])


class _Writer:
    """Writer of lines, and of realigned reads if they are wanted."""

    def __init__(
        self, output: VcfWriter, joined: JoinedLines, realigned: RealignedOutput | None
    ) -> None:
        self._output = output
        self._joined = joined
        self._realigned = realigned

    def __call__(self, parts: CalledParts) -> None:
        self._output.write(b"".join(map(self._joined.add, parts.lines)))
        if self._realigned is not None:
            for segment, run in parts.realigned:
                self._realigned.write(segment, run)

    def finish(self) -> None:
        if self._realigned is not None:
            self._realigned.finish()
        self._output.write(self._joined.finish())
        self._output.finish()


def write_calls(
    session: CallSession,
    output: str,
    statistics: RunStatistics,
    *,
    threads: int,
    processes: int = 1,
    command_line: str,
    bam_out: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Call all segments of a session, and write the variants as VCF, and the realigned reads.

    Both files get their names when both are complete.

    Parameters
    ----------
    session
        The open inputs; all segments are read.
    output
        Name of the VCF, or `-`: see `VcfWriter`.
    statistics
        Receives counts, and the time of each stage.
    threads
        CPU threads; 1: the calling thread does everything.
    processes
        Number of processes that they are divided into.
    command_line
        For the headers.
    bam_out
        Name of the file of realigned reads, if it is wanted.
    progress
        Receives the number of bases of the calling intervals that are done.

    Raises
    ------
    InputError
        A read is malformed.
    OutputError
        An output cannot be written.
    UsageError
        htslib cannot index a file of such a name.
    """
    keep_freed_memory()
    timed = statistics.timed
    mode = call_mode(
        session.options,
        timed,
        flags=flags_of(session.known),
        has_given=session.given_alleles is not None,
    )
    header = calls_header(
        session.contigs,
        session.samples,
        command_line,
        __version__,
        fields=mode.fields,
        genomic=session.options.genomic_vcf,
    )
    lengths = list(session.contigs.values())
    io_threads = min(threads, MAX_IO_THREADS)
    with ExitStack() as stack:
        calls = stack.enter_context(VcfWriter(output, header, lengths, io_threads))
        records, realigned = None, None
        if bam_out is not None:
            records = session.realigned_records(command_line)
            realigned = RealignedOutput(bam_out, records, session.reference, io_threads)
            stack.enter_context(realigned)
        joined = JoinedLines(session.options.genomic, session.options.genotyping.ploidies)
        writer = _Writer(calls, joined, realigned)
        run_pipeline(
            statistics.timed_source("read", session.segments()),
            [partial(formatted, worker, mode) for worker in session.workers(timed, records)],
            timed("write", CountingSink(writer, statistics)),
            progress=progress,
            extent=session.bases,
            threaded=threads > 1,
            processes=session.processes(processes, [statistics]),
        )
        writer.finish()
        with leftovers.steady():
            stack.close()
    statistics.add(session.read_counts)
    if (given := session.given_alleles) is not None:
        called = statistics.counts.get(CALLED_GIVEN, 0)
        statistics.add({GIVEN: given, LOST_GIVEN: given - called})

"""Session of `hapgpu call`: open inputs, their segments, and the workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from hapgpu.calling.batches import (
    LEAD,
)
from hapgpu.calling.device_stages import stages_on
from hapgpu.calling.genotypes.contamination import (
    sample_fractions,
    warn_of_other_samples,
)
from hapgpu.calling.known.indexed_copies import by_position
from hapgpu.calling.known.names import KnownFile, check_known
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.gvcf_parts import empty_blocks
from hapgpu.calling.output.realigned_records import (
    RealignedRecords,
    realigned_header,
)
from hapgpu.calling.reads.given_alleles import GivenSites, read_given_alleles
from hapgpu.calling.reads.segment_reader import SegmentReader
from hapgpu.calling.reads.segments import (
    BlocksOf,
    no_blocks,
    segment_bases,
)
from hapgpu.calling.reads.windows import Room
from hapgpu.calling.regions.active_regions import MAX_ROOM_BEFORE, ROOM_AFTER, ROOM_BEFORE
from hapgpu.calling.worker import SegmentWorker, Work, WorkerOptions, open_worker
from hapgpu.errors import UsageError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.io.intervals.choice import ALL_INTERVALS, IntervalChoice
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.devices import Device
from hapgpu.runtime.processes.forked import Processes
from hapgpu.runtime.processes.tallies import Tally
from hapgpu.runtime.statistics import Timed, untimed

_ROOM: Final = Room(LEAD + ROOM_BEFORE, LEAD + MAX_ROOM_BEFORE, ROOM_AFTER)


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
            self.known = tuple(by_position(file, stack) for file in inputs.known)
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

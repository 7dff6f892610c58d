"""Session of a calling run: its open inputs, and the workers of its devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hapgpu.calling.activity.active_regions import MAX_ROOM_BEFORE, ROOM_AFTER, ROOM_BEFORE
from hapgpu.calling.batches import LEAD
from hapgpu.calling.caller import Caller, SegmentCalls, Timed, untimed
from hapgpu.calling.likelihoods.shared_batches import LikelihoodsOf, SharedBatches
from hapgpu.calling.options import CallOptions
from hapgpu.calling.output.realigned_header import realigned_header
from hapgpu.calling.output.realigned_records import RealignedRecords
from hapgpu.calling.reads.segment_reader import SegmentReader
from hapgpu.calling.reads.segments import EmptyIntervals, SegmentSource, segment_bases
from hapgpu.calling.reads.windows import Room
from hapgpu.errors import UsageError
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import EVERYTHING, RegionChoice
from hapgpu.pairhmm.forward.dispatch import log10_likelihoods
from hapgpu.runtime.devices import CpuDevice, Device

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
    """

    reads: Sequence[str]
    reference: Path
    regions: RegionChoice = EVERYTHING
    max_record: int = MAX_RECORD


class SegmentWorker:
    """Worker that reads and calls segments.

    Parameters
    ----------
    caller
        The caller.
    timed
        Takes the name of a stage and its function; returns the function, perhaps timed.
    """

    def __init__(self, caller: Caller, timed: Timed) -> None:
        self._caller = caller
        self._read = timed("read", SegmentSource.read)
        self._read_far = timed("read", lambda source: source.read(far=True))

    def __call__(
        self, group: Sequence[SegmentSource | EmptyIntervals]
    ) -> list[SegmentCalls | EmptyIntervals]:
        """Read and call segments, in parts where they have very many reads.

        Intervals without reads are returned as they are.

        Raises
        ------
        InputError
            As `SegmentSource.read` and `Caller`.
        DeviceError
            The device has too little memory, or failed.
        """
        called: list[SegmentCalls | EmptyIntervals] = []
        for part in group:
            called += [part] if isinstance(part, EmptyIntervals) else self._called(part)
        return called

    def _called(self, source: SegmentSource) -> list[SegmentCalls]:
        reads = self._read(source)
        if reads is None:
            return [calls for half in source.halves() for calls in self._called(half)]
        calls = self._caller(reads) or self._caller(self._read_far(source))
        if calls is None:
            message = f"{source.segment}: no start of an active region in the far window"
            raise ValueError(message)
        return [calls]


class CallSession:
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
    samples
        Names of the samples, in the order of the files and their headers.
    contigs
        Lengths of the contigs of the reference, in the order of the records.
    bases
        Number of bases to call.
    reference
        Path of the reference.

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
        self._options = options
        self._devices = devices
        self._threads = threads
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
            if self.is_gvcf and count != 1:
                raise UsageError(f"--gvcf: {count} samples; call each sample alone")
            self._intervals = self._reads.intervals(inputs.regions)
            self._stack = stack.pop_all()
        self.samples = self._reads.samples
        self.contigs = self._reads.contigs
        self.bases = sum(interval.end - interval.start for interval in self._intervals)
        self._segment_size = segment_size or segment_bases(self._intervals, threads)

    @property
    def is_gvcf(self) -> bool:
        """Whether the calls are for a genomic VCF."""
        return self._options.genotyping.has_non_ref

    def segments(self) -> Iterator[Sequence[SegmentSource | EmptyIntervals]]:
        """Yield the segments with their reads, once, in the order of the records.

        A worker gets several segments of small contigs; contigs without reads have no segments.
        """
        return self._reads.parts(self._intervals, self._segment_size, with_bases=self.is_gvcf)

    def realigned_records(self, command_line: str) -> RealignedRecords:
        """Return the maker of records of realigned reads; the header has a line for the run."""
        header = realigned_header(self._reads.headers, self._reads.sample_table, self.contigs)
        return RealignedRecords(header.with_program(command_line), self._source)

    def workers(
        self, timed: Timed = untimed, realigned: RealignedRecords | None = None
    ) -> list[SegmentWorker]:
        """Return the workers that together keep the devices and threads busy.

        Parameters
        ----------
        timed
            Takes the name of a stage and its function; returns the function, perhaps timed.
        realigned
            Makes records of realigned reads, if they are wanted.
        """
        samples = len(self.samples)
        return [
            SegmentWorker(
                Caller(self._options, samples, pair_hmm, self._source, timed, realigned), timed
            )
            for pair_hmm in self._pair_hmms()
        ]

    def _pair_hmms(self) -> list[LikelihoodsOf]:
        """Return the pair-HMM of each worker: a worker is a CPU thread, which may share a GPU."""
        # A stream keeps the thread busy that makes segments; else that thread has little to do.
        threads = max(self._threads if self._reads.is_indexed else self._threads - 1, 1)
        devices = [_pair_hmm_on(device) for device in self._devices]
        count = max(threads, len(devices))
        return [devices[number % len(devices)] for number in range(count)]

    @property
    def read_counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, by name."""
        return self._reads.counts

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()


def _pair_hmm_on(device: Device) -> LikelihoodsOf:
    if isinstance(device, CpuDevice):
        return partial(log10_likelihoods, device=CpuDevice(1))
    return SharedBatches(partial(log10_likelihoods, device=device))

"""Aligned reads of all inputs at each batch of loci."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.read_columns import ReadColumns, gathered_reads
from hapgpu.genotyping.batches import GenotypedLoci, LocusReads
from hapgpu.genotyping.reads.filters import FilterOptions, ReadFilter
from hapgpu.genotyping.reads.inputs import AlignedInput, OpenInputs, ReadingOptions, open_aligned
from hapgpu.genotyping.reads.locus_groups import LocusGroup, LocusIntervals, locus_groups_of
from hapgpu.genotyping.reads.read_buffer import ReadBuffer, SamplesOf, SortedBuffer
from hapgpu.haplotypes.batches import LocusBatch
from hapgpu.io.alignments.alt_contigs import warn_of_alt_contigs
from hapgpu.io.bam.read_groups import SampleTable
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.regions import END_OF_CONTIG
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.in_run import TurnInRun
from hapgpu.runtime.processes.tallies import Tally

if TYPE_CHECKING:
    from hapgpu.genotyping.deep_loci import DeepLoci

_MAX_BASES: Final = 8_000_000  # in host memory
_BATCH_BASES: Final = (65_536, 2_000_000)  # of each input, times as many as there are workers
_NO_READS: Final = ReadColumns.empty(*[np.empty(0, dtype=np.int32)] * 4).to_batch()

Buffer = TypeVar("Buffer", bound=SortedBuffer[Any])
Found = TypeVar("Found")
"""Batch of loci with their reads."""
Given = TypeVar("Given")
"""Batch of loci with their reads as any worker takes it."""


DeepLociOf: TypeAlias = "Callable[[LocusBatch], DeepLoci]"
"""Function that returns `DeepLoci` without reads."""


@dataclass(frozen=True, slots=True)
class GroupReads(Generic[Found]):
    """Reads at a group of loci, read on iteration, in the iterating thread."""

    group: LocusGroup
    read: Callable[[LocusGroup], Iterator[Found]]

    def __iter__(self) -> Iterator[Found]:
        return self.read(self.group)


@dataclass(frozen=True, slots=True)
class _Batches(Generic[Buffer]):
    """Batches of a group while it is read; `deep` are those that have had too many reads."""

    group: LocusGroup
    buffers: list[Buffer]
    new: DeepLociOf | None
    deep: dict[int, DeepLoci] = field(default_factory=dict)

    def deep_loci(self, number: int) -> DeepLoci:
        if number not in self.deep and self.new is not None:
            self.deep[number] = self.new(self.group.batches[number][0])
        return self.deep[number]


@dataclass(frozen=True, slots=True)
class ReadingStages(Generic[Buffer, Found, Given]):
    """Stages of reading for one kind of device.

    Attributes
    ----------
    open_input
        Opens an input.
    samples_of
        Returns the function that returns the samples of reads, given the number of an input.
    gather
        Returns the reads of all buffers, in their order, that overlap an interval.
    host_pieces
        Yields reads in host memory, in order, in pieces of a limited size.
    hand_over
        Yields what was read of streams in a form that any worker takes.
    max_bases
        Bases of buffered reads of a group; above it, loci are yielded as soon as they are complete,
        and reads of a locus that is not are taken piece by piece.
    max_batches
        Batches of loci per group; None: the usual number.
    """

    open_input: Callable[[str, ReadingOptions], AlignedInput]
    samples_of: Callable[[SampleTable, int], object]
    gather: Callable[[list[Buffer], LocusBatch, LocusIntervals], Found]
    host_pieces: Callable[[Found], Iterable[LocusReads]]
    hand_over: Callable[[Iterator[Found | GenotypedLoci]], Iterator[Given | GenotypedLoci]]
    max_bases: int
    max_batches: int | None = None


class AlignedReads(Generic[Buffer, Found, Given]):
    """Reads at loci of one or several BAM, CRAM and SAM inputs; a context manager.

    Parameters
    ----------
    paths
        Files, at least one; `-` is standard input.
    stages
        Stages of the device.
    threads
        CPU threads to read streams with, including the calling thread.
    reference
        FASTA that CRAM is compressed against.
    filters
        Filters of reads, and the margin around a locus.
    max_bases
        As in `ReadingStages`, which has the usual number.
    max_record
        Bytes of a record or a header, at most.

    Attributes
    ----------
    samples
        All samples, in the order of the inputs and their headers.

    Raises
    ------
    InputError
        An input cannot be read, has no index or holds no alignments.
    UsageError
        An input is given twice, or none at all.
    """

    def __init__(
        self,
        paths: Sequence[str],
        stages: ReadingStages[Buffer, Found, Given],
        *,
        threads: int,
        reference: Path,
        filters: FilterOptions,
        max_bases: int | None = None,
        max_record: int = MAX_RECORD,
    ) -> None:
        inputs = max(len(paths), 1)
        self._stages = stages
        self._reference = reference
        self._margin = filters.margin
        self._max_bases = stages.max_bases if max_bases is None else max_bases
        self._filter = ReadFilter(filters)
        self._turn = TurnInRun()
        reading = ReadingOptions(
            threads=1 + (min(threads, MAX_IO_THREADS) - 1) // inputs,
            batch_bases=int(np.clip(self._max_bases // (4 * inputs), *_BATCH_BASES)),
            reference=reference,
            max_record=max_record,
        )
        self._inputs = OpenInputs(
            paths,
            lambda path: stages.open_input(path, reading),
            without_haplotypes=filters.without_haplotypes,
        )
        self.table = self._inputs.table

    @property
    def samples(self) -> tuple[str, ...]:
        """All samples, in the order of the inputs and their headers."""
        return self.table.names

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, see `ReadFilter`.

        For files with an index, these are the reads at the loci, for others all reads.
        """
        return self._filter.counts

    @property
    def tally(self) -> Tally:
        """The tally of these counts."""
        return self._filter

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return len(self._inputs)

    def check_contigs(self, lengths: Mapping[str, int]) -> None:
        """Compare the contigs of the inputs and the reference; warn of ALT contigs without list.

        Raises
        ------
        InputError
            A contig of an input has another length in the reference, or an index is damaged.
        """
        self._inputs.check_contigs(lengths, self._reference)
        warn_of_alt_contigs(self._inputs.files(), self._reference)

    @property
    def is_indexed(self) -> bool:
        """Whether groups are read on iteration; else they are read when `at` yields them."""
        return self._inputs.are_indexed

    def at(
        self, batches: Iterator[LocusBatch], deep_loci: DeepLociOf | None = None
    ) -> Iterator[Iterable[Found | Given | GenotypedLoci]]:
        """Yield groups of loci in order, with all kept reads that overlap a locus or its margin.

        Each group must be iterated once. If all inputs are indexed, it is read on iteration, in any
        order and thread, and errors are raised there. Where depth is high, a batch is yielded in
        slices. The reads are in the order of the inputs, and within an input in its order.

        Parameters
        ----------
        batches
            Batches of at least one locus, contig by contig; for streamed inputs the contigs are in
            the order of the header.
        deep_loci
            Takes the reads of loci that have more than `max_bases`, piece by piece, one group at a
            time: their result is yielded instead of their reads. None: all reads of a locus are
            held.

        Raises
        ------
        InputError
            An input lacks a contig, is not sorted, is damaged, or is a stream that is already past
            a contig.
        """
        for group in locus_groups_of(batches, self._margin, self._stages.max_batches):
            if self.is_indexed:
                yield GroupReads(group, partial(self._read, deep_loci=deep_loci))
            else:
                found = self._stages.hand_over(self._read(group, deep_loci))
                yield from ([reads] for reads in found)

    def _read(
        self, group: LocusGroup, deep_loci: DeepLociOf | None
    ) -> Iterator[Found | GenotypedLoci]:
        with ExitStack() as stack:
            buffers: list[Buffer] = [
                stack.enter_context(
                    input_.at(group, self._filter, self._stages.samples_of(self.table, file))
                )
                for file, input_ in enumerate(self._inputs)
            ]
            batches = _Batches(group, buffers, deep_loci)
            for number, next_start in enumerate(group.next_starts()):
                yield from self._slices(batches, number, next_start)

    def _slices(
        self, batches: _Batches[Buffer], number: int, next_start: int
    ) -> Iterator[Found | GenotypedLoci]:
        """Yield a batch, perhaps in slices; drop reads that no later locus needs."""
        batch, intervals = batches.group.batches[number]
        min_starts, max_ends = intervals.min_starts(next_start), intervals.max_ends
        done, count = 0, len(batch.loci)
        while done < count:
            for buffer in batches.buffers:
                buffer.drop_before(int(min_starts[done]))
            end = self._read_on(batches, max_ends, done)
            found: Found | GenotypedLoci
            if end == done or number in batches.deep:
                end, found = self._deep(batches, number, done, end)
            else:
                part = batch if end - done == count else batch.slice(done, end)
                found = self._stages.gather(batches.buffers, part, intervals.slice(done, end))
            yield found
            done = end

    def _read_on(self, batches: _Batches[Buffer], max_ends: NDArray[np.int64], done: int) -> int:
        """Read until all loci from `done` on are complete, or `max_bases` is exceeded.

        Return the first locus that is not complete; it is after `done` unless the reads of one
        locus are taken in pieces.
        """
        buffers = batches.buffers
        while True:
            slowest = min(buffers, key=lambda buffer: buffer.frontier)
            complete = int(np.searchsorted(max_ends, slowest.frontier, side="right"))
            if complete == max_ends.size:
                return complete
            may_return = complete > done or batches.new is not None
            if may_return and sum(buffer.bases for buffer in buffers) > self._max_bases:
                return complete
            slowest.read_on()

    def _deep(
        self, batches: _Batches[Buffer], number: int, done: int, end: int
    ) -> tuple[int, GenotypedLoci]:
        """Take the reads of locus `done` in pieces; return the end of the loci, and their result.

        Only one worker does this at a time: it is not a generator, which would hold the turn while
        its result is used.
        """
        max_ends = batches.group.batches[number][1].max_ends
        with self._turn:
            while end == done:
                self._take_all(batches, number, done)
                end = self._read_on(batches, max_ends, done)
            self._take(batches, number, done, end)
            return end, batches.deep_loci(number).finish(done, end)

    def _take_all(self, batches: _Batches[Buffer], number: int, done: int) -> None:
        """Take all buffered reads, for all loci of the group from one on, and drop them."""
        group = batches.group
        self._take(batches, number, done, len(group.batches[number][0].loci))
        for later in range(number + 1, len(group.batches)):
            self._take(batches, later, 0, len(group.batches[later][0].loci))
        for buffer in batches.buffers:
            buffer.release(END_OF_CONTIG if self.is_indexed else group.next_start)

    def _take(self, batches: _Batches[Buffer], number: int, start: int, end: int) -> None:
        """Take the buffered reads of the loci start to end of a batch."""
        batch, intervals = batches.group.batches[number]
        part, bounds = batch.slice(start, end), intervals.slice(start, end)
        found = self._stages.gather(batches.buffers, part, bounds)
        for reads in self._stages.host_pieces(found):
            if len(reads.reads):
                batches.deep_loci(number).add(reads, start)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._inputs.close()


def _gathered(
    buffers: list[ReadBuffer], batch: LocusBatch, intervals: LocusIntervals
) -> LocusReads:
    ordered = intervals.sorted()
    found = [
        (file, reads)
        for file, buffer in enumerate(buffers)
        for reads in buffer.at(ordered.starts, ordered.max_ends)
    ]
    if not found:
        empty = np.empty(0, dtype=np.int32)
        return LocusReads(batch, _NO_READS, empty, empty)
    return LocusReads(
        batch,
        gathered_reads([(buffered.reads, buffered.rows) for _, buffered in found]),
        np.concatenate([buffered.samples for _, buffered in found]),
        np.concatenate(
            [np.full(buffered.rows.size, file, dtype=np.int32) for file, buffered in found]
        ),
    )


def _samples_of(table: SampleTable, file: int) -> SamplesOf:
    return partial(table.samples_of, file)


def _as_one_piece(found: LocusReads) -> list[LocusReads]:
    return [found]


def _as_it_is(found: Iterator[LocusReads | GenotypedLoci]) -> Iterator[LocusReads | GenotypedLoci]:
    return found


HOST_READING: Final = ReadingStages(
    open_input=open_aligned,
    samples_of=_samples_of,
    gather=_gathered,
    host_pieces=_as_one_piece,
    hand_over=_as_it_is,
    max_bases=_MAX_BASES,
)
"""Stages of reading to host memory."""

"""Reads of segments, from all inputs of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.calling.batches import Segment
from hapgpu.calling.checks.alt_mapping import warn_of_alt_mapping
from hapgpu.calling.checks.first_reads import warn_of_first_reads
from hapgpu.calling.checks.headers import check_sequences, warn_of_missing_samples
from hapgpu.calling.options import CallOptions
from hapgpu.calling.reads.chosen_intervals import chosen_intervals
from hapgpu.calling.reads.file_filters import FileFilters
from hapgpu.calling.reads.filters import (
    CallFilter,
    check_contigs_of_intervals,
    check_names_for_vcf,
    check_order_of_streams,
    contigs_of_reads,
    finder_of_reads,
    ordered_contigs,
)
from hapgpu.calling.reads.segments import (
    BlocksOf,
    CallingIntervals,
    EmptyIntervals,
    SegmentSource,
    SharedReads,
    calling_intervals,
    groups_of,
    runs_of,
)
from hapgpu.calling.reads.windows import (
    Room,
    Window,
    WindowReads,
    as_regular,
    check_qualities,
    downsampled,
    in_crowds,
    reads_of_window,
    reference_of,
)
from hapgpu.genotyping.reads.filters import AnyReadFilter
from hapgpu.genotyping.reads.inputs import (
    AlignedInput,
    OpenInputs,
    ReadingOptions,
    StreamedInput,
    open_aligned,
)
from hapgpu.genotyping.reads.read_buffer import ReadBuffer, SamplesOf
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.header import SamHeader
from hapgpu.io.bam.read_groups import SampleTable
from hapgpu.io.files.record_limit import MAX_RECORD
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import END_OF_CONTIG, RegionChoice
from hapgpu.io.intervals.choice import ALL_INTERVALS, IntervalChoice
from hapgpu.runtime.closeable import Closeable
from hapgpu.runtime.pool import MAX_IO_THREADS
from hapgpu.runtime.processes.tallies import Tally

_BATCH_BASES: Final = 4_000_000  # of each input: most of a segment at 30x
_MAX_BASES: Final = 32_000_000
"""Bases of the reads of a segment; above it, they are downsampled at once, and a segment with still
too many is halved."""
_MAX_ALL_BASES: Final = 150_000_000
"""Bases of the reads of all segments at work: about 1.6 GB, with what is computed of them."""
_SHORT: Final = 1000
"""Segments of so many bases are not halved: most of their reads are beside them."""


class SegmentReader(Closeable):
    """Reads of segments of one or several BAM, CRAM and SAM inputs; a context manager.

    Parameters
    ----------
    paths
        Files, at least one; `-` is standard input.
    reference
        The reference, also of CRAM.
    options
        Options of the filters.
    room
        Bases beside a segment whose reads it needs.
    threads
        CPU threads to read streams with, including the calling thread.
    max_record
        Bytes of a record or a header, at most.

    Attributes
    ----------
    contigs
        Lengths of all contigs of the reference, in the order of the records.

    Raises
    ------
    InputError
        An input cannot be read, has no index, holds no alignments, or has contigs of other lengths.
    UsageError
        An input is given twice, or none at all; or a sample or a read group of the options is not
        in the headers.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reference: ReferenceFasta,
        options: CallOptions,
        room: Room,
        *,
        threads: int,
        max_record: int = MAX_RECORD,
    ) -> None:
        reading = ReadingOptions(
            threads=1 + (min(threads, MAX_IO_THREADS) - 1) // max(len(paths), 1),
            batch_bases=_BATCH_BASES,
            reference=reference.path,
            max_record=max_record,
            regular_bases=True,
        )
        self._source = ", ".join(paths)
        self._reference = reference
        self._room = room
        self._options = options
        self._max_record = max_record
        self._filter = CallFilter(options)
        with ExitStack() as stack:
            self._inputs = OpenInputs(paths, partial(open_aligned, reading=reading))
            stack.callback(self._inputs.close)
            self._inputs.check_contigs(reference.lengths, reference.path)
            self.contigs = ordered_contigs(self._inputs, reference.lengths)
            self._file_filters = FileFilters(options.reads, self.headers, self._inputs.table)
            files = self._inputs.files()
            warn_of_missing_samples(files, self._inputs.table)
            warn_of_alt_mapping(files, reference.path, max_record)
            self._stack = stack.pop_all()
        self._max_bases = min(_MAX_BASES, max(_MAX_ALL_BASES // threads, _BATCH_BASES))
        self._depth = 0.0  # bases of reads per base of the window that was read last

    @property
    def samples(self) -> tuple[str, ...]:
        """The samples that are called, in the order of the inputs and their headers."""
        return self.sample_table.names

    @property
    def headers(self) -> list[SamHeader]:
        """The headers of the inputs."""
        return [input_.header for input_ in self._inputs]

    @property
    def sample_table(self) -> SampleTable:
        """The samples that are called, by read groups."""
        return self._file_filters.table

    @property
    def counts(self) -> Mapping[str, int]:
        """Numbers of reads and of excluded reads so far, see `CallFilter`.

        For files with an index, these are the reads at the segments, for others all reads.
        """
        return self._filter.counts

    @property
    def tally(self) -> Tally:
        """The tally of these counts."""
        return self._filter

    @property
    def is_indexed(self) -> bool:
        """Whether a segment is read by the thread that asks for its reads."""
        return self._inputs.are_indexed

    def warn_of_first_reads(self) -> None:
        """Warn of what the first reads of files show, see `checks.first_reads`."""
        warn_of_first_reads(
            self._inputs.files(),
            self._inputs.table,
            self._options,
            self._reference.path,
            self._max_record,
        )

    def intervals(
        self, choice: RegionChoice, given: IntervalChoice = ALL_INTERVALS
    ) -> CallingIntervals:
        """Return the calling intervals: the regions of the user, else all contigs with reads.

        Parameters
        ----------
        choice
            The regions.
        given
            Further intervals; called is what both have.

        Raises
        ------
        UsageError
            The reference lacks the contig of a region, the region is not within it, or as
            `IntervalChoice.on`.
        InputError
            An input lacks the contig of a region, or all contigs of the reference; or it is a
            stream whose contigs have another order; or VCF does not allow the name of a contig; or
            a contig has two checksums.
        """
        contigs_with_reads = partial(
            contigs_of_reads, self._inputs, self.contigs, self._reference.path
        )
        if not given.is_everything:
            intervals = chosen_intervals(choice, given, self.contigs, contigs_with_reads)
            check_contigs_of_intervals(self._inputs, intervals.contigs)
        elif choice.is_everything:
            intervals = calling_intervals(choice, contigs_with_reads())
        else:
            intervals = calling_intervals(choice, self.contigs)
            check_contigs_of_intervals(self._inputs, intervals.contigs)
        names = [intervals.contigs[row] for row in intervals.runs()[:-1]]
        check_names_for_vcf(names, self._reference.path)
        check_sequences(self._inputs.files(), names, self._reference.path)
        check_order_of_streams(self._inputs, names)
        return intervals

    def parts(
        self,
        intervals: CallingIntervals,
        max_bases: int,
        *,
        blocks_of: BlocksOf,
        all_are_segments: bool = False,
    ) -> Iterator[Sequence[SegmentSource | EmptyIntervals]]:
        """Yield calling intervals in order, in groups for one worker each.

        A group is a segment, or segments of several small contigs, whose reads are read together,
        and intervals of contigs without reads.

        Parameters
        ----------
        intervals
            The calling intervals.
        max_bases
            Bases of a segment, at most.
        blocks_of
            Returns the reference blocks of intervals without reads; their first bases are read.
        all_are_segments
            Whether intervals of contigs without reads are segments, too.
        """
        shared_bases = max_bases if self.is_indexed else 0
        filter_of = partial(self._file_filters.of, self._filter)
        have_reads = finder_of_reads(
            self._inputs, self._last_end, filter_of, self.sample_table.samples_of
        )
        runs = runs_of(intervals, _all_have_reads if all_are_segments else have_reads)
        for group in groups_of(runs, self.contigs, max_bases, shared_bases):
            if isinstance(group, list):
                yield self._together(group, blocks_of)
            else:
                yield from ([source] for source in self.at(group))

    def _together(
        self, group: Sequence[Segment | CallingIntervals], blocks_of: BlocksOf
    ) -> list[SegmentSource | EmptyIntervals]:
        """Return segments of different contigs, and intervals without reads."""
        segments = [part for part in group if isinstance(part, Segment)]
        shared = SharedReads(partial(self._read_together, segments))
        return [
            self._shared_source(part, shared)
            if isinstance(part, Segment)
            else self._empty(part, blocks_of)
            for part in group
        ]

    def _empty(self, intervals: CallingIntervals, blocks_of: BlocksOf) -> EmptyIntervals:
        chosen = blocks_of(intervals)
        bases = as_regular(self._reference.bases_at(chosen.contigs, chosen.starts))
        return EmptyIntervals(intervals.bases, chosen, bases)

    def _shared_source(self, segment: Segment, shared: SharedReads) -> SegmentSource:
        start, end = self._room.window(segment, far=True)
        reference = reference_of(self._reference, segment.contig, start, end)

        window_reads = partial(self._shared_or_anew, shared, segment)
        halves = partial(self._halves, segment, 0, reference)
        return SegmentSource(segment, self._room, reference, window_reads, halves)

    def _shared_or_anew(
        self, shared: SharedReads, segment: Segment, *, far: bool
    ) -> WindowReads | None:
        found = None if far else shared.take(segment.contig)
        return found or self._read_anew(segment, 0, far=far)

    def _read_together(self, segments: Sequence[Segment]) -> dict[str, WindowReads] | None:
        """Return the reads of segments by contig; None if they are to be read one by one."""
        windows = [self._window(segment, 0, far=False) for segment in segments]
        read_filter, bases = CallFilter(self._options), 0
        found: dict[str, WindowReads] = {}
        with ExitStack() as stack:
            inputs: list[AlignedInput] = []
            for input_ in self._inputs:
                known = [(input_.header.reference_id(each.contig), each) for each in windows]
                numbers = [number for number, _ in known if number is not None]
                if isinstance(input_, StreamedInput) or numbers != sorted(numbers):
                    return None
                own = [window for number, window in known if number is not None]
                inputs.append(stack.enter_context(input_.over(own)))
            for window in windows:
                reads = self._read(window, read_filter, self._max_bases - bases, inputs)
                if reads is None:
                    return None
                found[window.contig] = reads
                bases += reads.reads.bases.data.size
        self._filter.add(read_filter.counts)
        return found

    def _last_end(self, contig: str, end: int) -> int:
        """Return the end of the last window of an interval that ends there."""
        return min(end + self._room.after, self.contigs[contig])

    def at(self, segments: Iterable[Segment]) -> Iterator[SegmentSource]:
        """Yield segments with their reads.

        If all inputs are indexed, the reads are read when they are asked for, in any order and
        thread, and errors are raised there.

        Parameters
        ----------
        segments
            Segments in the order of the calling intervals.
        """
        counted_end, contig = 0, ""
        for segment in segments:
            counted_end = counted_end if segment.contig == contig else 0
            contig = segment.contig
            start, end = self._room.window(segment, far=True)
            reference = reference_of(self._reference, contig, start, end)
            yield self._source_of(segment, counted_end, reference)
            counted_end = end

    def _source_of(
        self, segment: Segment, counted_end: int, reference: ReferenceSlice
    ) -> SegmentSource:
        halves = partial(self._halves, segment, counted_end, reference)
        if self.is_indexed:
            window_reads: Callable[..., WindowReads | None] = partial(
                self._read_anew, segment, counted_end
            )
        else:
            window = self._window(segment, counted_end, far=True)
            found = self._read(window, self._filter, inf)
            window_reads = partial(self._kept, segment, found)
        return SegmentSource(segment, self._room, reference, window_reads, halves)

    def _halves(
        self, segment: Segment, counted_end: int, reference: ReferenceSlice
    ) -> list[SegmentSource]:
        middle = (segment.start + segment.end) // 2
        halves = replace(segment, end=middle), replace(segment, start=middle)
        counted_ends = counted_end, self._room.window(halves[0], far=False)[1]
        return [
            self._source_of(half, half_counted_end, reference)
            for half, half_counted_end in zip(halves, counted_ends, strict=True)
        ]

    def _window(self, segment: Segment, counted_end: int, *, far: bool) -> Window:
        start, end = self._room.window(segment, far=far)
        return Window(
            segment.contig,
            segment.contig_length,
            start,
            end,
            counted_end,
            self._options.max_reads_per_start,
            segment.start,
            segment.start if far and self.is_indexed else segment.end,
        )

    def _kept(
        self, segment: Segment, found: WindowReads | None, *, far: bool
    ) -> WindowReads | None:
        """Return those of the reads of the far window that a window needs."""
        return found and found.take(found.ends > self._room.window(segment, far=far)[0])

    def _read_anew(self, segment: Segment, counted_end: int, *, far: bool) -> WindowReads | None:
        """Read a window of indexed files; None if its reads are too many.

        The far window is a second try, which counts no reads.
        """
        max_bases: float = self._max_bases
        if far or segment.end - segment.start <= _SHORT:
            max_bases = inf
        window = self._window(segment, END_OF_CONTIG if far else counted_end, far=far)
        if self._depth * (window.end - window.start) > max_bases:
            self._depth /= 2  # the next reads may be fewer
            return None
        read_filter = CallFilter(self._options)
        found = self._read(window, read_filter, max_bases)
        if found is not None:
            self._filter.add(read_filter.counts)
        return found

    def _read(
        self,
        window: Window,
        read_filter: CallFilter,
        max_bases: float,
        inputs: Iterable[AlignedInput] | None = None,
    ) -> WindowReads | None:
        """Read a window; None if its reads have more bases. Note how many they have."""
        length, bases = window.end - window.start, 0
        with ExitStack() as stack:
            buffers = [
                stack.enter_context(input_.at(window, *self._choice_of(read_filter, file)))
                for file, input_ in enumerate(inputs or self._inputs)
                if input_.header.reference_id(window.contig) is not None
            ]
            for buffer in buffers:
                if not self._is_read(buffer, window, read_filter, max_bases - bases):
                    self._depth = 2 * max_bases / length  # at most, so that halves are read
                    return None
                bases += buffer.bases
            self._depth = bases / length
            choose = partial(self._downsampled, window.own_start, window.own_end, read_filter)
            return reads_of_window(buffers, window, choose, self._source)

    def _is_read(
        self, buffer: ReadBuffer, window: Window, read_filter: CallFilter, max_bases: float
    ) -> bool:
        """Read all reads that decide about those of a window; False if they are too many."""
        # What a stream drops is not read again: it is counted at once.
        own_end = window.own_end if self.is_indexed else END_OF_CONTIG
        choose = partial(self._chosen, window.own_start, own_end, read_filter)
        buffer.drop_before(window.first)
        limit = max(self._max_bases, 2 * buffer.bases)
        while buffer.frontier < window.last:
            buffer.read_on()
            if buffer.bases > limit:
                buffer.keep(choose)
                if buffer.bases > max_bases:
                    return False
                limit = max(self._max_bases, 2 * buffer.bases)
        return True

    def _chosen(
        self,
        own_start: int,
        own_end: int,
        read_filter: CallFilter,
        reads: ReadBatch,
        samples: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Return which reads are kept, as `_downsampled`; the others are checked here only."""
        check_qualities(reads, np.arange(len(reads)), self._source)
        return self._downsampled(own_start, own_end, read_filter, reads, samples)

    def _downsampled(
        self,
        own_start: int,
        own_end: int,
        read_filter: CallFilter,
        reads: ReadBatch,
        samples: NDArray[np.int32],
    ) -> NDArray[np.bool_]:
        """Return which reads are kept; count the reads in crowds from `own_start` to `own_end`."""
        limit = self._options.max_reads_per_start
        kept = downsampled(reads, samples, limit)
        excess = in_crowds(reads, samples, kept, limit)
        kept[excess] = False
        starts = reads.positions[excess]
        count = int(np.count_nonzero((starts >= own_start) & (starts < own_end)))
        read_filter.add({"reads_over_limit": count})
        return kept

    def _choice_of(self, read_filter: CallFilter, file: int) -> tuple[AnyReadFilter, SamplesOf]:
        """Return the filter of the reads of an input, and the function that finds their samples."""
        samples_of = partial(self.sample_table.samples_of, file)
        return self._file_filters.of(read_filter, file), samples_of

    def close(self) -> None:
        """Close the inputs."""
        self._stack.close()


def _all_have_reads(contigs: Iterable[str], _ends: Iterable[int]) -> Iterator[bool]:
    return (True for _ in contigs)

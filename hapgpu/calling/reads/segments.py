"""Segments: calling intervals, cut into parts that one worker computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress, pairwise
from operator import ne
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.calling.batches import REFERENCE_ROOM, Segment, SegmentReads
from hapgpu.calling.reads.windows import Room, WindowReads
from hapgpu.errors import UsageError
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.genome.regions import (
    Region,
    RegionChoice,
    common_regions,
    contig_hint,
    merge_regions,
)

_MAX_BASES: Final = 200_000
"""About 100 MB per worker at 30x; in smaller segments, workers wait for each other's Python."""
_MIN_BASES: Final = 20_000
"""Below it, the bases beside a segment that are read with it cost too much."""
_SEGMENTS_PER_WORKER: Final = 4
_MAX_EMPTY: Final = 10_000
"""Calling intervals without reads that are one part of the work."""
_MAX_TOGETHER: Final = 500_000
"""Calling intervals for one worker."""


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """Segment whose reads are read when they are asked for, in the thread that asks.

    Attributes
    ----------
    segment
        The segment.
    room
        Bases on both sides of it.
    reference
        The reference of its far window.
    window_reads
        Returns the reads of a window of the segment; its argument `far` is as that of `read`.
    halves
        Returns the halves of the segment.
    """

    segment: Segment
    room: Room
    reference: ReferenceSlice
    window_reads: Callable[..., WindowReads | None]
    halves: Callable[[], Sequence[SegmentSource]]

    def read(self, *, far: bool = False) -> SegmentReads | None:
        """Return the reads; None if they are too many, so that the halves are to be read instead.

        Parameters
        ----------
        far
            Whether the window starts `Room.far_before` before the segment.

        Raises
        ------
        InputError
            An input is damaged or not sorted, or a read has no sample or no base qualities.
        """
        segment = self.segment
        start, end = self.room.window(segment, far=far)
        found = self.window_reads(far=far)
        if found is None:
            return None
        first, offset = max(start - REFERENCE_ROOM, 0), self.reference.start
        bases = self.reference.bases[first - offset : end + REFERENCE_ROOM - offset]
        reference = ReferenceSlice(first, bases)
        return SegmentReads(segment, start, end, reference, found.reads, found.samples)


@dataclass(frozen=True, slots=True)
class EmptyIntervals:
    """Consecutive calling intervals of contigs without reads.

    Attributes
    ----------
    size
        Number of bases of the intervals.
    intervals
        i intervals, for reference blocks; none if these are not wanted.
    bases
        uint8 text[i]: the first base of each.
    """

    size: int
    intervals: CallingIntervals
    bases: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class CallingIntervals:
    """Calling intervals in columns: an assembly may have a million contigs.

    Attributes
    ----------
    contigs
        The contig of each; those of one contig are consecutive.
    starts, ends
        int64[n]: 0-based, half-open.
    """

    contigs: Sequence[str]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, regions: Sequence[Region]) -> CallingIntervals:
        """Return regions as intervals, in the same order."""
        bounds = np.array([(each.start, each.end) for each in regions], dtype=np.int64)
        starts, ends = bounds.reshape(-1, 2).T
        return cls([each.contig for each in regions], starts, ends)

    @property
    def bases(self) -> int:
        """Number of bases of all."""
        return int((self.ends - self.starts).sum())

    def rows(self, start: int, end: int) -> CallingIntervals:
        """Return the intervals of some consecutive rows."""
        return CallingIntervals(
            self.contigs[start:end], self.starts[start:end], self.ends[start:end]
        )

    def joined(self) -> CallingIntervals:
        """Return the intervals with those joined that abut."""
        rows = np.flatnonzero(self.starts[1:] == self.ends[:-1])
        rows = rows[[self.contigs[row] == self.contigs[row + 1] for row in rows.tolist()]]
        if not rows.size:
            return self
        kept = np.delete(np.arange(len(self)), rows + 1)
        last = np.append(kept[1:], len(self)) - 1
        contigs = [self.contigs[row] for row in kept.tolist()]
        return CallingIntervals(contigs, self.starts[kept], self.ends[last])

    def runs(self) -> list[int]:
        """Return the first row of each contig, and the number of rows."""
        differs = np.fromiter(map(ne, self.contigs, self.contigs[1:]), dtype=np.bool_)
        return [0, *(np.flatnonzero(differs) + 1).tolist(), len(self)] if len(self) else [0]

    def __iter__(self) -> Iterator[Region]:
        return map(Region, self.contigs, self.starts.tolist(), self.ends.tolist())

    def __len__(self) -> int:
        return len(self.contigs)


BlocksOf = Callable[[CallingIntervals], CallingIntervals]
"""Reference blocks of calling intervals without reads."""


def no_blocks(intervals: CallingIntervals) -> CallingIntervals:
    """Return no intervals: a VCF has no reference blocks."""
    return intervals.rows(0, 0)


def calling_intervals(choice: RegionChoice, lengths: Mapping[str, int]) -> CallingIntervals:
    """Return the calling intervals: the bases of all sets of regions, else whole contigs.

    Parameters
    ----------
    choice
        The regions.
    lengths
        Length of each contig that can be called; the intervals follow their order.

    Raises
    ------
    UsageError
        A text is not a region, or a region has another contig, or starts after its contig.
    """
    if choice.is_everything:
        ends = np.array(list(lengths.values()), dtype=np.int64)
        contigs = list(compress(lengths, (ends > 0).tolist()))
        return CallingIntervals(contigs, np.zeros(len(contigs), dtype=np.int64), ends[ends > 0])
    sets = [
        merge_regions(_within_contig(region, lengths) for region in regions)
        for regions in choice.sets(lengths)
    ]
    common = list(reduce(common_regions, sets))
    named = {region.contig for region in common}
    order = {contig: number for number, contig in enumerate(filter(named.__contains__, lengths))}
    return CallingIntervals.of(
        sorted(common, key=lambda region: (order[region.contig], region.start))
    )


def _within_contig(region: Region, lengths: Mapping[str, int]) -> Region:
    contig = region.contig
    if contig not in lengths:
        hint = contig_hint(contig, lengths)
        raise UsageError(f"region {region}: no contig '{contig}' in the reference{hint}")
    length = lengths[contig]
    if region.start >= length:
        raise UsageError(f"region '{region}': {contig} has only {length:,} bases; correct it")
    return Region(contig, region.start, min(region.end, length))


class SharedReads:
    """Reads of segments of several contigs that are read together, when the first are asked for.

    Parameters
    ----------
    read
        Reads them: by contig; None if the reads of each segment are to be read alone.
    """

    def __init__(self, read: Callable[[], dict[str, WindowReads] | None]) -> None:
        self._read = read
        self._found: dict[str, WindowReads] | None = None

    def take(self, contig: str) -> WindowReads | None:
        """Return the reads of a contig, once; None if they are to be read alone."""
        if self._found is None:
            self._found = self._read() or {}
        return self._found.pop(contig, None)


def segment_bases(total: int, workers: int) -> int:
    """Return the bases of a segment, at most, that keep all workers busy with so many in total."""
    return max(min(total // (_SEGMENTS_PER_WORKER * workers), _MAX_BASES), _MIN_BASES)


def runs_of(
    intervals: CallingIntervals,
    have_reads: Callable[[Iterable[str], Iterable[int]], Iterator[bool]],
) -> Iterator[tuple[CallingIntervals, bool]]:
    """Group calling intervals: those of a contig with reads, or of several contigs without.

    Parameters
    ----------
    intervals
        The calling intervals.
    have_reads
        Tells of contigs, in order, whether there are reads up to the end of the last interval.

    Yields
    ------
    CallingIntervals, bool
        The intervals in order, and whether their contig has reads.
    """
    bounds = intervals.runs()
    contigs = map(intervals.contigs.__getitem__, bounds[:-1])
    last_ends = intervals.ends[np.array(bounds[1:], dtype=np.int64) - 1].tolist()
    first = 0  # row of the intervals without reads so far
    for start, end in compress(pairwise(bounds), have_reads(contigs, last_ends)):
        yield from _without_reads(intervals, first, start)
        yield intervals.rows(start, end), True
        first = end
    yield from _without_reads(intervals, first, len(intervals))


def _without_reads(
    intervals: CallingIntervals, start: int, end: int
) -> Iterator[tuple[CallingIntervals, bool]]:
    """Yield the intervals of some rows in parts; their blocks go on where intervals abut."""
    joined = intervals.rows(start, end).joined()
    for row in range(0, len(joined), _MAX_EMPTY):
        yield joined.rows(row, min(row + _MAX_EMPTY, len(joined))), False


def groups_of(
    runs: Iterable[tuple[CallingIntervals, bool]],
    lengths: Mapping[str, int],
    max_bases: int,
    shared_bases: int,
) -> Iterator[list[Segment | CallingIntervals] | Iterator[Segment]]:
    """Join contigs of one small segment, and intervals without reads.

    To open files for each of a million contigs would take longer than to call them.

    Parameters
    ----------
    runs
        As of `runs_of`.
    lengths
        Length of each contig.
    max_bases
        Bases of a segment, at most.
    shared_bases
        Bases of segments that are read together, at most; 0: none are.

    Yields
    ------
    list, or iterator of Segment
        Segments of different contigs, and intervals of contigs without reads; or all segments of
        a contig, to be read one by one.
    """
    group: list[Segment | CallingIntervals] = []
    bases = size = 0
    for intervals, has_reads in runs:
        length = intervals.bases
        is_shared = len(intervals) == 1 and bases + length <= shared_bases
        is_full = size + len(intervals) > _MAX_TOGETHER or (has_reads and not is_shared)
        if group and is_full:
            yield group
            group, bases, size = [], 0, 0
            is_shared = len(intervals) == 1 and length <= shared_bases
        if not has_reads:
            group.append(intervals)
        elif is_shared:
            group += segments_of(intervals, lengths, max_bases)
            bases += length
        else:
            yield segments_of(intervals, lengths, max_bases)
        size += len(intervals)
    if group:
        yield group


def segments_of(
    intervals: Iterable[Region], lengths: Mapping[str, int], max_bases: int
) -> Iterator[Segment]:
    """Cut calling intervals into segments of at most so many bases, of equal size per interval."""
    for interval in intervals:
        start, bases = interval.start, interval.end - interval.start
        parts = -(-bases // max_bases)
        for part in range(parts):
            yield Segment(
                interval.contig,
                lengths[interval.contig],
                start + bases * part // parts,
                start + bases * (part + 1) // parts,
                interval.start,
                interval.end,
            )

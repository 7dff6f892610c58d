"""Buffer of the sorted reads of one input, as long as loci need them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.ragged_view import RaggedView, last_at_most, read_only, view_of
from hapgpu.arrays.read_columns import gathered_reads
from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import AnyReadFilter
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.io.alignments.reader import ReadSource
from hapgpu.io.bam.constants import REFERENCE_OPERATIONS, UNMAPPED
from hapgpu.io.bam.header import SamHeader
from hapgpu.runtime.jit import njit

# A key is the number of a contig in the header and a position on it, in one integer.
_POSITION_BITS: Final = 32
_NO_CONTIG: Final = 2**31 - 1
END_KEY: Final = _NO_CONTIG << _POSITION_BITS
"""Key after all contigs."""
_LONGEST_SPAN: Final = 2**31 - 1

SamplesOf = Callable[[ReadBatch, NDArray[np.int64]], NDArray[np.int32]]
"""Function that returns the samples of the reads of some rows."""

ChoiceOfReads = Callable[[ReadBatch, NDArray[np.int32]], NDArray[np.bool_]]
"""Function that returns which reads are kept, given the reads and their samples."""


@dataclass(frozen=True, slots=True)
class BufferedReads:
    """n reads sorted by position.

    Attributes
    ----------
    reads
        These reads, and perhaps others.
    rows
        int64[n], ascending rows of `reads`.
    samples
        int32[n], the sample of each read.
    starts, ends
        int64[n], keys of the interval that each read is aligned to, half-open; at least one base.
    max_ends
        int64[n], the largest end up to each read.
    """

    reads: ReadBatch
    rows: NDArray[np.int64]
    samples: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_ends: NDArray[np.int64]

    def take(self, kept: NDArray[np.int64]) -> BufferedReads:
        """Return reads by their rows, `kept`, int64[k], ascending, sharing memory with these."""
        ends = self.ends[kept]
        return BufferedReads(
            self.reads,
            self.rows[kept],
            self.samples[kept],
            self.starts[kept],
            ends,
            np.maximum.accumulate(ends),
        )

    def compact(self) -> BufferedReads:
        """Return a copy that holds no other reads."""
        reads = gathered_reads([(self.reads, self.rows)])
        return replace(self, reads=reads, rows=np.arange(self.rows.size))

    def overlapping(self, starts: NDArray[np.int64], max_ends: NDArray[np.int64]) -> BufferedReads:
        """Return the reads that overlap any of k intervals of keys, k at least 1.

        Parameters
        ----------
        starts
            int64[k], ascending.
        max_ends
            int64[k], the largest end up to each interval.
        """
        first = int(np.searchsorted(self.max_ends, starts[0], side="right"))
        last = max(int(np.searchsorted(self.starts, max_ends[-1])), first)
        overlap = np.empty(last - first, dtype=np.bool_)
        _mark_overlaps(starts, max_ends, self.starts[first:last], self.ends[first:last], overlap)
        return self.take(first + np.flatnonzero(overlap))

    def has_start(self, first: int, end: int) -> bool:
        """Tell whether a read starts in an interval of keys."""
        row = int(np.searchsorted(self.starts, first))
        return row < self.starts.size and int(self.starts[row]) < end

    def ending_after(self, key: int) -> BufferedReads | None:
        """Return the reads that end after a key, or all if these are most; None if none does."""
        if self.max_ends[-1] <= key:
            return None
        is_needed = self.ends > key
        is_sparse = 2 * np.count_nonzero(is_needed) < is_needed.size
        return self.take(np.flatnonzero(is_needed)).compact() if is_sparse else self


class Buffered(Protocol):
    """Reads that are buffered together: `BufferedReads`, or `DeviceBufferedReads`."""

    def ending_after(self, key: int, /) -> Self | None:
        """Return at least the reads that end after a key; None if none does."""


Part = TypeVar("Part", bound=Buffered)


class SortedBuffer(ABC, Generic[Part]):
    """Buffer of sorted reads, contig by contig, read as far as requested.

    Parameters
    ----------
    header
        Header of the input.
    name
        Name of the input, for messages.
    contig
        Number of the first contig needed, in the header.
    """

    def __init__(self, header: SamHeader, name: str, contig: int) -> None:
        self._header = header
        self._name = name
        self._contig = contig
        self._needed_from = key_of(contig, 0)
        self._last = 0
        self._buffered: list[Part] = []
        self._released: list[Part] = []

    @property
    def frontier(self) -> int:
        """Position on the contig: all reads that start before it have been read."""
        return self._last - key_of(self._contig, 0)

    @property
    @abstractmethod
    def bases(self) -> int:
        """About the number of bases of the buffered reads."""

    def move_to(self, contig: int) -> None:
        """Move to a contig, by its number in the header, and drop the reads before it.

        Released reads come back.

        Raises
        ------
        InputError
            The contig is before the current one.
        """
        self._set_contig(contig)
        self._buffered[:0] = self._released
        self._released = []
        self.drop_before(0)

    def _set_contig(self, contig: int) -> None:
        if contig < self._contig:
            names = self._header.reference_names
            raise InputError(
                f"{self._name}: a stream, but sites of {names[contig]} come after sites of "
                f"{names[self._contig]}; sort the sites by the contigs of its header, or give the "
                "reads as an indexed BAM file"
            )
        self._contig = contig

    def release(self, position: int) -> None:
        """Drop reads that end before a position of the contig, and hide the others for now."""
        self._released += self._ending_after(key_of(self._contig, position))
        self._buffered = []

    def drop_before(self, position: int) -> None:
        """Drop reads that end before a position of the contig."""
        self._needed_from = max(self._needed_from, key_of(self._contig, position))
        self._buffered = self._ending_after(self._needed_from)

    def _ending_after(self, key: int) -> list[Part]:
        parts = (part.ending_after(key) for part in self._buffered)
        return [part for part in parts if part is not None]

    def read_on(self) -> None:
        """Read the next batch; at the end of the input, the frontier moves after all contigs.

        Raises
        ------
        InputError
            The reads are not sorted, or the input is damaged.
        """
        found = self._next()
        self._last, part = (END_KEY, None) if found is None else found
        if part is not None:
            self._buffered.append(part)

    @abstractmethod
    def _next(self) -> tuple[int, Part | None] | None:
        """Read a batch; return the key of its last read, and the reads to keep; None at the end."""

    def _not_sorted(self, read: NDArray[np.uint8], key: int, before: int) -> InputError:
        """Return the error for a read, by its name, after a read with a larger key."""
        text = read.tobytes().decode("utf-8", "replace")
        return InputError(
            f"{self._name}: not sorted by position: read '{text}' at "
            f"{_text_of(self._header, key)} comes after a read at "
            f"{_text_of(self._header, before)}; run: samtools sort"
        )


class ReadBuffer(SortedBuffer[BufferedReads]):
    """Buffer of reads in host memory.

    Parameters
    ----------
    source
        Open source, at its first read.
    name, contig
        As in `SortedBuffer`.
    read_filter
        Filter of the reads.
    samples_of
        Function that returns the samples of reads.
    counted
        Sorted intervals of the contig: reads that overlap one were counted before.
    """

    def __init__(
        self,
        source: ReadSource,
        name: str,
        read_filter: AnyReadFilter,
        samples_of: SamplesOf,
        contig: int,
        counted: LocusIntervals,
    ) -> None:
        super().__init__(source.header, name, contig)
        self._batches = source.batches()
        self._filter = read_filter
        self._samples_of = samples_of
        self._counted_starts = key_of(contig, 0) + counted.starts
        self._counted_max_ends = key_of(contig, 0) + counted.max_ends

    @property
    def bases(self) -> int:
        """Number of bases of the buffered reads."""
        return sum(part.reads.bases.data.size for part in self._buffered)

    def has_reads(self, contig: int, end: int) -> bool:
        """Move to a contig; tell whether a read of it starts before a position.

        Reads on until this is known, so a stream has the reads of many contigs in one batch.

        Raises
        ------
        InputError
            The contig is before the current one, or as `read_on`.
        """
        self._set_contig(contig)
        first, last = key_of(contig, 0), key_of(contig, end)
        self._needed_from = max(self._needed_from, first)
        self._buffered = [part for part in self._buffered if part.max_ends[-1] > first]
        while not any(part.has_start(first, last) for part in self._buffered):
            if self._last >= last:
                return False
            self.read_on()
        return True

    def _next(self) -> tuple[int, BufferedReads | None] | None:
        reads = next(self._batches, None)
        if reads is None:
            return None
        starts, ends = np.empty((2, len(reads)), dtype=np.int64)
        row = _place(
            read_only(reads.reference_ids),
            read_only(reads.positions),
            read_only(reads.flags),
            view_of(reads.cigars),
            self._last,
            starts,
            ends,
        )
        if row >= 0:
            before = int(starts[row - 1]) if row else self._last
            raise self._not_sorted(reads.names[row], int(starts[row]), before)
        is_old = np.empty(len(reads), dtype=np.bool_)
        _mark_overlaps(self._counted_starts, self._counted_max_ends, starts, ends, is_old)
        kept = self._filter.keeps(reads, ~is_old) & (ends > self._needed_from)
        rows, last = np.flatnonzero(kept), int(starts[-1])
        if not rows.size:
            return last, None
        samples, ends = self._samples_of(reads, rows), ends[rows]
        max_ends = np.maximum.accumulate(ends)
        return last, BufferedReads(reads, rows, samples, starts[rows], ends, max_ends)

    def keep(self, choose: ChoiceOfReads) -> None:
        """Keep only some of the buffered reads of the contig, to save memory.

        Parameters
        ----------
        choose
            Returns bool[n]: which of n reads, sorted by position, and their samples are kept.
        """
        after = key_of(self._contig + 1, 0)
        parts, self._buffered = self._buffered, []
        counts = [int(np.searchsorted(part.starts, after)) for part in parts]
        if not sum(counts):
            self._buffered = parts
            return
        each = list(zip(parts, counts, strict=True))
        reads = gathered_reads([(part.reads, part.rows[:count]) for part, count in each])
        kept = choose(reads, np.concatenate([part.samples[:count] for part, count in each]))
        for (part, count), mask in zip(each, np.split(kept, np.cumsum(counts)[:-1]), strict=True):
            rows = np.concatenate((np.flatnonzero(mask), np.arange(count, part.rows.size)))
            if rows.size:
                self._buffered.append(part.take(rows).compact())

    def at(self, starts: NDArray[np.int64], max_ends: NDArray[np.int64]) -> list[BufferedReads]:
        """Return the reads that overlap any of k intervals of the contig, k at least 1.

        Parameters
        ----------
        starts
            int64[k], ascending.
        max_ends
            int64[k], the largest end up to each interval.
        """
        base = key_of(self._contig, 0)
        found = (part.overlapping(base + starts, base + max_ends) for part in self._buffered)
        return [part for part in found if part.starts.size]


def _text_of(header: SamHeader, key: int) -> str:
    contig, position = divmod(key, 1 << _POSITION_BITS)
    if contig == _NO_CONTIG:
        return "no position"
    return f"{header.reference_names[contig]}:{position + 1}"


def key_of(contig: int, position: int) -> int:
    """Return the key of a position of a contig, by its number in the header."""
    return (contig << _POSITION_BITS) + position


@njit
def _place(
    reference_ids: NDArray[np.int32],
    positions: NDArray[np.int32],
    flags: NDArray[np.uint16],
    cigars: RaggedView,
    last: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Write the keys of reads; stop at one with a smaller key than the last, and return its row.

    Reads without a contig come after all others. Returns -1 if all are sorted.
    """
    for row in range(starts.size):
        contig, position = np.int64(reference_ids[row]), np.int64(positions[row])
        start = np.int64(END_KEY)
        if contig >= 0:
            start = (contig << _POSITION_BITS) + max(position, np.int64(0))
        length = np.int64(0)
        for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
            element = np.int64(cigars.data[k])
            if REFERENCE_OPERATIONS >> (element & 15) & 1:
                length += element >> 4
        if flags[row] & UNMAPPED:
            length = np.int64(1)
        span = min(max(length, np.int64(1)), np.int64(_LONGEST_SPAN))
        starts[row], ends[row] = start, start + span
        if start < last:
            return row
        last = int(start)
    return -1


@njit
def _mark_overlaps(
    starts: NDArray[np.int64],
    max_ends: NDArray[np.int64],
    read_starts: NDArray[np.int64],
    read_ends: NDArray[np.int64],
    out: NDArray[np.bool_],
) -> None:
    """Write which reads overlap any of k intervals, k at least 0, starts ascending."""
    for row in range(out.size):
        # Of the intervals that start before a read ends, the largest end decides.
        last = last_at_most(starts, starts.size, read_ends[row] - 1)
        out[row] = last >= 0 and max_ends[last] > read_starts[row]

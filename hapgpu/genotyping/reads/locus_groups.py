"""Groups of locus batches: the unit that a worker reads and genotypes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.batches import Loci, LocusBatch
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.io.genome.regions import END_OF_CONTIG, Region
from hapgpu.io.vcf.batches import END, GENOTYPES

_MAX_BATCHES: Final = 4
"""Batches per group: opening the files of a group costs as much as reading a tenth of a batch."""
_GROUPS_OF_A_SIZE: Final = 16
"""Groups until they grow by a batch: a few thousand sites are divided among many threads, too."""
_MAX_BYTES: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class LocusIntervals:
    """Intervals of k loci, with a margin, in which reads belong to them.

    Attributes
    ----------
    starts, ends
        int64[k], 0-based, half-open, at least one base.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def around(cls, loci: Loci, margin: int) -> Self:
        """Return the intervals of loci, widened on both sides."""
        starts = np.maximum(loci.starts - margin, 0)
        return cls(starts, np.maximum(loci.ends + margin, starts + 1))

    def slice(self, start: int, end: int) -> LocusIntervals:
        """Return the intervals of the loci start to end."""
        return LocusIntervals(self.starts[start:end], self.ends[start:end])

    @property
    def max_ends(self) -> NDArray[np.int64]:
        """int64[k]: the largest end up to each interval."""
        max_ends: NDArray[np.int64] = np.maximum.accumulate(self.ends)
        return max_ends

    def min_starts(self, next_start: int) -> NDArray[np.int64]:
        """Return int64[k + 1]: the smallest start from each interval on, and `next_start`."""
        starts = np.append(self.starts, next_start)
        min_starts: NDArray[np.int64] = np.minimum.accumulate(starts[::-1])[::-1]
        return min_starts

    def sorted(self) -> LocusIntervals:
        """Return the intervals sorted by start."""
        order = np.argsort(self.starts, kind="stable")
        return LocusIntervals(self.starts[order], self.ends[order])

    def joined(self, other: LocusIntervals) -> LocusIntervals:
        """Return these intervals and others, concatenated."""
        return LocusIntervals(
            np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends])
        )

    def relevant_after(self, position: int) -> LocusIntervals:
        """Return the intervals that decide whether a read that ends after a position overlaps any.

        Of the intervals that start up to the position, only the one with the largest end is kept.
        """
        kept = self.starts > position
        kept[np.argmax(np.where(kept, -1, self.ends))] = True
        return LocusIntervals(self.starts[kept], self.ends[kept])


NO_INTERVALS: Final = LocusIntervals(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class LocusGroup:
    """Consecutive batches of one contig, at least one.

    Attributes
    ----------
    batches
        Batches with the intervals of their loci.
    counted
        Sorted intervals: a read of this group that overlaps one of them was counted in an earlier
        group.
    next_start
        Smallest start of an interval of a later batch, or less.
    """

    batches: list[tuple[LocusBatch, LocusIntervals]]
    counted: LocusIntervals
    next_start: int

    @property
    def contig(self) -> str:
        """Name of the contig."""
        return self.batches[0][0].contig

    def intervals(self) -> LocusIntervals:
        """Return the intervals of all loci."""
        intervals = self.batches[0][1]
        for _, others in self.batches[1:]:
            intervals = intervals.joined(others)
        return intervals

    def regions(self) -> list[Region]:
        """Return the intervals of all loci."""
        return [
            Region(self.contig, start, end)
            for _, intervals in self.batches
            for start, end in zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True)
        ]

    def next_starts(self) -> list[int]:
        """Return for each batch the smallest start of all intervals after it."""
        starts = [self.next_start]
        for _, intervals in self.batches[:0:-1]:
            starts.append(min(starts[-1], int(intervals.starts.min())))
        return starts[::-1]


def locus_groups_of(
    batches: Iterator[LocusBatch], margin: int, max_batches: int | None = None
) -> Iterator[LocusGroup]:
    """Group batches until the contig changes or the group is large; None: the usual sizes."""
    grouped: list[tuple[LocusBatch, LocusIntervals]] = []
    counted = NO_INTERVALS
    size = number = 0
    for batch in batches:
        intervals = LocusIntervals.around(batch.loci, margin)
        if grouped and batch.contig != grouped[0][0].contig:
            yield LocusGroup(grouped, counted, END_OF_CONTIG)
            number += 1
            grouped, size, counted = [], 0, NO_INTERVALS
        elif len(grouped) >= (max_batches or _usual_batches(number)) or size >= _MAX_BYTES:
            # Sites are sorted, but their shift ranges may start before them.
            next_start = min(int(intervals.starts.min()), _min_start(batch, margin))
            yield LocusGroup(grouped, counted, next_start)
            number += 1
            for _, others in grouped:
                counted = counted.joined(others)
            grouped, size, counted = [], 0, counted.relevant_after(next_start).sorted()
        grouped.append((batch, intervals))
        size += _bytes_of(batch)
    if grouped:
        yield LocusGroup(grouped, counted, END_OF_CONTIG)


def _usual_batches(number: int) -> int:
    """Return the most batches of a group, by its number from 0."""
    return min(1 + number // _GROUPS_OF_A_SIZE, _MAX_BATCHES)


def _min_start(batch: LocusBatch, margin: int) -> int:
    """Return a position before which no interval of this or a later batch starts."""
    return max(int(batch.sites.starts.min()) - LONGEST_SHIFT - margin, 0)


def _bytes_of(batch: LocusBatch) -> int:
    """Return the approximate size of a batch: its haplotypes and genotypes."""
    columns = batch.sites.records.columns
    texts = (columns[:, END] - columns[:, GENOTYPES]).sum()
    return batch.haplotypes.sequences.data.size + int(texts)

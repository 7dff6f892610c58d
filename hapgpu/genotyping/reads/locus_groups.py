"""Batches of loci taken together: what one worker reads and genotypes at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.haplotypes.batches import Loci, LocusBatch
from hapgpu.haplotypes.sites.shift_ranges import LONGEST_SHIFT
from hapgpu.io.genome.regions import END_OF_CONTIG, Region

_MAX_BATCHES: Final = 4
"""Opening files at a span costs about as much as reading a tenth of a batch."""
_MAX_BYTES: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class LocusIntervals:
    """Where reads belong to each of k loci: their shift ranges and a margin.

    Attributes
    ----------
    starts, ends
        int64[k], 0-based, half-open, at least one base.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def around(cls, loci: Loci, margin: int) -> Self:
        """Widen loci on both sides."""
        starts = np.maximum(loci.starts - margin, 0)
        return cls(starts, np.maximum(loci.ends + margin, starts + 1))

    def slice(self, start: int, stop: int) -> LocusIntervals:
        """Those of the loci start to stop."""
        return LocusIntervals(self.starts[start:stop], self.ends[start:stop])

    @property
    def reach(self) -> NDArray[np.int64]:
        """int64[k]: the largest end up to each."""
        reach: NDArray[np.int64] = np.maximum.accumulate(self.ends)
        return reach

    def lows(self, behind: int) -> NDArray[np.int64]:
        """int64[k + 1]: the smallest start from each on, with those to come, from `behind` on."""
        starts = np.append(self.starts, behind)
        lows: NDArray[np.int64] = np.minimum.accumulate(starts[::-1])[::-1]
        return lows

    def sorted(self) -> LocusIntervals:
        """Put them into the order of their starts."""
        order = np.argsort(self.starts, kind="stable")
        return LocusIntervals(self.starts[order], self.ends[order])

    def joined(self, other: LocusIntervals) -> LocusIntervals:
        """Put others behind these."""
        return LocusIntervals(
            np.concatenate([self.starts, other.starts]), np.concatenate([self.ends, other.ends])
        )

    def seen_from(self, behind: int) -> LocusIntervals:
        """Keep those that decide, for what ends behind a position, whether it overlaps any.

        Of those that start up to there, that is the one that reaches furthest.
        """
        kept = self.starts > behind
        kept[np.argmax(np.where(kept, -1, self.ends))] = True
        return LocusIntervals(self.starts[kept], self.ends[kept])


NO_STRETCHES: Final = LocusIntervals(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class LocusGroup:
    """Batches of one contig that follow each other, at least one.

    Attributes
    ----------
    batches
        With their stretches.
    before
        Sorted stretches that tell for every read of this span whether it overlaps one of the
        contig in a span before, where it was counted.
    behind
        No stretch of a later batch starts before this position of the contig.
    """

    batches: list[tuple[LocusBatch, LocusIntervals]]
    before: LocusIntervals
    behind: int

    @property
    def contig(self) -> str:
        """Its name."""
        return self.batches[0][0].contig

    def regions(self) -> list[Region]:
        """Return the stretches of all loci."""
        return [
            Region(self.contig, start, end)
            for _, stretches in self.batches
            for start, end in zip(stretches.starts.tolist(), stretches.ends.tolist(), strict=True)
        ]

    def lows(self) -> list[int]:
        """Return for each batch the smallest start of all stretches behind it."""
        lows = [self.behind]
        for _, stretches in self.batches[:0:-1]:
            lows.append(min(lows[-1], int(stretches.starts.min())))
        return lows[::-1]


def spans_of(batches: Iterator[LocusBatch], margin: int) -> Iterator[LocusGroup]:
    """Take batches together, until the contig changes or they become many or large."""
    taken: list[tuple[LocusBatch, LocusIntervals]] = []
    before = NO_STRETCHES
    size = 0
    for batch in batches:
        stretches = LocusIntervals.around(batch.loci, margin)
        if taken and batch.contig != taken[0][0].contig:
            yield LocusGroup(taken, before, END_OF_CONTIG)
            taken, size, before = [], 0, NO_STRETCHES
        elif len(taken) >= _MAX_BATCHES or size >= _MAX_BYTES:
            # Sites are sorted; their shift ranges may begin before them.
            behind = min(int(stretches.starts.min()), _min_start(batch, margin))
            yield LocusGroup(taken, before, behind)
            for _, each in taken:
                before = before.joined(each)
            taken, size, before = [], 0, before.seen_from(behind).sorted()
        taken.append((batch, stretches))
        size += _bytes_of(batch)
    if taken:
        yield LocusGroup(taken, before, END_OF_CONTIG)


def _min_start(batch: LocusBatch, margin: int) -> int:
    """Return a position before which no stretch of the batch or a later one starts."""
    return max(int(batch.sites.starts.min()) - LONGEST_SHIFT - margin, 0)


def _bytes_of(batch: LocusBatch) -> int:
    """Return about how much memory the parts of a batch take that may be large."""
    texts = sum(len(record.genotypes) for record in batch.sites.records)
    return batch.haplotypes.sequences.data.size + texts

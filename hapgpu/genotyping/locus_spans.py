"""Batches of loci taken together, as far as the reads at them are opened at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.genotyping.locus_batch import Loci, LocusBatch
from hapgpu.io.regions import END_OF_CONTIG, Region

_MOST_BATCHES: Final = 64
_MOST_BYTES: Final = 1 << 27


@dataclass(frozen=True, slots=True)
class Stretches:
    """Where reads belong to each of k loci: their extents and a margin.

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

    def slice(self, start: int, stop: int) -> Stretches:
        """Those of the loci start to stop."""
        return Stretches(self.starts[start:stop], self.ends[start:stop])

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

    def sorted(self) -> Stretches:
        """Put them into the order of their starts."""
        order = np.argsort(self.starts, kind="stable")
        return Stretches(self.starts[order], self.ends[order])


@dataclass(frozen=True, slots=True)
class LocusSpan:
    """Batches of one contig that follow each other, at least one.

    Attributes
    ----------
    batches
        With their stretches.
    behind
        No stretch of a later batch starts before this position of the contig. It is where the next
        batch begins: loci are out of order only among neighbours.
    """

    batches: list[tuple[LocusBatch, Stretches]]
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


def spans_of(batches: Iterator[LocusBatch], margin: int) -> Iterator[LocusSpan]:
    """Take batches together, until the contig changes or they become many or large."""
    taken: list[tuple[LocusBatch, Stretches]] = []
    size = 0
    for batch in batches:
        stretches = Stretches.around(batch.loci, margin)
        if taken and batch.contig != taken[0][0].contig:
            yield LocusSpan(taken, END_OF_CONTIG)
            taken, size = [], 0
        elif len(taken) >= _MOST_BATCHES or size >= _MOST_BYTES:
            yield LocusSpan(taken, int(stretches.starts.min()))
            taken, size = [], 0
        taken.append((batch, stretches))
        size += _bytes_of(batch)
    if taken:
        yield LocusSpan(taken, END_OF_CONTIG)


def _bytes_of(batch: LocusBatch) -> int:
    """Return about how much memory the parts of a batch take that may be large."""
    texts = sum(len(record.genotypes) for record in batch.sites.records)
    return batch.haplotypes.sequences.data.size + texts

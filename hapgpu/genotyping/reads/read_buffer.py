"""The reads of one input in the order of their positions, held as long as they are wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.errors import InputError
from hapgpu.genotyping.reads.filters import ReadFilter
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.io.alignments.reader import ReadSource
from hapgpu.io.bam.constants import UNMAPPED
from hapgpu.io.bam.header import SamHeader

# A place is a contig's number in the header and a position on it, in one number.
_PLACE_BITS: Final = 32
_NO_CONTIG: Final = 2**31 - 1
_END: Final = _NO_CONTIG << _PLACE_BITS
_LONGEST_SPAN: Final = 2**31 - 1

SamplesOf = Callable[[ReadBatch], NDArray[np.int32]]
"""Tells whose each read is."""


@dataclass(frozen=True, slots=True)
class BufferedReads:
    """n reads in the order of their places.

    Attributes
    ----------
    reads
        As they were read.
    samples
        int32[n], whose each is.
    starts, ends
        int64[n], places of what they are aligned to, half-open; at least one base.
    reach
        int64[n], the largest of the ends so far.
    """

    reads: ReadBatch
    samples: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    reach: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        reads: ReadBatch,
        samples: NDArray[np.int32],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Self:
        """Put columns of sorted reads together."""
        return cls(reads, samples, starts, ends, np.maximum.accumulate(ends))

    def take(self, rows: NDArray[np.int64]) -> BufferedReads:
        """Gather reads, their numbers ascending."""
        return BufferedReads.of(
            self.reads.take(rows), self.samples[rows], self.starts[rows], self.ends[rows]
        )

    def meeting(self, starts: NDArray[np.int64], reach: NDArray[np.int64]) -> BufferedReads:
        """Take the reads that overlap one of some intervals of places, at least one.

        Parameters
        ----------
        starts
            int64[k], ascending.
        reach
            int64[k], the largest end of the intervals so far.
        """
        first = int(np.searchsorted(self.reach, starts[0], side="right"))
        last = int(np.searchsorted(self.starts, reach[-1]))
        rows = np.arange(first, max(last, first))
        return self.take(rows[_meet(starts, reach, self.starts[rows], self.ends[rows])])

    def behind(self, place: int) -> BufferedReads | None:
        """Leave out reads that end before a place, unless most do not; None if all do."""
        if self.reach[-1] <= place:
            return None
        wanted = self.ends > place
        is_sparse = 2 * np.count_nonzero(wanted) < wanted.size
        return self.take(np.flatnonzero(wanted)) if is_sparse else self


class ReadBuffer:
    """Reads of one contig after the other, read as far as they are asked for.

    Parameters
    ----------
    source
        Open, at its first read.
    name
        Of the input, for messages.
    read_filter
        Tells which reads are kept.
    samples_of
        Tells whose they are.
    contig
        The first that is wanted, by its number in the header.
    counted
        Sorted stretches of this contig: reads that overlap one were counted already.
    """

    def __init__(
        self,
        source: ReadSource,
        name: str,
        read_filter: ReadFilter,
        samples_of: SamplesOf,
        contig: int,
        counted: LocusIntervals,
    ) -> None:
        self._header: SamHeader = source.header
        self._batches = source.batches()
        self._name = name
        self._filter = read_filter
        self._samples_of = samples_of
        self._counted_starts = _place(contig, 0) + counted.starts
        self._counted_reach = _place(contig, 0) + counted.reach
        self._contig = contig
        self._wanted = _place(contig, 0)
        self._last = 0
        self._held: list[BufferedReads] = []

    @property
    def frontier(self) -> int:
        """A position on the contig: all reads that start before it have been read."""
        return self._last - _place(self._contig, 0)

    @property
    def bases(self) -> int:
        """How many bases the reads have that are held."""
        return sum(held.reads.bases.data.size for held in self._held)

    def move_to(self, contig: int) -> None:
        """Turn to a contig, by its number in the header, and forget those before it.

        Raises
        ------
        InputError
            The contig lies behind.
        """
        if contig < self._contig:
            names = self._header.reference_names
            raise InputError(
                f"{self._name} is read once, from end to end, but sites of {names[contig]} come "
                f"behind those of {names[self._contig]}: sort the sites by the contigs of its "
                "header, or give the reads as an indexed BAM file"
            )
        self._contig = contig
        self.forget(0)

    def forget(self, position: int) -> None:
        """Give up reads that end before a position of the contig."""
        self._wanted = max(self._wanted, _place(self._contig, position))
        held = (part.behind(self._wanted) for part in self._held)
        self._held = [part for part in held if part is not None]

    def read_on(self) -> None:
        """Read the next batch; at the end, the frontier moves behind all contigs.

        Raises
        ------
        InputError
            The reads are not sorted, or the input is damaged.
        """
        reads = next(self._batches, None)
        if reads is None:
            self._last = _END
            return
        starts = _places_of(reads)
        self._check_order(reads, starts)
        self._last = int(starts[-1])
        ends = starts + _lengths_of(reads)
        is_new = ~_meet(self._counted_starts, self._counted_reach, starts, ends)
        kept = self._filter.keeps(reads, is_new) & (ends > self._wanted)
        if kept.any():
            reads = reads.take(kept)
            samples = self._samples_of(reads)
            self._held.append(BufferedReads.of(reads, samples, starts[kept], ends[kept]))

    def at(self, starts: NDArray[np.int64], reach: NDArray[np.int64]) -> list[BufferedReads]:
        """Return the reads that overlap one of some intervals of the contig, at least one.

        Parameters
        ----------
        starts
            int64[k], ascending.
        reach
            int64[k], the largest end of the intervals so far.
        """
        base = _place(self._contig, 0)
        met = (held.meeting(base + starts, base + reach) for held in self._held)
        return [held for held in met if held.starts.size]

    def _check_order(self, reads: ReadBatch, starts: NDArray[np.int64]) -> None:
        before = np.concatenate([[self._last], starts[:-1]])
        back = np.flatnonzero(starts < before)
        if back.size:
            row = int(back[0])
            name = reads.names[row].tobytes().decode("utf-8", "replace")
            raise InputError(
                f"{self._name} is not sorted by position: the read {name} at "
                f"{self._text(int(starts[row]))} comes behind one at "
                f"{self._text(int(before[row]))}; run: samtools sort"
            )

    def _text(self, place: int) -> str:
        contig, position = divmod(place, 1 << _PLACE_BITS)
        if contig == _NO_CONTIG:
            return "no position"
        return f"{self._header.reference_names[contig]}:{position + 1}"


def _meet(
    starts: NDArray[np.int64],
    reach: NDArray[np.int64],
    read_starts: NDArray[np.int64],
    read_ends: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """bool[n]: which reads overlap one of the intervals of `BufferedReads.meeting`, or of none."""
    # Of the intervals that begin before a read ends, the one that reaches furthest decides.
    begun = np.searchsorted(starts, read_ends)
    met: NDArray[np.bool_] = np.append(-1, reach)[begun] > read_starts
    return met


def _lengths_of(reads: ReadBatch) -> NDArray[np.int64]:
    """int64[n]: how much of the reference reads take, at least a base; a base if unmapped."""
    lengths = np.clip(reference_lengths(reads.cigars), 1, _LONGEST_SPAN)
    return np.where(reads.has_flags(UNMAPPED, 0), 1, lengths)


def _place(contig: int, position: int) -> int:
    return (contig << _PLACE_BITS) + position


def _places_of(reads: ReadBatch) -> NDArray[np.int64]:
    """int64[n]: the places of reads; those without a contig stand behind all others."""
    contigs = reads.reference_ids.astype(np.int64)
    places = (contigs << _PLACE_BITS) + np.maximum(reads.positions, 0)
    return np.where(contigs < 0, _END, places)

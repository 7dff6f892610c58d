"""Buffer of the sorted reads of one input, as long as loci need them."""

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

# A key is the number of a contig in the header and a position on it, in one integer.
_POSITION_BITS: Final = 32
_NO_CONTIG: Final = 2**31 - 1
END_KEY: Final = _NO_CONTIG << _POSITION_BITS
"""Key after all contigs."""
_LONGEST_SPAN: Final = 2**31 - 1

SamplesOf = Callable[[ReadBatch], NDArray[np.int32]]
"""Function that returns the sample of each read."""


@dataclass(frozen=True, slots=True)
class BufferedReads:
    """n reads sorted by position.

    Attributes
    ----------
    reads
        The reads.
    samples
        int32[n], the sample of each read.
    starts, ends
        int64[n], keys of the interval that each read is aligned to, half-open; at least one base.
    max_ends
        int64[n], the largest end up to each read.
    """

    reads: ReadBatch
    samples: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    max_ends: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        reads: ReadBatch,
        samples: NDArray[np.int32],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> Self:
        """Return the columns of sorted reads, with `max_ends`."""
        return cls(reads, samples, starts, ends, np.maximum.accumulate(ends))

    def take(self, rows: NDArray[np.int64]) -> BufferedReads:
        """Return the reads of ascending rows."""
        return BufferedReads.of(
            self.reads.take(rows), self.samples[rows], self.starts[rows], self.ends[rows]
        )

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
        last = int(np.searchsorted(self.starts, max_ends[-1]))
        rows = np.arange(first, max(last, first))
        return self.take(rows[_overlap_any(starts, max_ends, self.starts[rows], self.ends[rows])])

    def ending_after(self, key: int) -> BufferedReads | None:
        """Return the reads that end after a key, or all if these are most; None if none does."""
        if self.max_ends[-1] <= key:
            return None
        is_needed = self.ends > key
        is_sparse = 2 * np.count_nonzero(is_needed) < is_needed.size
        return self.take(np.flatnonzero(is_needed)) if is_sparse else self


class ReadBuffer:
    """Buffer of reads, contig by contig, read as far as requested.

    Parameters
    ----------
    source
        Open source, at its first read.
    name
        Name of the input, for messages.
    read_filter
        Filter of the reads.
    samples_of
        Function that returns the sample of each read.
    contig
        Number of the first contig needed, in the header.
    counted
        Sorted intervals of this contig: reads that overlap one were counted before.
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
        self._counted_starts = key_of(contig, 0) + counted.starts
        self._counted_max_ends = key_of(contig, 0) + counted.max_ends
        self._contig = contig
        self._needed_from = key_of(contig, 0)
        self._last = 0
        self._buffered: list[BufferedReads] = []

    @property
    def frontier(self) -> int:
        """Position on the contig: all reads that start before it have been read."""
        return self._last - key_of(self._contig, 0)

    @property
    def bases(self) -> int:
        """Number of bases of the buffered reads."""
        return sum(part.reads.bases.data.size for part in self._buffered)

    def move_to(self, contig: int) -> None:
        """Move to a contig, by its number in the header, and drop the reads before it.

        Raises
        ------
        InputError
            The contig is before the current one.
        """
        check_contig_order(self._header, self._name, self._contig, contig)
        self._contig = contig
        self.drop_before(0)

    def drop_before(self, position: int) -> None:
        """Drop reads that end before a position of the contig."""
        self._needed_from = max(self._needed_from, key_of(self._contig, position))
        parts = (part.ending_after(self._needed_from) for part in self._buffered)
        self._buffered = [part for part in parts if part is not None]

    def read_on(self) -> None:
        """Read the next batch; at the end of the input, the frontier moves after all contigs.

        Raises
        ------
        InputError
            The reads are not sorted, or the input is damaged.
        """
        reads = next(self._batches, None)
        if reads is None:
            self._last = END_KEY
            return
        starts = _keys_of(reads)
        self._check_order(reads, starts)
        self._last = int(starts[-1])
        ends = starts + _lengths_of(reads)
        is_new = ~_overlap_any(self._counted_starts, self._counted_max_ends, starts, ends)
        kept = self._filter.keeps(reads, is_new) & (ends > self._needed_from)
        if kept.any():
            reads = reads.take(kept)
            samples = self._samples_of(reads)
            self._buffered.append(BufferedReads.of(reads, samples, starts[kept], ends[kept]))

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

    def _check_order(self, reads: ReadBatch, starts: NDArray[np.int64]) -> None:
        before = np.concatenate([[self._last], starts[:-1]])
        unsorted_rows = np.flatnonzero(starts < before)
        if unsorted_rows.size:
            row = int(unsorted_rows[0])
            keys = int(starts[row]), int(before[row])
            raise not_sorted(self._header, self._name, reads.names[row], *keys)


def check_contig_order(header: SamHeader, name: str, current: int, contig: int) -> None:
    """Raise an error if a contig is before the current one of a stream, by their numbers.

    Raises
    ------
    InputError
        It is.
    """
    if contig < current:
        names = header.reference_names
        raise InputError(
            f"{name}: a stream, but sites of {names[contig]} come after sites of "
            f"{names[current]}; sort the sites by the contigs of its header, or give the "
            "reads as an indexed BAM file"
        )


def not_sorted(
    header: SamHeader, name: str, read: NDArray[np.uint8], key: int, before: int
) -> InputError:
    """Return the error for a read, by its name, after a read with a larger key."""
    text = read.tobytes().decode("utf-8", "replace")
    return InputError(
        f"{name}: not sorted by position: read '{text}' at {_text_of(header, key)} comes after a "
        f"read at {_text_of(header, before)}; run: samtools sort"
    )


def _text_of(header: SamHeader, key: int) -> str:
    contig, position = divmod(key, 1 << _POSITION_BITS)
    if contig == _NO_CONTIG:
        return "no position"
    return f"{header.reference_names[contig]}:{position + 1}"


def _overlap_any(
    starts: NDArray[np.int64],
    max_ends: NDArray[np.int64],
    read_starts: NDArray[np.int64],
    read_ends: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return bool[n]: which reads overlap any of k intervals, k at least 0, starts ascending."""
    # Of the intervals that start before a read ends, the largest end decides.
    started = np.searchsorted(starts, read_ends)
    overlap: NDArray[np.bool_] = np.append(-1, max_ends)[started] > read_starts
    return overlap


def _lengths_of(reads: ReadBatch) -> NDArray[np.int64]:
    """Return int64[n]: the reference length of each read, at least 1; 1 for unmapped reads."""
    lengths = np.clip(reference_lengths(reads.cigars), 1, _LONGEST_SPAN)
    return np.where(reads.has_flags(UNMAPPED, 0), 1, lengths)


def key_of(contig: int, position: int) -> int:
    """Return the key of a position of a contig, by its number in the header."""
    return (contig << _POSITION_BITS) + position


def _keys_of(reads: ReadBatch) -> NDArray[np.int64]:
    """Return int64[n]: the keys of reads; reads without a contig come after all others."""
    contigs = reads.reference_ids.astype(np.int64)
    keys = (contigs << _POSITION_BITS) + np.maximum(reads.positions, 0)
    return np.where(contigs < 0, END_KEY, keys)

"""Windows of segments: how far they reach, their reference, and the reads that overlap them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.read_columns import ReadColumns
from hapgpu.arrays.read_gathering import gathered_reads
from hapgpu.calling.batches import MAX_JUNCTION, PADDING, REFERENCE_ROOM, Segment
from hapgpu.calling.reads.downsampling import CROWD_POSITIONS, MAX_SPAN, may_crowd
from hapgpu.calling.reads.filters import with_regular_bases
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.genotyping.reads.read_buffer import ChoiceOfReads, ReadBuffer
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.genome.fasta import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.pairhmm.qualities.prepare import check_base_qualities

_POSITION: Final = 2**32 - 1
"""Bits of a key of `ReadBuffer` that are the position."""
_NO_READS: Final = ReadColumns.empty(*[np.empty(0, dtype=np.int32)] * 4).to_batch()


def _regular_letters() -> NDArray[np.uint8]:
    table = np.full(256, ord("N"), dtype=np.uint8)
    for letter in b"ACGT":
        table[[letter, letter | 0x20]] = letter
    return table


_REGULAR: Final = _regular_letters()
"""uint8[256]: A, C, G and T in either case become upper case, all else N."""


@dataclass(frozen=True, slots=True)
class Room:
    """Bases on both sides of a segment whose reads are needed.

    Attributes
    ----------
    before, after
        Bases before the start and after the end.
    far_before
        Bases before the start that always suffice; `before` suffices nearly always.
    """

    before: int
    far_before: int
    after: int

    def window(self, segment: Segment, *, far: bool) -> tuple[int, int]:
        """Return start and end of the window of a segment, cut to the contig.

        Nothing before the calling interval is needed but the padding of its first active region.
        """
        before = self.far_before if far else self.before
        start = max(segment.start - before, segment.interval_start - PADDING - MAX_JUNCTION, 0)
        return start, min(segment.end + self.after, segment.contig_length)


@dataclass(frozen=True, slots=True)
class Window:
    """Part of a contig whose reads are read; a `ReadGroup`.

    Attributes
    ----------
    contig, contig_length
        The contig.
    start, end
        0-based, half-open.
    counted_end
        Reads that start before it are counted with an earlier window.
    max_reads_per_start
        As in `downsampled`.
    own_start, own_end
        Reads that start there are counted with this window if they are in crowds.
    """

    contig: str
    contig_length: int
    start: int
    end: int
    counted_end: int
    max_reads_per_start: int
    own_start: int
    own_end: int

    @property
    def counted(self) -> LocusIntervals:
        """The part of the contig before `counted_end`."""
        return LocusIntervals(np.zeros(1, dtype=np.int64), np.array([self.counted_end]))

    @property
    def first(self) -> int:
        """Position from which on reads decide which reads of the window are kept."""
        first = max(self.start - MAX_SPAN, 0)
        return first - first % CROWD_POSITIONS if may_crowd(self.max_reads_per_start) else first

    @property
    def last(self) -> int:
        """Position up to which reads decide which reads of the window are kept."""
        if not may_crowd(self.max_reads_per_start):
            return self.end
        return min(self.end + -self.end % CROWD_POSITIONS, self.contig_length)

    def regions(self) -> list[Region]:
        """Return the part of the contig whose reads are read."""
        return [Region(self.contig, self.first, self.last)]


@dataclass(frozen=True, slots=True)
class WindowReads:
    """n reads that overlap a window, sorted by position, downsampled.

    Attributes
    ----------
    reads
        Their bases are A, C, G, T, N.
    samples
        int32[n].
    ends
        int64[n], 0-based end of the alignment.
    """

    reads: ReadBatch
    samples: NDArray[np.int32]
    ends: NDArray[np.int64]

    def take(self, kept: NDArray[np.bool_]) -> WindowReads:
        """Select reads by mask."""
        if kept.all():
            return self
        return WindowReads(self.reads.take(kept), self.samples[kept], self.ends[kept])


def reads_of_window(
    buffers: Sequence[ReadBuffer], window: Window, choose: ChoiceOfReads
) -> WindowReads:
    """Return the reads of all buffers that overlap a window, those of the first buffer first.

    Parameters
    ----------
    buffers
        Buffers at the contig of the window, which have read up to its end.
    window
        The window.
    choose
        Returns which reads are kept.

    Raises
    ------
    InputError
        A read has no base qualities.
    """
    bounds = np.array([window.first]), np.array([window.last])
    found = [part for buffer in buffers for part in buffer.at(*bounds)]
    if not found:
        nothing = np.empty(0, dtype=np.int32)
        return WindowReads(_NO_READS, nothing, nothing.astype(np.int64))
    all_reads = WindowReads(
        gathered_reads([(part.reads, part.rows) for part in found]),
        np.concatenate([part.samples for part in found]),
        np.concatenate([part.ends for part in found]) & _POSITION,
    )
    if len(buffers) > 1:
        order = np.argsort(all_reads.reads.positions, kind="stable")
        all_reads = WindowReads(
            all_reads.reads.take(order), all_reads.samples[order], all_reads.ends[order]
        )
    kept = choose(all_reads.reads, all_reads.samples)
    kept &= (all_reads.ends > window.start) & (all_reads.ends <= window.contig_length)
    kept &= all_reads.reads.positions < window.end
    chosen = all_reads.take(kept)
    return WindowReads(with_regular_bases(chosen.reads), chosen.samples, chosen.ends)


def check_qualities(reads: ReadBatch, source: str) -> None:
    """Check that all reads have base qualities.

    Raises
    ------
    InputError
        One has none; `source` is the name of the inputs.
    """
    check_base_qualities(reads, source, "add them, or remove the read")


def reference_of(reference: ReferenceFasta, contig: str, start: int, end: int) -> ReferenceSlice:
    """Return the bases of a window and `REFERENCE_ROOM` on both sides, cut to the contig.

    Letters other than A, C, G and T become N.

    Raises
    ------
    InputError
        The reference is damaged.
    """
    region = Region(
        contig,
        max(start - REFERENCE_ROOM, 0),
        min(end + REFERENCE_ROOM, reference.lengths[contig]),
    )
    return ReferenceSlice(region.start, as_regular(reference.fetch(region)))


def as_regular(text: bytes) -> NDArray[np.uint8]:
    """Return text of the reference; letters other than A, C, G and T become N."""
    return _REGULAR[np.frombuffer(text, dtype=np.uint8)]

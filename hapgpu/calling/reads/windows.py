"""Windows of segments: how far they reach, their reference, and the reads that overlap them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer, hash_of
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.arrays.read_columns import ReadColumns, gathered_reads
from hapgpu.calling.batches import MAX_JUNCTION, PADDING, REFERENCE_ROOM, Segment
from hapgpu.cigar.encoding import reference_lengths
from hapgpu.genotyping.reads.locus_groups import LocusIntervals
from hapgpu.genotyping.reads.read_buffer import BufferedReads, ChoiceOfReads, ReadBuffer
from hapgpu.haplotypes.batches import ReferenceSlice
from hapgpu.io.bam.constants import MISSING_QUALITY
from hapgpu.io.genome.reference import ReferenceFasta
from hapgpu.io.genome.regions import Region
from hapgpu.pairhmm.reads.qualities import check_base_qualities
from hapgpu.runtime.jit import njit

MAX_SPAN: Final = 1000
"""Reads that span more bases of the reference are always kept: the choice among the others is the
same for all windows that hold so many bases before a position."""
CROWD_POSITIONS: Final = 100
"""Positions, from a multiple of it on, whose starting reads are limited together."""
MAX_CROWD: Final = 10_000
"""Reads of a sample that start at such positions, at most: a depth of 10,000 with 100 bases. GATK 3
has this limit for an active region."""
_FACTORS: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)

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
    """Part of a contig whose reads are read; a `ContigPart`.

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
        The reads, as the buffers have them.
    samples
        int32[n].
    ends
        int64[n], 0-based end of the alignment.
    """

    reads: ReadBatch
    samples: NDArray[np.int32]
    ends: NDArray[np.int64]

    def take(self, kept: NDArray[np.bool_]) -> WindowReads:
        """Select reads by a mask, `kept`, bool[n]."""
        if kept.all():
            return self
        rows = np.flatnonzero(kept)
        return WindowReads(
            gathered_reads([(self.reads, rows)]), self.samples[rows], self.ends[rows]
        )


def reads_of_window(
    buffers: Sequence[ReadBuffer], window: Window, choose: ChoiceOfReads, source: str
) -> WindowReads:
    """Return the reads of all buffers that overlap a window, those of the first buffer first.

    Parameters
    ----------
    buffers
        Buffers at the contig of the window, which have read up to its end.
    window
        The window.
    choose
        Returns which reads of crowds (`crowded`) are kept; all others are.
    source
        Name of the inputs, for errors.

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
    for part in found:
        check_qualities(part.reads, part.rows, source)
    samples = np.concatenate([part.samples for part in found])
    starts, ends = (
        np.concatenate(keys) & _POSITION
        for keys in ([part.starts for part in found], [part.ends for part in found])
    )
    order = np.arange(starts.size)
    if len(buffers) > 1:
        order = np.argsort(starts, kind="stable")
    kept = (ends > window.start) & (ends <= window.contig_length) & (starts < window.end)
    rows = order[crowded(starts[order], window.max_reads_per_start)]
    if rows.size:
        kept[rows] &= choose(_gathered(found, rows), samples[rows])
    chosen = order[kept[order]]
    return WindowReads(_gathered(found, chosen), samples[chosen], ends[chosen])


def _gathered(parts: Sequence[BufferedReads], rows: NDArray[np.int64]) -> ReadBatch:
    """Copy the reads of some rows of all parts, int64[k], in their order."""
    ascending = np.sort(rows)
    ends = np.cumsum([part.rows.size for part in parts])
    cuts = np.split(ascending, np.searchsorted(ascending, ends[:-1]))
    each = zip(parts, cuts, ends - [part.rows.size for part in parts], strict=True)
    reads = gathered_reads([(part.reads, part.rows[cut - first]) for part, cut, first in each])
    if np.array_equal(ascending, rows):
        return reads
    return reads.take(np.searchsorted(ascending, rows))


def check_qualities(reads: ReadBatch, rows: NDArray[np.int64], source: str) -> None:
    """Check that reads have base qualities.

    Parameters
    ----------
    reads
        Reads with bases.
    rows
        int64[k]: those that are checked.
    source
        Name of the inputs, for errors.

    Raises
    ------
    InputError
        One has none.
    """
    row = _without_qualities(view_of(reads.qualities), read_only(rows))
    if row >= 0:
        remedy = "add them, or remove the read"
        check_base_qualities(reads.take(np.array([row])), source, remedy)


@njit
def _without_qualities(qualities: RaggedView, rows: NDArray[np.int64]) -> Integer:
    """Return the first read without base qualities, or -1."""
    found: Integer = np.int64(-1)
    for row in rows:
        if qualities.data[qualities.offsets[row]] == MISSING_QUALITY:
            found = row
            break
    return found


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


def as_regular(text: bytes | NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return uint8[n]: `text`, uint8[n] or bytes; letters other than A, C, G and T become N."""
    return _REGULAR[np.frombuffer(text, dtype=np.uint8)]


def downsampled(
    reads: ReadBatch, samples: NDArray[np.int32], max_reads_per_start: int
) -> NDArray[np.bool_]:
    """Return bool[n]: which reads are kept.

    Of the reads of a sample that start at one position and span at most `MAX_SPAN` bases, those
    with the smallest hashes of the name are kept. The choice does not depend on the order of the
    reads, except for records that are equal in name, flags and mapping quality. Mates have the same
    hash, so that pairs often stay together.

    Parameters
    ----------
    reads
        n reads of one contig, sorted by position.
    samples
        int32[n].
    max_reads_per_start
        Reads kept at each position, at most; 0 keeps all.
    """
    kept = np.ones(len(reads), dtype=np.bool_)
    if max_reads_per_start == 0 or len(reads) <= max_reads_per_start:
        return kept
    rows = np.arange(len(reads))
    kept[_excess(reads, samples, rows, reads.positions, max_reads_per_start)] = False
    return kept


def may_crowd(max_reads_per_start: int) -> bool:
    """Return whether `in_crowds` may find reads, given the limit of each position."""
    return max_reads_per_start == 0 or max_reads_per_start * CROWD_POSITIONS > MAX_CROWD


def crowded(starts: NDArray[np.int64], max_reads_per_start: int) -> NDArray[np.int64]:
    """Return int64[k], ascending: the reads that `downsampled` or `in_crowds` may exclude.

    The choice among these reads alone is the same as among all reads.

    Parameters
    ----------
    starts
        int64[n], ascending: the start of each read.
    max_reads_per_start
        As in `downsampled`.
    """
    is_crowded = np.zeros(starts.size, dtype=np.bool_)
    if max_reads_per_start:
        is_crowded[_in_crowds(starts, max_reads_per_start)] = True
    if may_crowd(max_reads_per_start):
        is_crowded[_in_crowds(starts // CROWD_POSITIONS, MAX_CROWD)] = True
    return np.flatnonzero(is_crowded)


def in_crowds(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    kept: NDArray[np.bool_],
    max_reads_per_start: int,
) -> NDArray[np.int64]:
    """Return int64[k]: the reads that `MAX_CROWD` excludes, of those that `downsampled` keeps.

    Of the kept reads of a sample that start at `CROWD_POSITIONS` and span at most `MAX_SPAN` bases,
    all but those with the smallest hashes of the name are excluded. So memory is bounded for any
    `max_reads_per_start`.

    Parameters
    ----------
    reads, samples, max_reads_per_start
        As in `downsampled`.
    kept
        bool[n]: its result.
    """
    if not may_crowd(max_reads_per_start) or len(reads) <= MAX_CROWD:
        return np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(kept)
    return _excess(reads, samples, rows, reads.positions[rows] // CROWD_POSITIONS, MAX_CROWD)


def _excess(
    reads: ReadBatch,
    samples: NDArray[np.int32],
    rows: NDArray[np.int64],
    places: NDArray[np.int32],
    limit: int,
) -> NDArray[np.int64]:
    """Return which of some rows, with ascending places, exceed a limit per place and sample."""
    crowds = _in_crowds(places, limit)
    rows, places = rows[crowds], places[crowds]
    is_short = reference_lengths(reads.cigars.take(rows)) <= MAX_SPAN
    rows, places = rows[is_short], places[is_short]
    hashes = np.empty(rows.size, dtype=np.uint64)
    hash_names(view_of(reads.names), rows, hashes)
    ties = reads.mapping_qualities[rows], reads.flags[rows], reads.positions[rows]
    order = np.lexsort((*ties, hashes, samples[rows], places))
    rows, places = rows[order], places[order]
    is_first = _changes(places) | _changes(samples[rows])
    firsts = np.flatnonzero(is_first)
    ranks = np.arange(rows.size) - firsts[np.cumsum(is_first) - 1]
    excess: NDArray[np.int64] = rows[ranks >= limit]
    return excess


def _in_crowds(places: NDArray[np.integer], limit: int) -> NDArray[np.int64]:
    """Return the rows of the reads that share their place with at least `limit` others."""
    firsts = np.flatnonzero(_changes(places))
    counts = np.diff(firsts, append=places.size)
    return np.flatnonzero(np.repeat(counts > limit, counts))


def _changes(values: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return bool[n]: which values differ from the one before; the first does."""
    changes = np.ones(values.size, dtype=np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return changes


@njit
def hash_names(names: RaggedView, rows: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
    """Write a hash of each name whose order is independent of the text (SplitMix64 of FNV-1a).

    Parameters
    ----------
    names
        uint8 text.
    rows
        int64[k]: rows of the names.
    hashes
        uint64[k]: receives the hashes.
    """
    for k in range(rows.size):
        row = rows[k]
        value = np.uint64(hash_of(names.data, names.offsets[row], names.offsets[row + 1]))
        value = (value ^ value >> _30) * _FACTORS[0]
        value = (value ^ value >> _27) * _FACTORS[1]
        hashes[k] = value ^ value >> _31

"""Alignments of reads cut to ranges of bases and to spans of the reference.

Soft-clipped bases count as aligned without gaps: the origin of a read is the position of its first
base, soft-clipped or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged import Ragged
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.calling.options import AssemblyOptions
from hapgpu.cigar.encoding import DELETION, MATCH
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit

PAIRED: Final = 1
REVERSE: Final = 16
MATE_REVERSE: Final = 32
MATE_UNMAPPED: Final = 8

_POSITIONED: Final = REFERENCE_OPERATIONS | 1 << SOFT_CLIP
"""Operations that take positions of the reference, soft clips included."""


class BaseRanges(NamedTuple):
    """Aligned reads of which a range of bases is left, n rows.

    Attributes
    ----------
    origins
        int64[n]: the position of base 0.
    starts, ends
        int64[n]: the range of bases; a read with start >= end has none left.
    """

    origins: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClippedRanges:
    """p clipped reads; one without bases has only zeros.

    Attributes
    ----------
    base_starts, base_ends
        int64[p]: range of bases of the read.
    starts, ends
        int64[p]: interval of the reference, 0-based, half-open.
    """

    base_starts: NDArray[np.int64]
    base_ends: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[p]: the number of bases."""
        return self.base_ends - self.base_starts

    def take(self, rows: NDArray[np.int64]) -> ClippedRanges:
        """Select clipped reads by `rows`, int64[k]."""
        return ClippedRanges(
            self.base_starts[rows], self.base_ends[rows], self.starts[rows], self.ends[rows]
        )


def clipped_to_spans(
    cigars: Ragged,
    ranges: BaseRanges,
    rows: NDArray[np.int64],
    span_starts: NDArray[np.int64],
    span_ends: NDArray[np.int64],
) -> ClippedRanges:
    """Clip reads to spans of the reference, as GATK's ReadClipper.hardClipToRegion.

    Insertions at the edge of a span are kept, deletions there are dropped. A read that has no base
    on the reference in the span has no bases left.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows that consume the bases of their reads, as `CallFilter`
        ensures.
    ranges
        n rows.
    rows
        int64[p]: reads to clip, in any order, repeats allowed.
    span_starts, span_ends
        int64[p], 0-based, half-open.
    """
    columns = np.zeros((4, rows.size), dtype=np.int64)
    ranges = BaseRanges(*(read_only(column) for column in ranges))
    spans = read_only(span_starts), read_only(span_ends)
    _clip(view_of(cigars), ranges, read_only(rows), spans, columns)
    return ClippedRanges(*columns)


@njit
def _clip(
    cigars: RaggedView,
    ranges: BaseRanges,
    rows: NDArray[np.int64],
    spans: tuple[NDArray[np.int64], NDArray[np.int64]],
    columns: NDArray[np.int64],
) -> None:
    """Fill in the columns, in the order of `ClippedRanges`."""
    for k in range(rows.size):
        row = rows[k]
        origin, first, last = ranges.origins[row], ranges.starts[row], ranges.ends[row]
        start, end = aligned_interval(cigars, row, origin, first, last)
        is_within = start < spans[1][k] and end > spans[0][k] and start < end
        if is_within and end > spans[1][k]:
            last = bases_before(cigars, row, origin, spans[1][k], 0)
        if is_within and start < spans[0][k]:
            first = bases_before(cigars, row, origin, spans[0][k] - 1, 1)
        start, end = aligned_interval(cigars, row, origin, first, last)
        if is_within and first < last and start < end:
            columns[0, k], columns[1, k] = first, last
            columns[2, k], columns[3, k] = start, end


def clipped_cigars(
    cigars: Ragged,
    rows: NDArray[np.int64],
    base_starts: NDArray[np.int64],
    base_ends: NDArray[np.int64],
) -> Ragged:
    """Return the CIGARs of ranges of bases of reads: M, I, D, =, X; soft clips that are left are M.

    Parameters
    ----------
    cigars
        uint32 in BAM encoding, n rows.
    rows, base_starts, base_ends
        int64[p]: the reads, and the range of bases of each, as `clipped_to_spans` returns it.

    Returns
    -------
    Ragged
        uint32 in BAM encoding, p rows.
    """
    elements = np.empty(int(cigars.lengths_of(rows).sum()), dtype=np.uint32)
    offsets = np.zeros(rows.size + 1, dtype=np.int64)
    ranges = read_only(base_starts), read_only(base_ends)
    _write_cigars(view_of(cigars), read_only(rows), ranges, elements, offsets)
    return Ragged(elements[: offsets[-1]], offsets)


@njit
def _write_cigars(
    cigars: RaggedView,
    rows: NDArray[np.int64],
    ranges: tuple[NDArray[np.int64], NDArray[np.int64]],
    out: NDArray[np.uint32],
    out_offsets: NDArray[np.int64],
) -> None:
    at: Integer = np.int64(0)
    for k in range(rows.size):
        at = _write_elements(cigars, rows[k], ranges[0][k], ranges[1][k], out, at)
        out_offsets[k + 1] = at


@njit
def aligned_interval(
    cigars: RaggedView, row: Integer, origin: Integer, first: Integer, last: Integer
) -> tuple[Integer, Integer]:
    """Return the interval that the bases first to last of a read are aligned to, half-open.

    Deletions at its ends do not belong to it. Without an aligned base, start >= end. The read is a
    row of `cigars`, uint32 in BAM encoding.
    """
    position, base = np.int64(origin), np.int64(0)
    start, end = np.int64(-1), np.int64(-1)
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
        takes_positions = _POSITIONED >> operation & 1
        if QUERY_OPERATIONS >> operation & 1:
            skipped, kept_end = max(base, first) - base, min(base + length, last) - base
            if skipped < kept_end:
                if start < 0:
                    start = position + skipped * takes_positions
                end = position + kept_end * takes_positions
            base += length
        position += length * takes_positions
    return start, end


@njit
def bases_before(
    cigars: RaggedView, row: Integer, origin: Integer, position: Integer, and_there: Integer
) -> Integer:
    """Count the bases of a read before its base at a position, or before the deletion there.

    Parameters
    ----------
    cigars, row, origin
        The alignment, a row of uint32 in BAM encoding; the position is within it.
    position
        0-based.
    and_there
        1 to count the base at the position too, else 0.
    """
    at, base = np.int64(origin), np.int64(0)
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
        takes_bases = QUERY_OPERATIONS >> operation & 1
        if _POSITIONED >> operation & 1:
            if position < at + length:
                return base + (position - at + and_there) * takes_bases
            at += length
        base += length * takes_bases
    return base


@njit
def _write_elements(
    cigars: RaggedView,
    row: Integer,
    first: Integer,
    last: Integer,
    out: NDArray[np.uint32],
    out_at: Integer,
) -> Integer:
    """Write the CIGAR of the bases first to last of a read; return its end."""
    base, at, previous = np.int64(0), np.int64(out_at), np.int64(-1)
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
        kept: Integer = np.int64(0)
        if QUERY_OPERATIONS >> operation & 1:
            kept = min(base + length, last) - max(base, first)
            base += length
        elif operation == DELETION and first < base < last:
            kept = length
        if operation == SOFT_CLIP:
            operation = np.int64(MATCH)
        if kept > 0 and operation == previous:
            out[at - 1] += np.uint32(kept << 4)
        elif kept > 0:
            out[at] = np.uint32(kept << 4 | operation)
            at += 1
            previous = operation
    return at


def has_mapped_mate(reads: ReadBatch) -> NDArray[np.bool_]:
    """Return bool[n]: whether a read is paired, and its mate has a position."""
    mask = reads.has_flags(PAIRED, MATE_UNMAPPED)
    return mask & (reads.mate_reference_ids >= 0) & (reads.mate_positions >= 0)


def usable_ranges(reads: ReadBatch, options: AssemblyOptions) -> BaseRanges:
    """Return the bases of n reads that are used, as GATK's AssemblyBasedCallerUtils.finalizeRegion.

    Soft clips of reads in well-defined fragments are kept, as far as they are on the contig, and
    others are removed; then bases of low quality at both ends; then bases in the adaptor.
    """
    ranges = BaseRanges(*np.empty((3, len(reads)), dtype=np.int64))
    mates = _Mates(
        read_only(reads.flags),
        read_only(has_mapped_mate(reads)),
        read_only(reads.mate_positions),
        read_only(reads.template_lengths),
    )
    _find_ranges(
        view_of(reads.cigars),
        read_only(reads.positions),
        view_of(reads.qualities),
        mates,
        options.min_base_quality,
        options.use_soft_clipped_bases,
        ranges,
    )
    return ranges


class _Mates(NamedTuple):
    """Fields of n reads that are about their mates."""

    flags: NDArray[np.uint16]
    is_mapped: NDArray[np.bool_]
    positions: NDArray[np.int32]
    template_lengths: NDArray[np.int32]


@njit
def _find_ranges(
    cigars: RaggedView,
    positions: NDArray[np.int32],
    qualities: RaggedView,
    mates: _Mates,
    min_quality: int,
    use_soft_clips: bool,  # noqa: FBT001  (Numba: no keyword-only arguments)
    out: BaseRanges,
) -> None:
    """Fill in the ranges."""
    for row in range(positions.size):
        leading, trailing, bases = _soft_clips(cigars, row)
        origin = np.int64(positions[row]) - leading
        first, last = leading, bases - trailing
        start, end = aligned_interval(cigars, row, origin, first, last)
        if use_soft_clips and _is_well_defined(mates, row, start, end):
            first, last = max(np.int64(0), -origin), bases
        first, last = _without_low_ends(qualities, row, first, last, min_quality)
        start, end = aligned_interval(cigars, row, origin, first, last)
        if start < end and _is_well_defined(mates, row, start, end):
            mate, length = np.int64(mates.positions[row]), np.int64(mates.template_lengths[row])
            boundary = start + abs(length)
            if mates.flags[row] & REVERSE:
                boundary = mate - 1
                if start <= boundary < end:
                    first = bases_before(cigars, row, origin, boundary, 1)
            elif start <= boundary < end:
                last = bases_before(cigars, row, origin, boundary, 0)
        out.origins[row], out.starts[row], out.ends[row] = origin, first, last


@njit
def _soft_clips(cigars: RaggedView, row: Integer) -> tuple[Integer, Integer, Integer]:
    """Return the soft-clipped bases before and after the alignment, and all bases of the read."""
    leading, trailing, bases = np.int64(0), np.int64(0), np.int64(0)
    is_clipped = True
    for k in range(cigars.offsets[row], cigars.offsets[row + 1]):
        length, operation = np.int64(cigars.data[k]) >> 4, np.int64(cigars.data[k]) & 15
        if operation != SOFT_CLIP:
            if QUERY_OPERATIONS >> operation & 1:
                is_clipped = False
        elif is_clipped:
            leading += length
        else:
            trailing += length
        if QUERY_OPERATIONS >> operation & 1:
            bases += length
    return leading, trailing, bases


@njit
def _is_well_defined(mates: _Mates, row: Integer, start: Integer, end: Integer) -> bool:
    """Tell whether the strands and positions of a read and its mate define a fragment."""
    length, flags = np.int64(mates.template_lengths[row]), np.int64(mates.flags[row])
    is_reverse = flags & REVERSE != 0
    if length == 0 or not mates.is_mapped[row] or is_reverse == (flags & MATE_REVERSE != 0):
        return False
    mate = np.int64(mates.positions[row])
    return bool(end > mate + 1 if is_reverse else start <= mate + length)


@njit
def _without_low_ends(
    qualities: RaggedView, row: Integer, first: Integer, last: Integer, min_quality: int
) -> tuple[Integer, Integer]:
    """Return the range of bases without bases of lower quality at both ends."""
    base = qualities.offsets[row]
    while last > first and qualities.data[base + last - 1] < min_quality:
        last -= 1
    while first < last and qualities.data[base + first] < min_quality:
        first += 1
    return first, last

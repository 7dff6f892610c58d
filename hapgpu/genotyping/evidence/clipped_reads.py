"""The parts of reads that loci are to see."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import ClippedReads
from hapgpu.genotyping.evidence.fragments import by_fragment
from hapgpu.haplotypes.batches import Loci
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit, njit_inlined

_ALIGNING_OPERATIONS: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_NOWHERE: Final = 1 << 62


def clipped_reads_of(
    reads: ReadBatch,
    read_samples: NDArray[np.int32],
    read_files: NDArray[np.int32],
    loci: Loci,
    margin: int,
    min_bases: int,
) -> ClippedReads:
    """Cut reads to the loci that they meet.

    A read covers what its CIGAR takes of the reference, and what its soft-clipped bases would take
    if they were aligned without gaps (in the middle of a CIGAR, where SAM has none, they count as
    inserted). It meets the loci that overlap this. Its window holds the bases within
    [start - margin, end + margin) of the locus, inserted ones being where the position behind them
    is. A read without bases, or of which none is aligned, meets nothing.

    Parameters
    ----------
    reads
        n mapped reads of the contig of the loci, in any order.
    read_samples, read_files
        int32[n], from 0: mates are of one sample and in one file.
    loci
        They may overlap; the nearer their starts are to ascending, the faster this is.
    margin
        Bases of the reference on either side of a locus.
    min_bases
        A window with fewer bases is left out; at least 1.
    """
    spans = _Spans.of(reads)
    sought = _Sought.of(loci, spans)
    table = np.empty((6, _count_meetings(spans, sought)), dtype=np.int64)
    kept = _cut(view_of(reads.cigars), spans, sought, margin, min_bases, table)
    origins = read_samples * (read_files.max(initial=0) + 1) + read_files
    order, fragments = by_fragment(reads.names, origins, table[0, :kept], table[1, :kept])
    rows, meets, begins, ends, starts, stops = np.take(table, order, axis=1)
    return ClippedReads(rows, meets, read_samples[rows], begins, ends, starts, stops, fragments)


class _Spans(NamedTuple):
    """Where n reads lie: int64[n] each.

    `starts` and `ends` bound what a read covers, clipped bases included, `aligned_starts` and
    `aligned_ends` what it covers without them; a read that meets nothing ends before it starts.
    """

    starts: NDArray[np.int64]
    aligned_starts: NDArray[np.int64]
    aligned_ends: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, reads: ReadBatch) -> _Spans:
        table = np.empty((4, len(reads)), dtype=np.int64)
        offsets = read_only(reads.bases.offsets)
        _measure(view_of(reads.cigars), read_only(reads.positions), offsets, table)
        return cls(*table)


class _Sought(NamedTuple):
    """The loci as reads look for them.

    `starts`, `ends` are those of l loci; `min_starts` int64[l] the least start of a locus and all
    behind it. Read i meets none but the loci `first[i]` to `last[i]`, and not all of those.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    min_starts: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def of(cls, loci: Loci, spans: _Spans) -> _Sought:
        min_starts = np.minimum.accumulate(loci.starts[::-1])[::-1].copy()
        max_ends = np.maximum.accumulate(loci.ends)
        first = np.searchsorted(max_ends, spans.starts, side="right")
        last = np.searchsorted(min_starts, spans.ends, side="left")
        return cls(read_only(loci.starts), read_only(loci.ends), min_starts, first, last)


class _Place(NamedTuple):
    """A place in an alignment: before an element of the CIGAR.

    `position` is that of the reference, `base` the number of bases before, and `covered` the
    position behind what the last of those covers.
    """

    element: Integer
    position: Integer
    base: Integer
    covered: Integer


@njit
def _measure(
    cigars: RaggedView,
    positions: NDArray[np.int32],
    base_offsets: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Fill the columns of `_Spans`."""
    elements, offsets = cigars.data, cigars.offsets
    for row in range(positions.size):
        before = columns = after = bases = aligned = np.int64(0)
        for k in range(offsets[row], offsets[row + 1]):
            length, operation = np.int64(elements[k] >> 4), elements[k] & 15
            if QUERY_OPERATIONS >> operation & 1:
                bases += length
            if _ALIGNING_OPERATIONS >> operation & 1:
                aligned += length
            if REFERENCE_OPERATIONS >> operation & 1:
                columns += length
                after = np.int64(0)
            elif operation == SOFT_CLIP:
                if columns == 0:
                    before += length
                else:
                    after += length
        position = np.int64(positions[row])
        out[0, row], out[3, row] = position - before, position + columns + after
        out[1, row], out[2, row] = position, position + columns
        if aligned == 0 or bases != base_offsets[row + 1] - base_offsets[row]:
            out[0, row], out[3, row] = _NOWHERE, -_NOWHERE


@njit_inlined
def _overlap(start: Integer, end: Integer, other_start: Integer, other_end: Integer) -> bool:
    return bool(start < other_end and other_start < end)


@njit
def _count_meetings(spans: _Spans, sought: _Sought) -> int:
    """Return how often a read covers a part of a locus."""
    starts, ends, read_starts, read_ends = sought.starts, sought.ends, spans.starts, spans.ends
    first, last = sought.first, sought.last
    count = 0
    for row in range(read_starts.size):
        for locus in range(first[row], last[row]):
            count += _overlap(starts[locus], ends[locus], read_starts[row], read_ends[row])
    return count


@njit
def _cut(
    cigars: RaggedView,
    spans: _Spans,
    sought: _Sought,
    margin: int,
    min_bases: int,
    out: NDArray[np.int64],
) -> int:
    """Fill in windows, read by read, but for their samples; return how many there are."""
    elements, offsets = cigars.data, cigars.offsets
    starts, ends, min_starts = sought.starts, sought.ends, sought.min_starts
    first, last = sought.first, sought.last
    read_starts, read_ends = spans.starts, spans.ends
    aligned_starts, aligned_ends = spans.aligned_starts, spans.aligned_ends
    kept = 0
    for row in range(read_starts.size):
        at = _Place(offsets[row], read_starts[row], np.int64(0), read_starts[row])
        close, begin, end = offsets[row + 1], aligned_starts[row], aligned_ends[row]
        for locus in range(first[row], last[row]):
            if not _overlap(starts[locus], ends[locus], read_starts[row], read_ends[row]):
                continue
            # No locus to come begins before this, so that long CIGARs are walked only once.
            at = _walk(elements, at, close, begin, end, min_starts[locus] - margin)
            low, high = starts[locus] - margin, ends[locus] + margin
            here = _walk(elements, at, close, begin, end, low)
            there = _walk(elements, here, close, begin, end, high)
            from_base = here.base + _bases_before(here, close, low)
            beyond = _bases_before(there, close, high)
            if there.base + beyond - from_base >= min_bases:
                out[0, kept], out[1, kept] = row, locus
                out[2, kept], out[3, kept] = from_base, there.base + beyond
                out[4, kept] = max(here.position, low)
                out[5, kept] = high if beyond > 0 else there.covered
                kept += 1
    return kept


@njit
def _walk(
    elements: NDArray[np.uint32],
    place: _Place,
    close: Integer,
    begin: Integer,
    end: Integer,
    target: Integer,
) -> _Place:
    """Go on to the first element up to `close` that has a base at the target or behind it.

    Clips within `begin` to `end`, where the alignment begins and ends, take no positions.
    """
    element, position, base, covered = place
    while element < close:
        length, operation = np.int64(elements[element] >> 4), elements[element] & 15
        is_clip = operation == SOFT_CLIP and not begin <= position < end
        columns = length if is_clip or REFERENCE_OPERATIONS >> operation & 1 else np.int64(0)
        bases = length if QUERY_OPERATIONS >> operation & 1 else np.int64(0)
        if bases > 0 and position + max(columns, np.int64(1)) > target:
            break
        element += 1
        position += columns
        base += bases
        if bases > 0:
            covered = position
    return _Place(element, position, base, covered)


@njit_inlined
def _bases_before(place: _Place, close: Integer, target: Integer) -> Integer:
    """Return how many bases of the element that `_walk` came to lie before its target."""
    before = target - place.position
    return before if place.element < close and before > 0 else 0

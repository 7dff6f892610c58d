"""Reads clipped to their loci."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, read_only, view_of
from hapgpu.genotyping.batches import ClippedReads
from hapgpu.genotyping.reads.fragments import by_fragment
from hapgpu.haplotypes.batches import Loci
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit, njit_inlined

_ALIGNED_OPERATIONS: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_NOWHERE: Final = 1 << 62


def clipped_reads_of(
    reads: ReadBatch,
    read_samples: NDArray[np.int32],
    read_files: NDArray[np.int32],
    loci: Loci,
    margin: int,
    min_bases: int,
) -> ClippedReads:
    """Clip reads to the loci that they overlap.

    A read covers the reference interval of its CIGAR, extended by its soft-clipped bases as if they
    were aligned without gaps (in the middle of a CIGAR, where SAM allows none, they count as
    inserted). It overlaps the loci that overlap this interval, if its CIGAR, without soft-clipped
    bases, overlaps [start - margin, end + margin) of the locus: reads farther away are not read.
    The clipped read holds the bases within [start - margin, end + margin); inserted bases are at
    the position after them. A read without bases or without aligned bases overlaps no locus.

    Parameters
    ----------
    reads
        n mapped reads of the contig of the loci, in any order.
    read_samples, read_files
        int32[n], from 0: mates have the same sample and file.
    loci
        Loci, which may overlap; fastest if their starts ascend.
    margin
        Bases of the reference on either side of a locus.
    min_bases
        Clipped reads with fewer bases are excluded; at least 1.
    """
    spans = _Spans.of(reads)
    candidates = _Candidates.of(loci, spans)
    table = np.empty((6, _count_overlaps(spans, candidates, margin)), dtype=np.int64)
    kept = _clip(view_of(reads.cigars), spans, candidates, margin, min_bases, table)
    origins = read_samples * (read_files.max(initial=0) + 1) + read_files
    order, fragments = by_fragment(reads.names, origins, table[0, :kept], table[1, :kept])
    rows, row_loci, base_starts, base_ends, starts, ends = np.take(table, order, axis=1)
    return ClippedReads(
        rows, row_loci, read_samples[rows], base_starts, base_ends, starts, ends, fragments
    )


class _Spans(NamedTuple):
    """Reference intervals of n reads: int64[n] each.

    `starts` and `ends` include soft-clipped bases, `aligned_starts` and `aligned_ends` do not. A
    read that overlaps no locus ends before it starts.
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


class _Candidates(NamedTuple):
    """The loci that each read may overlap.

    `starts` and `ends` are the intervals of l loci; `min_starts`, int64[l], is the smallest start
    of a locus and all loci after it. Read i overlaps only loci from `first[i]` to `last[i]`, but
    perhaps not all of them.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    min_starts: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]

    @classmethod
    def of(cls, loci: Loci, spans: _Spans) -> _Candidates:
        min_starts = np.minimum.accumulate(loci.starts[::-1])[::-1].copy()
        max_ends = np.maximum.accumulate(loci.ends)
        first = np.searchsorted(max_ends, spans.starts, side="right")
        last = np.searchsorted(min_starts, spans.ends, side="left")
        return cls(read_only(loci.starts), read_only(loci.ends), min_starts, first, last)


class _Offset(NamedTuple):
    """Offset in an alignment: before an element of the CIGAR.

    `position` is the reference position, `base` the number of bases before it, and `covered` the
    end of the reference interval that these bases cover.
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
    """Write the columns of `_Spans`."""
    elements, offsets = cigars.data, cigars.offsets
    for row in range(positions.size):
        before = columns = after = bases = aligned = np.int64(0)
        for k in range(offsets[row], offsets[row + 1]):
            length, operation = np.int64(elements[k] >> 4), elements[k] & 15
            if QUERY_OPERATIONS >> operation & 1:
                bases += length
            if _ALIGNED_OPERATIONS >> operation & 1:
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
def _overlaps(spans: _Spans, row: Integer, start: Integer, end: Integer, margin: int) -> bool:
    """Return whether a read overlaps a locus from start to end."""
    return bool(
        start < spans.ends[row]
        and spans.starts[row] < end
        and start - margin < spans.aligned_ends[row]
        and spans.aligned_starts[row] < end + margin
    )


@njit
def _count_overlaps(spans: _Spans, candidates: _Candidates, margin: int) -> int:
    """Return the number of pairs of a read and a locus that overlap."""
    starts, ends = candidates.starts, candidates.ends
    first, last = candidates.first, candidates.last
    count = 0
    for row in range(first.size):
        for locus in range(first[row], last[row]):
            count += _overlaps(spans, row, starts[locus], ends[locus], margin)
    return count


@njit
def _clip(
    cigars: RaggedView,
    spans: _Spans,
    candidates: _Candidates,
    margin: int,
    min_bases: int,
    out: NDArray[np.int64],
) -> int:
    """Write the clipped reads, read by read, without samples; return their number."""
    elements, offsets = cigars.data, cigars.offsets
    starts, ends, min_starts = candidates.starts, candidates.ends, candidates.min_starts
    first, last = candidates.first, candidates.last
    read_starts = spans.starts
    aligned_starts, aligned_ends = spans.aligned_starts, spans.aligned_ends
    kept = 0
    for row in range(read_starts.size):
        at = _Offset(offsets[row], read_starts[row], np.int64(0), read_starts[row])
        stop, start, end = offsets[row + 1], aligned_starts[row], aligned_ends[row]
        for locus in range(first[row], last[row]):
            if not _overlaps(spans, row, starts[locus], ends[locus], margin):
                continue
            # No later locus starts before this, so that long CIGARs are walked only once.
            at = _walk(elements, at, stop, start, end, min_starts[locus] - margin)
            low, high = starts[locus] - margin, ends[locus] + margin
            left = _walk(elements, at, stop, start, end, low)
            right = _walk(elements, left, stop, start, end, high)
            base_start = left.base + _bases_before(left, stop, low)
            rest = _bases_before(right, stop, high)
            if right.base + rest - base_start >= min_bases:
                out[0, kept], out[1, kept] = row, locus
                out[2, kept], out[3, kept] = base_start, right.base + rest
                out[4, kept] = max(left.position, low)
                out[5, kept] = high if rest > 0 else right.covered
                kept += 1
    return kept


@njit
def _walk(
    elements: NDArray[np.uint32],
    offset: _Offset,
    stop: Integer,
    start: Integer,
    end: Integer,
    target: Integer,
) -> _Offset:
    """Advance to the first element up to `stop` that has a base at the target or after it.

    Clips within the aligned interval, `start` to `end`, take no positions.
    """
    element, position, base, covered = offset
    while element < stop:
        length, operation = np.int64(elements[element] >> 4), elements[element] & 15
        is_clip = operation == SOFT_CLIP and not start <= position < end
        columns = length if is_clip or REFERENCE_OPERATIONS >> operation & 1 else np.int64(0)
        bases = length if QUERY_OPERATIONS >> operation & 1 else np.int64(0)
        if bases > 0 and position + max(columns, np.int64(1)) > target:
            break
        element += 1
        position += columns
        base += bases
        if bases > 0:
            covered = position
    return _Offset(element, position, base, covered)


@njit_inlined
def _bases_before(offset: _Offset, stop: Integer, target: Integer) -> Integer:
    """Return the number of bases before the target in the element that `_walk` returned."""
    before = target - offset.position
    return before if offset.element < stop and before > 0 else 0

"""Reads clipped to intervals of the reference by their alignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.batches import ReadBatch
from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import RaggedView, last_at_most, read_only, view_of
from hapgpu.io.bam.constants import QUERY_OPERATIONS, REFERENCE_OPERATIONS, SOFT_CLIP
from hapgpu.runtime.jit import njit

_ALIGNING_OPERATIONS: Final = QUERY_OPERATIONS & REFERENCE_OPERATIONS
_NO_POSITION: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class ReadParts:
    """p parts of the reads of a batch; a read may have several parts, or none.

    Attributes
    ----------
    reads
        int64[p]: rows of the batch.
    starts, ends
        int64[p]: range of bases of the read, 0-based, half-open.
    """

    reads: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def whole(cls, reads: ReadBatch, rows: NDArray[np.int64]) -> Self:
        """Return all bases of each of the reads `rows`, int64[p]."""
        return cls(rows, np.zeros(rows.size, dtype=np.int64), reads.bases.lengths_of(rows))

    def __len__(self) -> int:
        return self.reads.size

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[p]: the number of bases of each part."""
        return self.ends - self.starts

    def take(self, rows: NDArray[np.bool_]) -> ReadParts:
        """Select parts by a mask, `rows`, bool[p]."""
        return ReadParts(self.reads[rows], self.starts[rows], self.ends[rows])

    def with_all_bases_of(self, reads: ReadBatch, rows: NDArray[np.bool_]) -> ReadParts:
        """Extend the parts of a mask, `rows`, bool[p], to whole reads."""
        whole = ReadParts.whole(reads, self.reads)
        starts = np.where(rows, whole.starts, self.starts)
        return ReadParts(self.reads, starts, np.where(rows, whole.ends, self.ends))


def clipped_parts(
    reads: ReadBatch,
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> ReadParts:
    """Clip reads to intervals of the contigs that they are aligned to.

    As in GATK, a part has the bases aligned within the interval, and the bases inserted within it
    or at its edges. If an edge is within a deletion, bases inserted next to the deletion are kept
    on its inner side only. Soft-clipped bases count as aligned without gaps; in the middle of a
    CIGAR, which SAM does not allow, as inserted.

    Parameters
    ----------
    reads
        n reads with positions.
    rows
        int64[p]: reads to clip, in any order, repeats allowed.
    starts, ends
        int64[p]: the interval of each, 0-based, half-open.

    Returns
    -------
    p parts, in order. A part has no bases if no base of its read is aligned, or if the CIGAR of the
    read contradicts its bases.
    """
    cigars = view_of(reads.cigars)
    elements = _Elements.of(reads)
    parts = ReadParts(rows, np.empty(rows.size, np.int64), np.empty(rows.size, np.int64))
    intervals = read_only(rows), read_only(starts), read_only(ends)
    _clip(cigars, elements, *intervals, (parts.starts, parts.ends))
    return parts


class _Elements(NamedTuple):
    """Coordinates of CIGAR elements: int64 each, with the rows of the CIGARs.

    `starts` and `ends` are positions of the reference, equal for an element without any; `bases` is
    the number of bases of the read before the element. For reads without an alignment all positions
    are `_NO_POSITION`.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    bases: NDArray[np.int64]

    @classmethod
    def of(cls, reads: ReadBatch) -> _Elements:
        elements = cls(*np.empty((3, reads.cigars.data.size), dtype=np.int64))
        lengths = read_only(reads.bases.lengths)
        _measure(view_of(reads.cigars), read_only(reads.positions), lengths, elements)
        return elements


@njit
def _measure(
    cigars: RaggedView, positions: NDArray[np.int32], lengths: NDArray[np.int64], out: _Elements
) -> None:
    """Fill in the coordinates of elements."""
    for row in range(positions.size):
        start, end = cigars.offsets[row], cigars.offsets[row + 1]
        first, last, clipped = _aligned_elements(cigars.data, start, end)
        position, bases, aligned = np.int64(positions[row]) - clipped, np.int64(0), np.int64(0)
        for k in range(start, end):
            length, operation = np.int64(cigars.data[k] >> 4), cigars.data[k] & 15
            out.starts[k], out.bases[k] = position, bases
            is_outer_clip = operation == SOFT_CLIP and not first <= k <= last
            if is_outer_clip or REFERENCE_OPERATIONS >> operation & 1:
                position += length
            if QUERY_OPERATIONS >> operation & 1:
                bases += length
            if _ALIGNING_OPERATIONS >> operation & 1:
                aligned += length
            out.ends[k] = position
        if aligned == 0 or bases != lengths[row]:
            out.starts[start:end] = _NO_POSITION
            out.ends[start:end] = _NO_POSITION


@njit
def _aligned_elements(
    elements: NDArray[np.uint32], start: Integer, end: Integer
) -> tuple[Integer, Integer, Integer]:
    """Return the first and last element on the reference, and the bases soft-clipped before."""
    first, last, clipped = end, start - 1, np.int64(0)
    for k in range(start, end):
        length, operation = np.int64(elements[k] >> 4), elements[k] & 15
        if length > 0 and REFERENCE_OPERATIONS >> operation & 1:
            first, last = min(first, k), k
        elif operation == SOFT_CLIP and first == end:
            clipped += length
    return first, last, clipped


@njit
def _clip(
    cigars: RaggedView,
    elements: _Elements,
    reads: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> None:
    """Fill in the range of bases of each read in its interval."""
    for k in range(reads.size):
        row = reads[k]
        out[0][k] = _bases_up_to(cigars, elements, row, starts[k] - 1)
        out[1][k] = _bases_before(cigars, elements, row, ends[k])


@njit
def _bases_up_to(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Count the bases up to the base at a position, or before the deletion there."""
    at = _element_at(cigars, elements, row, position)
    is_aligned = at >= 0 and position < elements.ends[at] and _consumes_query(cigars.data[at])
    return _bases_before(cigars, elements, row, position) + np.int64(is_aligned)


@njit
def _bases_before(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Count the bases before the base at a position, or before the deletion there."""
    at = _element_at(cigars, elements, row, position)
    if at < 0:
        return np.int64(0)
    covered = np.int64(0)
    if _consumes_query(cigars.data[at]):
        is_beyond = position >= elements.ends[at]
        length = np.int64(cigars.data[at] >> 4)
        covered = length if is_beyond else np.int64(position - elements.starts[at])
    return np.int64(elements.bases[at] + covered)


@njit
def _element_at(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Return the element at a position; the last if it is after the read, -1 if before."""
    start, end = cigars.offsets[row], cigars.offsets[row + 1]
    found = last_at_most(elements.starts[start:end], end - start, position)
    return start + found if found >= 0 else np.int64(-1)


@njit
def _consumes_query(element: Integer) -> bool:
    return bool(QUERY_OPERATIONS >> (element & 15) & 1)

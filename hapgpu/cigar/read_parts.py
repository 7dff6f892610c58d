"""Parts of reads within intervals of the reference, cut by the alignments of the reads."""

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
_NOWHERE: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class ReadParts:
    """p parts of the reads of a batch; a read may have several, or none.

    Attributes
    ----------
    reads
        int64[p], rows of the batch.
    starts, ends
        int64[p]: bases of the read, half-open, from 0.
    """

    reads: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def whole(cls, reads: ReadBatch, rows: NDArray[np.int64]) -> Self:
        """All bases of each of the reads `rows`, int64[p]."""
        return cls(rows, np.zeros(rows.size, dtype=np.int64), reads.bases.lengths_of(rows))

    def __len__(self) -> int:
        return self.reads.size

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[p]: the number of bases of each part."""
        return self.ends - self.starts

    def take(self, rows: NDArray[np.bool_]) -> ReadParts:
        """Keep the parts of a mask, bool[p]."""
        return ReadParts(self.reads[rows], self.starts[rows], self.ends[rows])

    def with_all_bases_of(self, reads: ReadBatch, rows: NDArray[np.bool_]) -> ReadParts:
        """Put whole reads in place of the parts of a mask, bool[p]."""
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

    As GATK clips reads to a region: a part holds the bases aligned within the interval, and those
    inserted within it or at its edges. Where an edge falls into a deletion, bases inserted beside
    the deletion stay on its inner side only. Soft-clipped bases count as aligned without gaps; in
    the middle of a CIGAR, where SAM has none, as inserted.

    Parameters
    ----------
    reads
        n reads with positions.
    rows
        int64[p], reads to be clipped, in any order, repeats too.
    starts, ends
        int64[p], 0-based, half-open: the interval for each.

    Returns
    -------
    p parts, in order. Those of reads of which no base is aligned, or whose CIGAR does not fit
    their bases, have no bases.
    """
    cigars = view_of(reads.cigars)
    elements = _Elements.of(reads)
    parts = ReadParts(rows, np.empty(rows.size, np.int64), np.empty(rows.size, np.int64))
    places = read_only(rows), read_only(starts), read_only(ends)
    _clip(cigars, elements, *places, (parts.starts, parts.ends))
    return parts


class _Elements(NamedTuple):
    """What the elements of CIGARs cover: int64 each, with the rows of the CIGARs.

    `starts` and `ends` are positions of the reference, equal for an element that covers none;
    `bases` is the number of bases of the read before the element. Of reads without an alignment
    all positions are `_NOWHERE`.
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
    """Fill in what elements cover."""
    for row in range(positions.size):
        begin, end = cigars.offsets[row], cigars.offsets[row + 1]
        first, last, clipped = _aligned_elements(cigars.data, begin, end)
        position, bases, aligned = np.int64(positions[row]) - clipped, np.int64(0), np.int64(0)
        for k in range(begin, end):
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
            out.starts[begin:end] = _NOWHERE
            out.ends[begin:end] = _NOWHERE


@njit
def _aligned_elements(
    elements: NDArray[np.uint32], begin: Integer, end: Integer
) -> tuple[Integer, Integer, Integer]:
    """Return the first and last element on the reference, and bases soft-clipped before those."""
    first, last, clipped = end, begin - 1, np.int64(0)
    for k in range(begin, end):
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
    """Fill in the bases of each read between a start and an end."""
    for k in range(reads.size):
        row = reads[k]
        out[0][k] = _bases_up_to(cigars, elements, row, starts[k] - 1)
        out[1][k] = _bases_before(cigars, elements, row, ends[k])


@njit
def _bases_up_to(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Count the bases up to the one aligned to a position, or before the deletion there."""
    at = _element_at(cigars, elements, row, position)
    is_aligned = at >= 0 and position < elements.ends[at] and _takes_bases(cigars.data[at])
    return _bases_before(cigars, elements, row, position) + np.int64(is_aligned)


@njit
def _bases_before(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Count the bases before the one aligned to a position, or before the deletion there."""
    at = _element_at(cigars, elements, row, position)
    if at < 0:
        return np.int64(0)
    covered = np.int64(0)
    if _takes_bases(cigars.data[at]):
        is_beyond = position >= elements.ends[at]
        length = np.int64(cigars.data[at] >> 4)
        covered = length if is_beyond else np.int64(position - elements.starts[at])
    return np.int64(elements.bases[at] + covered)


@njit
def _element_at(
    cigars: RaggedView, elements: _Elements, row: Integer, position: Integer
) -> Integer:
    """Return the element at a position; the last for one beyond the read, -1 for one before."""
    begin, end = cigars.offsets[row], cigars.offsets[row + 1]
    found = last_at_most(elements.starts[begin:end], end - begin, position)
    return begin + found if found >= 0 else np.int64(-1)


@njit
def _takes_bases(element: Integer) -> bool:
    return bool(QUERY_OPERATIONS >> (element & 15) & 1)

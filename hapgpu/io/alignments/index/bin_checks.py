"""Whether the bins of a BAI or CSI index fit each other: a flipped bit would lose reads in silence.

What is tested holds of the indexes that htslib (samtools) and htsjdk (Picard, GATK) write for a
sorted file: chunks follow each other as their bins do and leave no record out. A pseudo-bin and
floors are tested if they are there.

The two differ in the linear index. htslib before 1.10 leaves unmapped reads at a place out of it;
htsjdk enters one that stands on the first base of a leaf into the leaf before. So a chunk may begin
before the floor of its leaf, with unmapped reads, but does not end before it; the floor of a leaf
may be a record of the next; and leaves may lie behind the last floor, which then holds of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit

_MAX_BLOCK_BYTES = 1 << 16


class ReferenceBins(NamedTuple):
    """The b bins of one reference sequence that hold c chunks of records.

    Attributes
    ----------
    numbers
        int64[b], ascending.
    chunk_counts
        int64[b].
    chunks
        int64[c, 2]: virtual offsets of begin and end, bin by bin.
    first_leaves, end_leaves
        int64[b], half-open: the leaves below each bin.
    bin_floors
        int64[b]: no record of the bin begins before; 0 where it is not known.
    leaf_floors
        int64[l]: no record that overlaps the leaf begins before; 0 where it is not known.
    whole
        Where the records begin and end, if the index says so.
    misplaced
        Number of the bin of records with a contig, but no position.
    """

    numbers: NDArray[np.int64]
    chunk_counts: NDArray[np.int64]
    chunks: NDArray[np.int64]
    first_leaves: NDArray[np.int64]
    end_leaves: NDArray[np.int64]
    bin_floors: NDArray[np.int64]
    leaf_floors: NDArray[np.int64]
    whole: tuple[int, int] | None
    misplaced: int


def check_bins(bins: ReferenceBins) -> None:
    """Make sure that bins and chunks fit each other.

    Raises
    ------
    ValueError
        They do not.
    """
    if (np.diff(bins.numbers) <= 0).any():
        raise ValueError("a bin comes twice")
    if bins.chunks.size == 0:
        return
    owner = np.repeat(np.arange(bins.numbers.size), bins.chunk_counts)
    order = np.argsort(bins.chunks[:, 0], kind="stable")
    owner, (begins, ends) = owner[order], bins.chunks[order].T
    if (begins > ends).any():
        raise ValueError("a chunk ends before it begins")
    _check_coverage(begins, ends, bins.whole)
    if bins.misplaced not in bins.numbers:
        firsts, stops = bins.first_leaves[owner], bins.end_leaves[owner]
        _check_order(firsts, stops)
        _check_bin_floors(bins, owner, ends)
        _check_leaf_floors(bins.leaf_floors, _Chunks(begins, ends, firsts, stops))


class _Chunks(NamedTuple):
    """c chunks in the order of their begins, and the leaves below their bins; int64[c] each."""

    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_leaves: NDArray[np.int64]
    end_leaves: NDArray[np.int64]


def _check_coverage(
    begins: NDArray[np.int64], ends: NDArray[np.int64], whole: tuple[int, int] | None
) -> None:
    """Make sure that no record lies between chunks, before the first or behind the last."""
    reach = np.maximum.accumulate(ends)
    lows, highs = reach[:-1], begins[1:]
    if whole:
        first, last = whole
        if begins[0] < first or reach[-1] > last:
            raise ValueError("a chunk lies beyond the records of its contig")
        lows = np.concatenate([[first], lows, reach[-1:]])
        highs = np.concatenate([begins[:1], highs, [last]])
    # The end of a block is also written as the beginning of the next.
    is_next = (highs & (_MAX_BLOCK_BYTES - 1) == 0) & (
        (highs >> 16) - (lows >> 16) <= _MAX_BLOCK_BYTES
    )
    if ((highs > lows) & ~is_next).any():
        raise ValueError("records lie in no chunk")


def _check_order(firsts: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Make sure that no bin lies wholly before that of an earlier chunk."""
    if (np.maximum.accumulate(firsts)[:-1] >= ends[1:]).any():
        raise ValueError("chunks are not in the order of their bins")


def _check_bin_floors(
    bins: ReferenceBins, owner: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    floors = bins.bin_floors[np.argsort(bins.first_leaves, kind="stable")]
    if (np.diff(floors[floors > 0]) < 0).any() or (bins.bin_floors[owner] > ends).any():
        raise ValueError("the floors of bins do not fit their chunks")


def _check_leaf_floors(floors: NDArray[np.int64], chunks: _Chunks) -> None:
    """Make sure that the linear index rises, and each entry is a record of the leaves that have it.

    Leaves without records have the entry of one beside them, which one depends on the program.
    """
    if floors.size == 0:
        return
    known = floors[floors > 0]
    if (np.diff(known) < 0).any():
        raise ValueError("the linear index does not rise")
    if (floors[np.minimum(chunks.first_leaves, floors.size - 1)] > chunks.ends).any():
        raise ValueError("records end before the linear index says that they begin")
    starts = np.flatnonzero(np.diff(floors, prepend=0))
    stops = np.append(starts[1:], floors.size)
    reach = np.maximum.accumulate(chunks.ends)
    if not _are_records(floors[starts], starts, stops, chunks, reach):
        raise ValueError("an entry of the linear index lies in no chunk of its bins")


@njit
def _are_records(
    floors: NDArray[np.int64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    chunks: _Chunks,
    reach: NDArray[np.int64],
) -> bool:
    """Tell whether each floor of leaves start to stop is in a chunk of a bin with such a leaf.

    Or with the next: htsjdk.
    """
    for run in range(floors.size):
        floor = floors[run]
        chunk = np.searchsorted(chunks.begins, floor, side="right") - 1
        while chunk >= 0 and reach[chunk] > floor:
            if (
                chunks.ends[chunk] > floor
                and chunks.first_leaves[chunk] <= stops[run]
                and chunks.end_leaves[chunk] > starts[run]
            ):
                break
            chunk -= 1
        if floor > 0 and (chunk < 0 or reach[chunk] <= floor):
            return False
    return True

"""Consistency checks of the bins of a BAI or CSI index: a flipped bit could silently lose reads.

The checks hold for the indexes that htslib (samtools) and htsjdk (Picard, GATK) write for a sorted
file: chunks are in the order of their bins and cover all records. A pseudo-bin and floors are
checked if they exist.

htslib and htsjdk differ in the linear index. htslib before 1.10 excludes unmapped reads with a
position; htsjdk enters such a read on the first base of a leaf into the previous leaf. So a chunk
may start before the floor of its leaf, with unmapped reads, but does not end before it; the floor
of a leaf may be a record of the next leaf; and the last floor holds for the leaves after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.runtime.jit import njit

_MAX_BLOCK_BYTES = 1 << 16


class ReferenceBins(NamedTuple):
    """The b bins of one contig, with c chunks of records.

    Attributes
    ----------
    numbers
        int64[b], ascending.
    chunk_counts
        int64[b].
    chunks
        int64[c, 2]: virtual offsets of start and end, bin by bin.
    first_leaves, end_leaves
        int64[b], half-open: the leaves below each bin.
    bin_floors
        int64[b]: no record of the bin starts before this offset; 0 if unknown.
    leaf_floors
        int64[l]: no record that overlaps the leaf starts before this offset; 0 if unknown.
    record_range
        Start and end of the records, if the index has them.
    unplaced_bin
        Number of the bin of records with a contig, but without a position.
    """

    numbers: NDArray[np.int64]
    chunk_counts: NDArray[np.int64]
    chunks: NDArray[np.int64]
    first_leaves: NDArray[np.int64]
    end_leaves: NDArray[np.int64]
    bin_floors: NDArray[np.int64]
    leaf_floors: NDArray[np.int64]
    record_range: tuple[int, int] | None
    unplaced_bin: int


def check_bins(bins: ReferenceBins) -> None:
    """Make sure that bins and chunks are consistent.

    Raises
    ------
    ValueError
        They are not.
    """
    if (np.diff(bins.numbers) <= 0).any():
        raise ValueError("a bin occurs twice")
    if bins.chunks.size == 0:
        return
    owner = np.repeat(np.arange(bins.numbers.size), bins.chunk_counts)
    order = np.argsort(bins.chunks[:, 0], kind="stable")
    # Contiguous for any number of chunks: one compiled function.
    owner, (starts, ends) = owner[order], np.ascontiguousarray(bins.chunks[order].T)
    if (starts > ends).any():
        raise ValueError("a chunk ends before it starts")
    _check_coverage(starts, ends, bins.record_range)
    if bins.unplaced_bin not in bins.numbers:
        first_leaves, end_leaves = bins.first_leaves[owner], bins.end_leaves[owner]
        _check_order(first_leaves, end_leaves)
        _check_bin_floors(bins, owner, ends)
        _check_leaf_floors(bins.leaf_floors, _Chunks(starts, ends, first_leaves, end_leaves))


class _Chunks(NamedTuple):
    """c chunks in the order of their starts, and the leaves below their bins; int64[c] each."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    first_leaves: NDArray[np.int64]
    end_leaves: NDArray[np.int64]


def _check_coverage(
    starts: NDArray[np.int64], ends: NDArray[np.int64], record_range: tuple[int, int] | None
) -> None:
    """Make sure that no record is between chunks, before the first or after the last."""
    max_ends = np.maximum.accumulate(ends)
    lows, highs = max_ends[:-1], starts[1:]
    if record_range:
        first, last = record_range
        if starts[0] < first or max_ends[-1] > last:
            raise ValueError("a chunk is outside the records of its contig")
        lows = np.concatenate([[first], lows, max_ends[-1:]])
        highs = np.concatenate([starts[:1], highs, [last]])
    # The end of a block may also be written as the start of the next block.
    is_next = (highs & (_MAX_BLOCK_BYTES - 1) == 0) & (
        (highs >> 16) - (lows >> 16) <= _MAX_BLOCK_BYTES
    )
    if ((highs > lows) & ~is_next).any():
        raise ValueError("records are in no chunk")


def _check_order(first_leaves: NDArray[np.int64], end_leaves: NDArray[np.int64]) -> None:
    """Make sure that the bin of a chunk is not entirely before the bin of an earlier chunk."""
    if (np.maximum.accumulate(first_leaves)[:-1] >= end_leaves[1:]).any():
        raise ValueError("chunks are not in the order of their bins")


def _check_bin_floors(
    bins: ReferenceBins, owner: NDArray[np.int64], ends: NDArray[np.int64]
) -> None:
    floors = bins.bin_floors[np.argsort(bins.first_leaves, kind="stable")]
    if (np.diff(floors[floors > 0]) < 0).any() or (bins.bin_floors[owner] > ends).any():
        raise ValueError("the floors of bins contradict their chunks")


def _check_leaf_floors(floors: NDArray[np.int64], chunks: _Chunks) -> None:
    """Make sure that the linear index rises, and that each entry is a record of its leaves.

    A leaf without records has the entry of a neighbour; which one depends on the program.
    """
    if floors.size == 0:
        return
    known = floors[floors > 0]
    if (np.diff(known) < 0).any():
        raise ValueError("the linear index does not rise")
    if (floors[np.minimum(chunks.first_leaves, floors.size - 1)] > chunks.ends).any():
        raise ValueError("records end before their start in the linear index")
    starts = np.flatnonzero(np.diff(floors, prepend=0))
    ends = np.append(starts[1:], floors.size)
    max_ends = np.maximum.accumulate(chunks.ends)
    if not _are_records(floors[starts], starts, ends, chunks, max_ends):
        raise ValueError("an entry of the linear index is in no chunk of its bins")


@njit
def _are_records(
    floors: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    chunks: _Chunks,
    max_ends: NDArray[np.int64],
) -> bool:
    """Tell whether each floor of leaves start to end is in a chunk of a bin with such a leaf.

    The bin may also have the next leaf instead, as in htsjdk.
    """
    for run in range(floors.size):
        floor = floors[run]
        chunk = np.searchsorted(chunks.starts, floor, side="right") - 1
        while chunk >= 0 and max_ends[chunk] > floor:
            if (
                chunks.ends[chunk] > floor
                and chunks.first_leaves[chunk] <= ends[run]
                and chunks.end_leaves[chunk] > starts[run]
            ):
                break
            chunk -= 1
        if floor > 0 and (chunk < 0 or max_ends[chunk] <= floor):
            return False
    return True

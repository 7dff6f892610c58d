"""Blocks of consecutive reference positions with a similar GQ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.gvcf.positions import ReferencePositions
from hapgpu.runtime.jit import njit, njit_inlined

BANDS: Final = (*range(1, 61), 70, 80, 90, 99)
"""Bounds of the bands of GQ: GATK's `--gvcf-gq-bands`."""

MAX_QUALITY: Final = 99
"""GQ, at most."""

COLUMNS: Final = 8
START, END, BASE, DEPTH, MIN_DEPTH, HETEROZYGOUS, HOMOZYGOUS, QUALITY = range(COLUMNS)
"""Columns of blocks; the two before the last are PL of 0/1 and 1/1."""

_IS_OPEN, _START, _END, _BASE, _BAND, _FIRST, _SECOND, _MIN, _MAX, _COVERED = range(10)
_NOWHERE: Final = -1


class Items(NamedTuple):
    """Blocks and records in their order.

    Attributes
    ----------
    blocks
        int64[b, `COLUMNS`]: positions 0-based, half-open; PL of 0/0 is 0.
    order
        int64[b + v]: the rows of blocks, and `-1 - row` of records.
    """

    blocks: NDArray[np.int64]
    order: NDArray[np.int64]


class BlockJoiner:
    """Joiner of positions to blocks, over the borders of segments.

    Positions of one band of GQ make a block; records end blocks. Positions that REF of the last
    record covers are in no block. As GATK's GVCFBlockCombiner and HomRefBlock.

    Parameters
    ----------
    bands
        Lower bounds of the bands of GQ after the first, which begins at 0; ascending.
    """

    def __init__(self, bands: Sequence[int] = BANDS) -> None:
        qualities = np.arange(MAX_QUALITY + 1)
        self._bands = read_only(np.searchsorted(np.array(bands), qualities, side="right"))
        self._open = np.zeros(10, dtype=np.int64)
        self._open[_COVERED] = self._open[_BAND] = _NOWHERE
        self._counts = np.zeros(1, dtype=np.int64)

    def add(
        self,
        positions: ReferencePositions,
        record_starts: NDArray[np.int64],
        record_ends: NDArray[np.int64],
    ) -> Items:
        """Add positions; return the blocks that are complete, with the records.

        Parameters
        ----------
        positions
            Positions of one contig, after all that were added before, or of another contig after
            `finish`.
        record_starts, record_ends
            int64[v]: the interval of REF of the records at these positions, ascending.
        """
        size = positions.depths.size
        most = int(positions.depths.max(initial=0)) + 1
        if most > self._counts.size:
            self._counts = np.append(
                self._counts, np.zeros(most - self._counts.size, dtype=np.int64)
            )
        items = Items(
            np.empty((size + 1, COLUMNS), dtype=np.int64),
            np.empty(size + 1 + record_starts.size, dtype=np.int64),
        )
        columns = _Positions(
            positions.start,
            read_only(positions.bases),
            read_only(positions.depths),
            read_only(positions.phreds),
            self._bands,
        )
        records = read_only(record_starts), read_only(record_ends)
        return _complete(items, _join(columns, *records, self._open, self._counts, *items))

    def finish(self) -> Items:
        """Return the last block of a contig."""
        items = Items(np.empty((1, COLUMNS), dtype=np.int64), np.empty(1, dtype=np.int64))
        count = _flush(self._open, self._counts, items.blocks, items.order, 0, 0)
        self._open[_COVERED] = _NOWHERE
        return _complete(items, (count, count))


def _complete(items: Items, counts: tuple[int, int]) -> Items:
    return Items(items.blocks[: counts[0]], items.order[: counts[1]])


class _Positions(NamedTuple):
    """Columns of `ReferencePositions`, and the band of each GQ."""

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    phreds: NDArray[np.int32]
    bands: NDArray[np.int64]


@njit
def _join(
    positions: _Positions,
    record_starts: NDArray[np.int64],
    record_ends: NDArray[np.int64],
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[int, int]:
    """Write blocks, and the order of blocks and records; return the numbers of both."""
    done = record = at = 0
    if positions.depths.size and block[_IS_OPEN] and block[_END] != positions.start:
        done = _flush(block, counts, blocks, order, done, at)
        at = done
    for row in range(positions.depths.size):
        position = positions.start + row
        if record < record_starts.size and record_starts[record] == position:
            before = done
            done = _flush(block, counts, blocks, order, done, at)
            at += done - before
            order[at] = -1 - record
            at += 1
            block[_COVERED] = record_ends[record]
            record += 1
        elif position >= block[_COVERED]:
            quality = min(positions.phreds[row, 0], positions.phreds[row, 1], MAX_QUALITY)
            band = positions.bands[quality]
            if band != block[_BAND]:
                before = done
                done = _flush(block, counts, blocks, order, done, at)
                at += done - before
            _extend(positions, row, band, block, counts)
    return done, at


@njit_inlined
def _extend(
    positions: _Positions,
    row: Integer,
    band: Integer,
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add a position to the open block, or open one."""
    depth = np.int64(positions.depths[row])
    one, other = np.int64(positions.phreds[row, 0]), np.int64(positions.phreds[row, 1])
    if not block[_IS_OPEN]:
        block[_IS_OPEN], block[_BAND] = 1, band
        block[_START], block[_BASE] = positions.start + row, positions.bases[row]
        block[_FIRST], block[_SECOND] = one, other
        block[_MIN], block[_MAX] = depth, depth
    block[_END] = positions.start + row + 1
    block[_FIRST], block[_SECOND] = min(block[_FIRST], one), min(block[_SECOND], other)
    block[_MIN], block[_MAX] = min(block[_MIN], depth), max(block[_MAX], depth)
    counts[depth] += 1


@njit
def _flush(
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
    row: int,
    at: int,
) -> int:
    """Write the open block, if there is one, and close it; return the number of blocks."""
    if not block[_IS_OPEN]:
        return row
    blocks[row, START], blocks[row, END] = block[_START], block[_END]
    blocks[row, BASE], blocks[row, MIN_DEPTH] = block[_BASE], block[_MIN]
    blocks[row, DEPTH] = _median(counts, block[_MIN], block[_MAX], block[_END] - block[_START])
    blocks[row, HETEROZYGOUS], blocks[row, HOMOZYGOUS] = block[_FIRST], block[_SECOND]
    blocks[row, QUALITY] = min(block[_FIRST], block[_SECOND], MAX_QUALITY)
    order[at] = row
    for depth in range(block[_MIN], block[_MAX] + 1):
        counts[depth] = 0
    block[_IS_OPEN] = 0
    block[_BAND] = _NOWHERE
    return row + 1


@njit_inlined
def _median(counts: NDArray[np.int64], low: Integer, high: Integer, total: Integer) -> Integer:
    """Return the median of depths; of two in the middle, the mean, rounded up."""
    lower, upper, before = np.int64(-1), np.int64(-1), np.int64(0)
    for depth in range(low, high + 1):
        before += counts[depth]
        if lower < 0 and before > (total - 1) // 2:
            lower = np.int64(depth)
        if upper < 0 and before > total // 2:
            upper = np.int64(depth)
    return (lower + upper + 1) // 2

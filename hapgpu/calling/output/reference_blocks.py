"""Blocks of positions of a genomic VCF."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hapgpu.arrays.bytes import Integer
from hapgpu.arrays.ragged_view import read_only
from hapgpu.calling.options import MAX_QUALITY, GenomicOptions
from hapgpu.calling.output.reference_positions import ReferencePositions
from hapgpu.calling.ploidies import DIPLOID
from hapgpu.runtime.jit import njit, njit_inlined

PHREDS: Final = 7
START, END, BASE, DEPTH, MIN_DEPTH, QUALITY, COPIES = range(PHREDS)
"""Columns of blocks; from `PHREDS` on PL of 1 to `COPIES` copies of ALT."""
_FIRST: Final = 9
_IS_OPEN, _START, _END, _BASE, _BAND, _COPIES, _MIN, _MAX, _COVERED = range(_FIRST)
"""Columns of the open block; from `_FIRST` on PL."""
_NOWHERE: Final = -1
_DEFAULT: Final = GenomicOptions()


class Items(NamedTuple):
    """Blocks and records in their order.

    Attributes
    ----------
    blocks
        int64[b, `PHREDS` + k]: positions 0-based, half-open; PL of no copy of ALT is 0; k is the
        highest ploidy.
    order
        int64[b + v]: the rows of blocks, and `-1 - row` of records.
    """

    blocks: NDArray[np.int64]
    order: NDArray[np.int64]


class OpenBlock(NamedTuple):
    """State of a `BlockJoiner`, which another one can go on from.

    Attributes
    ----------
    columns
        int64[`_FIRST` + k]: the open block, if there is one, and the end of the last record.
    counts
        int64[d]: the number of positions of the block with each depth.
    """

    columns: NDArray[np.int64]
    counts: NDArray[np.int64]


class BlockJoiner:
    """Joiner of positions to blocks, over the borders of segments.

    Positions of one band of GQ and of one ploidy make a block; records end blocks. Positions that
    REF of the last record covers are in no block. As GATK's GVCFBlockCombiner and HomRefBlock.

    Parameters
    ----------
    options
        The bands, and whether GQ of a block is the lower bound of its band.
    highest_ploidy
        Of all positions.
    """

    def __init__(self, options: GenomicOptions = _DEFAULT, highest_ploidy: int = DIPLOID) -> None:
        qualities = np.arange(MAX_QUALITY + 1)
        bands = np.searchsorted(np.array(options.bands), qualities, side="right")
        floors = np.array([0, *options.bands])[bands] if options.has_floors else qualities
        self._bands = _Bands(read_only(bands), read_only(floors))
        self._open = np.zeros(_FIRST + highest_ploidy, dtype=np.int64)
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
            np.empty((size + 1, self._columns), dtype=np.int64),
            np.empty(size + 1 + record_starts.size, dtype=np.int64),
        )
        columns = _Positions(
            positions.start,
            read_only(positions.bases),
            read_only(positions.depths),
            read_only(positions.ploidies),
            read_only(positions.phreds),
        )
        records = read_only(record_starts), read_only(record_ends)
        counts = _join(columns, *records, self._bands, self._open, self._counts, *items)
        return _complete(items, counts)

    @property
    def _columns(self) -> int:
        return PHREDS + self._open.size - _FIRST

    @property
    def covered_end(self) -> int:
        """End of REF of the last record, which may be after the positions that were added."""
        return int(self._open[_COVERED])

    def open_block(self) -> OpenBlock:
        """Return the state after the positions that were added."""
        return OpenBlock(self._open.copy(), self._counts.copy())

    def go_on(self, block: OpenBlock) -> Items:
        """Return the last block, and go on from the state of another joiner.

        The other one began a block or had a record right after the positions that were added here.
        """
        items = self.finish()
        self._open, self._counts = block.columns.copy(), block.counts.copy()
        return items

    def finish(self) -> Items:
        """Return the last block of a contig."""
        items = Items(np.empty((1, self._columns), dtype=np.int64), np.empty(1, dtype=np.int64))
        count = _flush(self._bands, self._open, self._counts, *items, 0, 0)
        self._open[_COVERED] = _NOWHERE
        return _complete(items, (count, count))


def _complete(items: Items, counts: tuple[int, int]) -> Items:
    return Items(items.blocks[: counts[0]], items.order[: counts[1]])


class _Positions(NamedTuple):
    """Columns of `ReferencePositions`."""

    start: int
    bases: NDArray[np.uint8]
    depths: NDArray[np.int32]
    ploidies: NDArray[np.int32]
    phreds: NDArray[np.int32]


class _Bands(NamedTuple):
    """Of each GQ: the number of its band, and GQ of a block where it is the lowest."""

    numbers: NDArray[np.int64]
    floors: NDArray[np.int64]


@njit
def _join(
    positions: _Positions,
    record_starts: NDArray[np.int64],
    record_ends: NDArray[np.int64],
    bands: _Bands,
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
    blocks: NDArray[np.int64],
    order: NDArray[np.int64],
) -> tuple[int, int]:
    """Write blocks, and the order of blocks and records; return the numbers of both."""
    done = record = at = 0
    row: Integer = 0
    size = positions.depths.size
    if size and block[_IS_OPEN] and block[_END] != positions.start:
        done = _flush(bands, block, counts, blocks, order, done, at)
        at = done
    while row < size:
        next_record = size
        if record < record_starts.size:
            next_record = min(record_starts[record] - positions.start, size)
        if row == next_record:
            before = done
            done = _flush(bands, block, counts, blocks, order, done, at)
            at += done - before
            order[at] = -1 - record
            at += 1
            block[_COVERED] = record_ends[record]
            record += 1
            row += 1
            continue
        covered = min(block[_COVERED] - positions.start, next_record)
        if row < covered:
            row = covered
            continue
        copies = positions.ploidies[row]
        band, end = _run(positions, bands, row, next_record)
        if band != block[_BAND] or copies != block[_COPIES]:
            before = done
            done = _flush(bands, block, counts, blocks, order, done, at)
            at += done - before
        _extend(positions, (row, end), band, block, counts)
        row = end
    return done, at


@njit_inlined
def _run(
    positions: _Positions, bands: _Bands, row: Integer, limit: Integer
) -> tuple[Integer, Integer]:
    """Return the band of a position, and the end of the positions of this band and ploidy."""
    # A call per position would take longer than its work: it counts references to arrays.
    copies, band, end = positions.ploidies[row], np.int64(_NOWHERE), row
    while end < limit and positions.ploidies[end] == copies:
        best = np.int64(MAX_QUALITY)
        for k in range(copies):
            best = min(best, np.int64(positions.phreds[end, k]))
        if end > row and bands.numbers[best] != band:
            break
        band = bands.numbers[best]
        end += 1
    return band, end


@njit_inlined
def _extend(
    positions: _Positions,
    rows: tuple[Integer, Integer],
    band: Integer,
    block: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add positions to the open block, or open one."""
    first, end = rows
    copies = np.int64(positions.ploidies[first])
    if not block[_IS_OPEN]:
        depth = np.int64(positions.depths[first])
        block[_IS_OPEN], block[_BAND], block[_COPIES] = 1, band, copies
        block[_START], block[_BASE] = positions.start + first, positions.bases[first]
        block[_MIN], block[_MAX] = depth, depth
        for k in range(copies):
            block[_FIRST + k] = positions.phreds[first, k]
    block[_END] = positions.start + end
    for k in range(copies):
        least = block[_FIRST + k]
        for row in range(first, end):
            least = min(least, np.int64(positions.phreds[row, k]))
        block[_FIRST + k] = least
    low, high = block[_MIN], block[_MAX]
    for row in range(first, end):
        depth = np.int64(positions.depths[row])
        low, high = min(low, depth), max(high, depth)
        counts[depth] += 1
    block[_MIN], block[_MAX] = low, high


@njit
def _flush(
    bands: _Bands,
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
    copies = block[_COPIES]
    blocks[row, START], blocks[row, END] = block[_START], block[_END]
    blocks[row, BASE], blocks[row, MIN_DEPTH] = block[_BASE], block[_MIN]
    blocks[row, DEPTH] = _median(counts, block[_MIN], block[_MAX], block[_END] - block[_START])
    quality = np.int64(MAX_QUALITY)
    for k in range(copies):
        blocks[row, PHREDS + k] = block[_FIRST + k]
        quality = min(quality, block[_FIRST + k])
    blocks[row, QUALITY], blocks[row, COPIES] = bands.floors[quality], copies
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
